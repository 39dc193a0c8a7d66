// What tests of sr.h share: modules, arguments, and results as tensors. The program links libsr_c, and holds
// no other part of sr.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <torch/script.h>

#include "sr.h"
#include "support/catch.hpp"

namespace sr::test::c {

struct Free {
  void operator()(sr_module* handle) const { sr_module_free(handle); }
  void operator()(sr_results* handle) const { sr_results_free(handle); }
  void operator()(sr_session* handle) const { sr_session_free(handle); }
  void operator()(sr_pool* handle) const { sr_pool_free(handle); }
  void operator()(sr_bound* handle) const { sr_bound_free(handle); }
  void operator()(sr_batcher* handle) const { sr_batcher_free(handle); }
  void operator()(sr_cancel* handle) const { sr_cancel_free(handle); }
  void operator()(char* text) const { sr_text_free(text); }
};
template <class Handle>
using Owned = std::unique_ptr<Handle, Free>;

inline torch::jit::Module script(const std::string& methods) {
  torch::jit::Module module("model");
  module.define(methods);
  return module;
}

inline std::string archive_of(const torch::jit::Module& module) {
  std::ostringstream stream;
  module.save(stream);
  return stream.str();
}

inline Owned<sr_module> load(const torch::jit::Module& module, const sr_module_options* options = nullptr) {
  const std::string bytes = archive_of(module);
  sr_module* loaded = nullptr;
  const sr_status status = sr_module_load_bytes(bytes.data(), bytes.size(), options, &loaded);
  INFO(sr_last_error());
  REQUIRE(status == SR_OK);
  return Owned<sr_module>(loaded);
}
inline Owned<sr_module> load(const std::string& methods, const sr_module_options* options = nullptr) {
  return load(script(methods), options);
}

inline sr_dtype dlpack_dtype(at::ScalarType dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * c10::elementSize(dtype));
  if (dtype == at::kBool) return {6, 8, 1};
  if (dtype == at::kBFloat16) return {4, 16, 1};
  if (c10::isComplexType(dtype)) return {5, bits, 1};
  if (c10::isFloatingType(dtype)) return {2, bits, 1};
  return {static_cast<std::uint8_t>(c10::isSignedType(dtype) ? 0 : 1), bits, 1};
}

// Arguments, with the tensors that they describe.
class Args {
 public:
  template <class... Values>
  explicit Args(const Values&... values) {
    (add(values), ...);
  }
  Args(const Args&) = delete;
  Args& operator=(const Args&) = delete;

  void add(const at::Tensor& tensor) {
    sr_value value{};
    value.kind = SR_TENSOR;
    value.as.tensor = &describe(tensor);
    values_.push_back(value);
  }
  void add(double number) {
    sr_value value{};
    value.kind = SR_FLOAT;
    value.as.real = number;
    values_.push_back(value);
  }
  void add(int number) {
    sr_value value{};
    value.kind = SR_INT;
    value.as.integer = number;
    values_.push_back(value);
  }
  void add(bool flag) {
    sr_value value{};
    value.kind = SR_BOOL;
    value.as.integer = flag ? 1 : 0;
    values_.push_back(value);
  }
  void add(const char* text) {
    sr_value value{};
    value.kind = SR_STRING;
    value.as.text = text;
    values_.push_back(value);
  }
  void add(const sr_value& value) { values_.push_back(value); }

  sr_tensor& describe(const at::Tensor& tensor) {
    owned_.push_back(tensor);
    return tensors_.emplace_back(sr_tensor{const_cast<void*>(tensor.const_data_ptr()),
                                           {1, 0},
                                           static_cast<std::int32_t>(tensor.dim()),
                                           dlpack_dtype(tensor.scalar_type()),
                                           const_cast<std::int64_t*>(tensor.sizes().data()),
                                           const_cast<std::int64_t*>(tensor.strides().data()),
                                           0});
  }
  sr_value as(sr_kind kind) const {
    sr_value value{};
    value.kind = kind;
    value.count = static_cast<std::int32_t>(values_.size());
    value.as.elements = values_.data();
    return value;
  }
  const sr_value* data() const { return values_.data(); }
  std::size_t size() const { return values_.size(); }

 private:
  std::vector<sr_value> values_;
  std::deque<sr_tensor> tensors_;
  std::vector<at::Tensor> owned_;
};

// A copy of what is described.
inline at::Tensor copy_of(const sr_tensor& described) {
  static const std::vector<at::ScalarType> kAll{
      at::kFloat,  at::kLong,         at::kInt,           at::kDouble,     at::kHalf,   at::kBFloat16,
      at::kBool,   at::kByte,         at::kChar,          at::kShort,      at::kUInt16, at::kUInt32,
      at::kUInt64, at::kComplexFloat, at::kComplexDouble, at::kComplexHalf};
  for (const at::ScalarType dtype : kAll) {
    const sr_dtype known = dlpack_dtype(dtype);
    if (known.code != described.dtype.code || known.bits != described.dtype.bits) continue;
    const auto dims = static_cast<std::size_t>(described.ndim);
    return at::from_blob(described.data, at::IntArrayRef(described.shape, dims),
                         at::IntArrayRef(described.strides, dims), at::TensorOptions(dtype))
        .clone();
  }
  FAIL("The result has an unknown dtype.");
  return {};
}

// The value as LibTorch has it.
inline c10::IValue value_of(const sr_value& value) {
  switch (value.kind) {
    case SR_NONE:
      return {};
    case SR_TENSOR:
      return copy_of(*value.as.tensor);
    case SR_INT:
      return value.as.integer;
    case SR_FLOAT:
      return value.as.real;
    case SR_BOOL:
      return value.as.integer != 0;
    case SR_STRING:
      return std::string(value.as.text);
    default:
      break;
  }
  std::vector<c10::IValue> elements;
  for (std::int32_t i = 0; i < value.count; ++i) elements.push_back(value_of(value.as.elements[i]));
  if (value.kind == SR_TUPLE) return c10::ivalue::Tuple::create(elements);
  if (value.kind == SR_LIST) {
    c10::impl::GenericList list(c10::AnyType::get());
    for (const c10::IValue& element : elements) list.push_back(element);
    return list;
  }
  REQUIRE(value.kind == SR_DICT);
  c10::impl::GenericDict dict(c10::StringType::get(), c10::AnyType::get());
  for (std::size_t i = 0; i < elements.size(); i += 2) dict.insert(elements[i], elements[i + 1]);
  return dict;
}

inline Owned<sr_results> call(const sr_module* module, const Args& args,
                              const sr_call_options* options = nullptr) {
  sr_results* results = nullptr;
  const sr_status status = sr_module_call(module, args.data(), args.size(), options, &results);
  INFO(sr_last_error());
  REQUIRE(status == SR_OK);
  return Owned<sr_results>(results);
}

inline at::Tensor tensor_of(const sr_results* results, std::size_t i = 0) {
  std::size_t count = 0;
  const sr_tensor* const tensors = sr_results_tensors(results, &count);
  REQUIRE(i < count);
  return copy_of(tensors[i]);
}

inline bool is_equal(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() &&
         (a.numel() == 0 || at::equal(at::nan_to_num(a.to(at::kDouble)), at::nan_to_num(b.to(at::kDouble))));
}

// Adds up what its calls are given.
inline torch::jit::Module counter() {
  torch::jit::Module module("counter");
  module.register_buffer("sum", at::zeros({1, 3}));
  module.define("def forward(self, x):\n    self.sum += x\n    return self.sum.clone()\n");
  return module;
}

inline Owned<sr_session> session_of(const sr_module* module) {
  sr_session* session = nullptr;
  REQUIRE(sr_session_new(module, &session) == SR_OK);
  return Owned<sr_session>(session);
}

inline at::Tensor advance(const sr_session* session, const at::Tensor& x) {
  const Args args(x);
  sr_results* results = nullptr;
  REQUIRE(sr_session_call(session, args.data(), args.size(), nullptr, &results) == SR_OK);
  const Owned<sr_results> owned(results);
  return tensor_of(results);
}

}  // namespace sr::test::c

// From results to descriptions for the caller.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/DLConvertor.h>
#include <ATen/core/Dict.h>

#include <sr/base/config.hpp>
#include <sr/base/identity.hpp>
#include <sr/error.hpp>

#include "../values/conform.hpp"
#include "failures.hpp"
#include "tensors.hpp"
#include "values.hpp"

namespace sr::c {
namespace {

bool is_lazy(const at::Tensor& tensor) {
  return tensor.is_conj() || tensor.is_neg();
}

// Describes a result. Visits tensors in the order of each_tensor.
class ResultWriter {
 public:
  explicit ResultWriter(sr_results& results) : results_(results) {}

  sr_value write(const c10::IValue& value) {
    sr_value made{};
    if (value.isTensor()) {
      if (!value.toTensor().defined()) return made;
      made.kind = SR_TENSOR;
      made.as.tensor = &results_.described[next_++];
    } else if (value.isInt()) {
      made.kind = SR_INT;
      made.as.integer = value.toInt();
    } else if (value.isDouble()) {
      made.kind = SR_FLOAT;
      made.as.real = value.toDouble();
    } else if (value.isBool()) {
      made.kind = SR_BOOL;
      made.as.integer = value.toBool() ? 1 : 0;
    } else if (value.isString()) {
      made.kind = SR_STRING;
      made.as.text = value.toStringRef().c_str();
    } else if (values::is_sequence(value)) {
      write_elements(value.isTuple() ? SR_TUPLE : SR_LIST, values::items_of(value), made);
    } else if (value.isGenericDict()) {
      std::vector<c10::IValue> elements;
      for (const auto& entry : value.toGenericDict()) {
        elements.push_back(entry.key());
        elements.push_back(entry.value());
      }
      write_elements(SR_DICT, elements, made);
    } else if (!value.isNone()) {
      throw UnsupportedOpError("A result is of type " + value.type()->repr_str() +
                               ", which this interface cannot describe.");
    }
    return made;
  }

 private:
  void write_elements(sr_kind kind, const std::vector<c10::IValue>& items, sr_value& made) {
    auto elements = std::make_unique<sr_value[]>(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) elements[i] = write(items[i]);
    made.kind = kind;
    made.count = static_cast<std::int32_t>(items.size());
    made.as.elements = results_.elements.emplace_back(std::move(elements)).get();
  }

  sr_results& results_;
  std::size_t next_ = 0;
};

// The memory of one sr_results, or null.
struct SpareMemory {
  void* memory = nullptr;
  ~SpareMemory() { ::operator delete(std::exchange(memory, nullptr)); }
};
thread_local SpareMemory spare;

}  // namespace
}  // namespace sr::c

void* sr_results::operator new(std::size_t size) {
  void* const known = std::exchange(sr::c::spare.memory, nullptr);
  return known != nullptr ? known : ::operator new(size);
}
void sr_results::operator delete(void* memory) {
  if (sr::kReusesBlocks && sr::c::spare.memory == nullptr) {
    sr::c::spare.memory = memory;
  } else {
    ::operator delete(memory);
  }
}

sr_results::sr_results(c10::IValue of) : value(std::move(of)) {
  sr::detail::each_tensor(value, [&](const at::Tensor& tensor) {
    const bool is_lazy = sr::c::is_lazy(tensor);
    if (is_lazy) resolved.push_back(tensor.resolve_conj().resolve_neg());
    described.push_back(sr::c::described(is_lazy ? resolved.back() : tensor));
  });
}

const sr_value* sr_results_value(sr_results* results) {
  if (results == nullptr) {
    sr::c::fail(SR_ARGUMENT, "The parameter `results` is null.");
    return nullptr;
  }
  const sr_status status = sr::c::guarded([&] {
    if (results->has_root) return;
    results->root = sr::c::ResultWriter(*results).write(results->value);
    results->has_root = true;
  });
  return status == SR_OK ? &results->root : nullptr;
}

const sr_tensor* sr_results_tensors(const sr_results* results, size_t* count) {
  if (count != nullptr) *count = results == nullptr ? 0 : results->described.size();
  if (results != nullptr) return results->described.data();
  sr::c::fail(SR_ARGUMENT, "The parameter `results` is null.");
  return nullptr;
}

sr_status sr_results_to_dlpack(const sr_results* results, size_t index, void** managed) {
  return sr::c::guarded([&] {
    sr::c::require(results, "results");
    sr::c::require(managed, "managed");
    if (index >= results->described.size()) {
      throw sr::ArgumentError("The results have " + std::to_string(results->described.size()) +
                              " tensors, and there is no tensor " + std::to_string(index) + ".");
    }
    at::Tensor chosen;
    std::size_t at = 0;
    sr::detail::each_tensor(results->value, [&](const at::Tensor& tensor) {
      if (at++ == index) chosen = tensor;
    });
    *managed = at::toDLPack(sr::c::is_lazy(chosen) ? chosen.resolve_conj().resolve_neg() : chosen);
  });
}

void sr_results_free(sr_results* results) {
  delete results;
}

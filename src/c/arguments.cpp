// From the caller's descriptions to arguments.
#include <chrono>
#include <string>
#include <utility>

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/jit_type.h>

#include <sr/error.hpp>

#include "../values/conform.hpp"
#include "failures.hpp"
#include "tensors.hpp"
#include "values.hpp"

namespace sr::c {
namespace {

constexpr int kMostNested = 64;

class ValueReader {
 public:
  explicit ValueReader(const char* name) : name_(name) {}

  c10::IValue read(const sr_value& given, int depth = 0) const {
    switch (given.kind) {
      case SR_NONE:
        return {};
      case SR_TENSOR:
        if (given.as.tensor == nullptr) refuse("is a tensor that is null.");
        return tensor_of(*given.as.tensor, name_);
      case SR_INT:
        return given.as.integer;
      case SR_FLOAT:
        return given.as.real;
      case SR_BOOL:
        return given.as.integer != 0;
      case SR_STRING:
        if (given.as.text == nullptr) refuse("is a string that is null.");
        return std::string(given.as.text);
      case SR_LIST:
      case SR_TUPLE:
      case SR_DICT:
        return read_container(given, depth);
      default:
        refuse("has the kind " + std::to_string(given.kind) + ", which is no sr_kind.");
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw ArgumentError("The argument '" + std::string(name_) + "' " + what, name_);
  }

  c10::IValue read_container(const sr_value& given, int depth) const {
    if (depth == kMostNested) refuse("is nested deeper than 64 levels.");
    if (given.count < 0 || (given.count > 0 && given.as.elements == nullptr))
      refuse("has " + std::to_string(given.count) + " elements, or elements that are null.");
    const auto count = static_cast<std::size_t>(given.count);
    if (given.kind == SR_DICT) return read_dict(given, count, depth);
    std::vector<c10::IValue> elements;
    elements.reserve(count);
    for (std::size_t i = 0; i < count; ++i) elements.push_back(read(given.as.elements[i], depth + 1));
    if (given.kind == SR_TUPLE) return c10::ivalue::Tuple::create(std::move(elements));
    c10::impl::GenericList list(c10::AnyType::get());
    for (c10::IValue& element : elements) list.push_back(std::move(element));
    return list;
  }

  c10::IValue read_dict(const sr_value& given, std::size_t count, int depth) const {
    if (count % 2 != 0) refuse("is a dict of an odd number of elements: each key is followed by its value.");
    // A dict needs the type of its keys.
    const bool has_text = count == 0 || given.as.elements[0].kind == SR_STRING;
    const c10::TypePtr keys = has_text ? c10::TypePtr(c10::StringType::get()) : c10::IntType::get();
    c10::impl::GenericDict dict(keys, c10::AnyType::get());
    for (std::size_t i = 0; i < count; i += 2) {
      c10::IValue key = read(given.as.elements[i], depth + 1);
      if (has_text ? !key.isString() : !key.isInt())
        refuse("is a dict whose keys are neither all strings nor all integers.");
      dict.insert_or_assign(std::move(key), read(given.as.elements[i + 1], depth + 1));
    }
    return dict;
  }

  const char* name_;
};

c10::IValue read_argument(const c10::Argument& argument, const sr_value& given) {
  c10::IValue value = ValueReader(argument.name().c_str()).read(given);
  return given.kind == SR_TENSOR || given.kind == SR_NONE
             ? value
             : values::conform(std::move(value), argument.type());
}

// Returns the number of arguments by position.
std::size_t positional_count(const c10::FunctionSchema& schema, const sr_value* args, std::size_t count,
                             std::size_t named) {
  if (count > 0) require(args, "args");
  if (named > count) {
    throw ArgumentError("The options name " + std::to_string(named) + " arguments, but there are " +
                        std::to_string(count) + ".");
  }
  const std::size_t positional = count - named, declared = schema.arguments().size();
  if (positional > declared) {
    throw ArgumentError("There are " + std::to_string(positional) + " arguments, but the model takes " +
                        std::to_string(declared) + ".");
  }
  return positional;
}

// Reads the arguments behind those by position.
void read_named(const c10::FunctionSchema& schema, const sr_value* args, const sr_call_options& options,
                KeywordArgs& named) {
  if (options.named > 0) require(options.names, "names");
  for (std::size_t i = 0; i < options.named; ++i) {
    require(options.names[i], "names");
    const std::string name = options.names[i];
    const auto position = schema.argumentIndexWithName(name);
    if (!position) throw ArgumentError("The model has no argument '" + name + "'.", name);
    const c10::Argument& declared = schema.arguments()[static_cast<std::size_t>(*position)];
    if (!named.emplace(name, read_argument(declared, args[i])).second)
      throw ArgumentError("The argument '" + name + "' is given twice.", name);
  }
}

bool is_placed(const c10::IValue& kept, const sr_value& given) {
  return given.kind == SR_TENSOR && given.as.tensor != nullptr && kept.isTensor() &&
         place(kept.toTensor(), *given.as.tensor);
}

}  // namespace

CallFrame::Kept& CallFrame::of_thread() {
  static thread_local Kept kept;
  return kept;
}

CallFrame::CallFrame() : kept_(&of_thread()) {
  if (kept_->is_in_use) {
    own_ = std::make_unique<Kept>();
    kept_ = own_.get();
  }
  kept_->is_in_use = true;
}

CallFrame::~CallFrame() {
  for (c10::IValue& value : kept_->values) {
    if (!value.isTensor() || !can_be_placed(value.toTensor())) value = c10::IValue();
  }
  for (at::Tensor& output : kept_->outputs) {
    if (output.defined() && !can_be_placed(output)) output.reset();
  }
  kept_->is_in_use = false;
}

void CallFrame::read(const c10::FunctionSchema& schema, const sr_value* args, std::size_t count,
                     std::size_t named) {
  const std::size_t positional = positional_count(schema, args, count, named);
  if (kept_->values.size() != positional) kept_->values.resize(positional);
  for (std::size_t i = 0; i < positional; ++i) {
    c10::IValue& value = kept_->values[i];
    if (!is_placed(value, args[i])) value = read_argument(schema.arguments()[i], args[i]);
  }
}

void CallFrame::read(const c10::FunctionSchema& schema, const sr_value* args, std::size_t count,
                     const sr_call_options& options) {
  read(schema, args, count, options.named);
  read_named(schema, args + (count - options.named), options, named_.emplace());
}

void CallFrame::read_outputs(const sr_tensor* outputs, std::size_t count) {
  if (count > 0) require(outputs, "outputs");
  kept_->outputs.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    at::Tensor& output = kept_->outputs[i];
    if (!output.defined() || !place(output, outputs[i])) output = tensor_of(outputs[i], "outputs");
  }
}

Arguments read_arguments(const c10::FunctionSchema& schema, const sr_value* args, std::size_t count,
                         const sr_call_options& options) {
  const std::size_t positional = positional_count(schema, args, count, options.named);
  Arguments arguments;
  for (std::size_t i = 0; i < positional; ++i)
    arguments.values.push_back(read_argument(schema.arguments()[i], args[i]));
  read_named(schema, args + positional, options, arguments.named);
  return arguments;
}

c10::IValue read_value(const sr_value& given, const char* name) {
  return ValueReader(name).read(given);
}

CallOptions read_options(const sr_call_options& options) {
  CallOptions read;
  if (options.timeout_ns < 0)
    throw ArgumentError("The timeout is " + std::to_string(options.timeout_ns) + " ns, but is not negative.");
  if (options.timeout_ns > 0)
    read.deadline = CallOptions::Clock::now() + std::chrono::nanoseconds(options.timeout_ns);
  if (options.cancel != nullptr) read.stop = options.cancel->source.get_token();
  return read;
}

}  // namespace sr::c

sr_status sr_cancel_new(sr_cancel** cancel) {
  return sr::c::guarded([&] {
    sr::c::require(cancel, "cancel");
    *cancel = new sr_cancel;
  });
}
sr_status sr_cancel_request(sr_cancel* cancel) {
  return sr::c::guarded([&] {
    sr::c::require(cancel, "cancel");
    cancel->source.request_stop();
  });
}
void sr_cancel_free(sr_cancel* cancel) {
  delete cancel;
}

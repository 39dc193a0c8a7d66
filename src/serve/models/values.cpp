#include "values.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include <ATen/Functions.h>
#include <ATen/core/jit_type.h>

#include <sr/error.hpp>

#include "tensors.hpp"

namespace sr::serve {
namespace {

std::vector<std::int64_t> shape_of(const std::optional<std::vector<SizeSpec>>& sizes) {
  std::vector<std::int64_t> shape;
  if (!sizes) return {-1};  // the protocol has no word for an open number of dimensions
  for (const SizeSpec& size : *sizes) {
    const auto* const number = std::get_if<std::int64_t>(&size);
    shape.push_back(number == nullptr ? -1 : *number);
  }
  return shape;
}

TensorMetadata metadata_of(const ValueSpec& spec, const std::string& name) {
  if (spec.type == "int") return {name, "INT64", {}};
  if (spec.type == "float") return {name, "FP64", {}};
  if (spec.type == "bool") return {name, "BOOL", {}};
  return {name, spec.dtype ? std::string(datatype_of(*spec.dtype)) : "", shape_of(spec.sizes)};
}

std::string in_quotes(const std::string& name) {
  return "'" + name + "'";
}

std::string names_of(const std::vector<TensorMetadata>& inputs) {
  std::string names;
  for (const TensorMetadata& input : inputs) names += (names.empty() ? "" : ", ") + input.name;
  return names.empty() ? "none" : names;
}

std::vector<c10::TypePtr> types_of_results(const c10::FunctionSchema& schema) {
  if (schema.returns().empty()) return {};
  const c10::TypePtr type = schema.returns()[0].type();
  if (const auto tuple = type->cast<c10::TupleType>()) return tuple->elements().vec();
  return {type};
}

void add_results(const c10::IValue& value, const std::string& name, std::vector<WireTensor>& results) {
  const auto add = [&](const at::Tensor& tensor) { results.push_back(wire_of(name, tensor)); };
  if (value.isTensor()) {
    if (value.toTensor().defined()) add(value.toTensor());
  } else if (value.isInt()) {
    add(at::scalar_tensor(value.toInt(), at::kLong));
  } else if (value.isBool()) {
    add(at::scalar_tensor(value.toBool(), at::kBool));
  } else if (value.isDouble()) {
    add(at::scalar_tensor(value.toDouble(), at::kDouble));
  } else if (value.isTuple() || value.isList()) {
    const auto elements = value.isTuple() ? value.toTupleRef().elements().vec() : value.toListRef().vec();
    for (std::size_t i = 0; i < elements.size(); ++i)
      add_results(elements[i], name + "_" + std::to_string(i), results);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      const std::string key =
          entry.key().isString() ? entry.key().toStringRef() : std::to_string(results.size());
      add_results(entry.value(), key, results);
    }
  } else if (!value.isNone()) {
    throw RequestError(Status::unsupported, "The result " + in_quotes(name) + " is of type " +
                                                value.type()->repr_str() +
                                                ", which the protocol has no tensor for.");
  }
}

}  // namespace

ModelValues::ModelValues(const StaticModule& module) {
  for (const ValueSpec& spec : module.inputs()) {
    Argument argument{spec.name, Argument::Kind::tensor, spec.default_value};
    const bool is_optional = spec.type.starts_with("Optional[");
    const std::string type = is_optional ? spec.type.substr(9, spec.type.size() - 10) : spec.type;
    if (type == "int") {
      argument.kind = Argument::Kind::integer;
    } else if (type == "float") {
      argument.kind = Argument::Kind::real;
    } else if (type == "bool") {
      argument.kind = Argument::Kind::boolean;
    } else if (type != "Tensor") {
      argument.is_served = false;
      if (!argument.default_value) {
        throw UnsupportedOpError(
            "The argument " + in_quotes(spec.name) + " is of type " + spec.type +
            ", but a request carries tensors and numbers only. Wrap the model in a module "
            "that takes those.");
      }
    }
    if (is_optional && !argument.default_value) argument.default_value = c10::IValue();
    if (argument.is_served) {
      ValueSpec plain = spec;
      plain.type = type;
      inputs_.push_back(metadata_of(plain, spec.name));
    }
    arguments_.push_back(std::move(argument));
  }
  for (const c10::TypePtr& type : types_of_results(module.schema())) {
    result_names_.push_back("output_" + std::to_string(result_names_.size()));
    const auto tensor = type->cast<c10::TensorType>();
    const auto sizes = tensor != nullptr ? tensor->symbolic_sizes().sizes() : std::nullopt;
    if (!sizes || !tensor->scalarType()) continue;
    TensorMetadata& output = outputs_.emplace_back();
    output.name = result_names_.back();
    output.datatype = datatype_of(*tensor->scalarType());
    for (const c10::ShapeSymbol& size : *sizes)
      output.shape.push_back(size.is_static() ? size.static_size() : -1);
  }
  if (outputs_.size() != result_names_.size()) outputs_.clear();
}

void ModelValues::learn_outputs(const std::vector<WireTensor>& results) {
  if (!outputs_.empty()) return;
  for (const WireTensor& result : results)
    outputs_.push_back({result.name, result.datatype, std::vector<std::int64_t>(result.shape.size(), -1)});
}

std::vector<c10::IValue> ModelValues::arguments(const std::vector<WireTensor>& inputs) const {
  std::vector<c10::IValue> values(arguments_.size());
  std::vector<bool> is_given(arguments_.size());
  for (const WireTensor& input : inputs) {
    const auto found = std::ranges::find_if(arguments_, [&](const Argument& argument) {
      return argument.is_served && argument.name == input.name;
    });
    if (found == arguments_.end()) {
      throw RequestError(Status::invalid, "The model has no input " + in_quotes(input.name) +
                                              ". Its inputs: " + names_of(inputs_) + ".");
    }
    const auto at = static_cast<std::size_t>(found - arguments_.begin());
    if (is_given[at])
      throw RequestError(Status::invalid, "The input " + in_quotes(input.name) + " is given twice.");
    is_given[at] = true;
    const at::Tensor tensor = tensor_of(input);
    if (found->kind == Argument::Kind::tensor) {
      values[at] = tensor;
      continue;
    }
    if (tensor.numel() != 1) {
      throw RequestError(Status::invalid, "The input " + in_quotes(input.name) +
                                              " is a number, so its tensor has one element, but it has " +
                                              std::to_string(tensor.numel()) + ".");
    }
    const bool is_integral = c10::isIntegralType(tensor.scalar_type(), /*includeBool=*/false);
    if (found->kind == Argument::Kind::integer && !is_integral) {
      throw RequestError(Status::invalid, "The input " + in_quotes(input.name) +
                                              " is an integer, so its datatype has to be one of integers.");
    }
    if (found->kind == Argument::Kind::integer) values[at] = tensor.item().toLong();
    if (found->kind == Argument::Kind::real) values[at] = tensor.item().toDouble();
    if (found->kind == Argument::Kind::boolean) values[at] = tensor.item().toBool();
  }
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (is_given[i]) continue;
    if (!arguments_[i].default_value) {
      throw RequestError(Status::invalid, "The input " + in_quotes(arguments_[i].name) +
                                              " is missing. The model's inputs: " + names_of(inputs_) + ".");
    }
    values[i] = *arguments_[i].default_value;
  }
  return values;
}

std::vector<WireTensor> ModelValues::results(const c10::IValue& result) const {
  std::vector<WireTensor> results;
  if (result.isTuple() && result.toTupleRef().size() == result_names_.size()) {
    const auto& elements = result.toTupleRef().elements();
    for (std::size_t i = 0; i < elements.size(); ++i) add_results(elements[i], result_names_[i], results);
  } else {
    add_results(result, result_names_.empty() ? "output" : result_names_[0], results);
  }
  return results;
}

std::vector<WireTensor> ModelValues::chosen(std::vector<WireTensor> outputs,
                                            const std::vector<std::string>& names) {
  if (names.empty()) return outputs;
  std::vector<WireTensor> kept;
  for (const std::string& name : names) {
    const auto found =
        std::ranges::find_if(outputs, [&](const WireTensor& output) { return output.name == name; });
    if (found == outputs.end()) {
      std::string all;
      for (const WireTensor& output : outputs) all += (all.empty() ? "" : ", ") + output.name;
      throw RequestError(Status::invalid,
                         "The model has no output " + in_quotes(name) + ". Its outputs: " + all + ".");
    }
    kept.push_back(*found);
  }
  return kept;
}

}  // namespace sr::serve

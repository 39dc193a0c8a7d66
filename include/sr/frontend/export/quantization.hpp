// Calls of quantization operators that only exist in Python, and parts of quantized weights.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <sr/frontend/export/argument_values.hpp>
#include <sr/frontend/export/builder.hpp>
#include <sr/frontend/export/quantization_formulas.hpp>

namespace sr::exported {

namespace detail {

// How the scales of an operator lie along its input: one, those of one dimension, or one for each block.
enum class Scales { as_given, along_axis, in_blocks };

struct Formula {
  std::string_view key;
  const char* function;
  Scales scales = Scales::as_given;
};

inline constexpr std::array<Formula, 16> kFormulas{{
    {"quantized_decomposed::quantize_per_tensor", "quantize_per_tensor"},
    {"quantized_decomposed::quantize_per_tensor.tensor", "quantize_per_tensor_tensor"},
    {"quantized_decomposed::dequantize_per_tensor", "dequantize_per_tensor"},
    {"quantized_decomposed::dequantize_per_tensor.tensor", "dequantize_per_tensor_tensor"},
    {"quantized_decomposed::choose_qparams.tensor", "choose_qparams_tensor"},
    {"quantized_decomposed::choose_qparams_symmetric.tensor", "choose_qparams_symmetric_tensor"},
    {"quantized_decomposed::quantize_per_channel", "quantize_per_channel", Scales::along_axis},
    {"quantized_decomposed::dequantize_per_channel", "dequantize_per_channel", Scales::along_axis},
    {"quantized_decomposed::choose_qparams_per_token", "choose_qparams_per_token"},
    {"quantized_decomposed::choose_qparams_per_token_asymmetric", "choose_qparams_per_token_asymmetric"},
    {"quantized_decomposed::quantize_per_token", "quantize_per_token"},
    {"quantized_decomposed::dequantize_per_token", "dequantize_per_token"},
    {"quantized_decomposed::convert_element_type.no_fuse", "no_fuse"},
    {"torchao::choose_qparams_affine", "choose_qparams_affine", Scales::in_blocks},
    {"torchao::quantize_affine", "quantize_affine", Scales::in_blocks},
    {"torchao::dequantize_affine", "dequantize_affine", Scales::in_blocks},
}};

// A tensor seen as blocks: a dimension of several blocks is two, their number and their length.
struct Blocks {
  std::vector<Value*> original, sizes;    // of the tensor, and with dimensions cut
  std::vector<Value*> of_scales, counts;  // the same with 1 for what a block spans; blocks in each dimension
  std::vector<std::int64_t> spanned;      // positions in `sizes`
  bool cut = false;
};

}  // namespace detail

// Quantized weights are tensors of a class of Python's, which holds plain tensors.
inline bool Builder::take_part(const Json& node) {
  const Json* const whole = find_input(node, "src_subclass_tensor");
  const Json* const attribute = find_input(node, "attr");
  if (whole == nullptr || attribute == nullptr) malformed(where_, "lacks a tensor or the name of a part");
  const auto parts = parts_.find(text_of(tagged(*whole, where_).value, "name", where_));
  if (parts == parts_.end()) unsupported("reads a part of a tensor that is no weight of the program");
  const std::string& name = as_string(tagged(*attribute, where_).value, where_);
  if (const auto part = parts->second.find(name); part != parts->second.end()) {
    define_results(node, {part->second});
    return true;
  }
  Parts inner;  // the attribute may be a tensor subclass, too
  for (const auto& [path, value] : parts->second) {
    if (path.starts_with(name + ".")) inner.emplace(path.substr(name.size() + 1), value);
  }
  if (inner.empty()) unsupported("reads the part '" + name + "' of a weight, which has no values");
  const Tagged result = tagged(items_of(node, "outputs", where_).at(0), where_);
  parts_.emplace(text_of(result.value, "name", where_), std::move(inner));
  return true;
}

// The arguments of a node by the names of a schema, converted to its types.
inline Builder::Values Builder::arguments_of(const Json& node, const c10::FunctionSchema& schema) {
  Values values(schema.arguments().size(), nullptr);
  for (const Json& given : items_of(node, "inputs", where_)) {
    const std::optional<int> position = schema.argumentIndexWithName(text_of(given, "name", where_));
    if (!position) continue;
    const c10::Argument& formal = schema.arguments()[static_cast<std::size_t>(*position)];
    values[static_cast<std::size_t>(*position)] =
        argument(member(given, "arg", where_), formal.type(), formal.N().value_or(1));
  }
  return values;
}

inline const Json* Builder::find_input(const Json& node, std::string_view name) const {
  for (const Json& given : items_of(node, "inputs", where_)) {
    if (text_of(given, "name", where_) == name) return &member(given, "arg", where_);
  }
  return nullptr;
}

inline const Json& Builder::input_named(const Json& node, std::string_view name) const {
  const Json* const found = find_input(node, name);
  if (found == nullptr) malformed(where_, "gives no argument '" + std::string(name) + "'");
  return *found;
}

// Messages name the line of the model, not that of the formula.
inline void Builder::place(torch::jit::Block& block) const {
  for (torch::jit::Node* node : block.nodes()) {
    node->setSourceRange(range_);
    for (torch::jit::Block* inner : node->blocks()) place(*inner);
  }
}

// Inlines a formula. Arguments that `values` lacks have their defaults.
inline Builder::Values Builder::apply(const char* formula, Values values) {
  torch::jit::Function& function = detail::quantization_formulas().get_function(c10::QualifiedName(formula));
  const c10::FunctionSchema& schema = function.getSchema();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const c10::Argument& formal = schema.arguments()[i];
    if (values[i] == nullptr && formal.default_value()) values[i] = constant(*formal.default_value());
    if (values[i] == nullptr || !values[i]->type()->isSubtypeOf(*formal.type()))
      malformed(where_, "gives no value of type " + formal.type()->str() + " for '" + formal.name() + "'");
  }
  const std::shared_ptr<torch::jit::Graph> body = torch::jit::toGraphFunction(function).graph()->copy();
  torch::jit::Inline(*body);
  place(*body->block());
  Values results = torch::jit::insertGraph(graph_, *body, values);
  if (results.size() != 1 || results[0]->type()->kind() != c10::TypeKind::TupleType) return results;
  torch::jit::Node* const unpack = graph_.insertNode(graph_.createTupleUnpack(results[0]));
  unpack->setSourceRange(range_);
  return unpack->outputs().vec();
}

// The description of a tensor that the node reads.
inline const Json& Builder::meta_of(const Json& tensor) const {
  const std::string& name = text_of(tagged(tensor, where_).value, "name", where_);
  return member(entries_of(*described_, "tensor_values", where_), name.c_str(), where_);
}

inline detail::Blocks Builder::blocks_of(const Json& node) {
  const Json& tensor = input_named(node, "input");
  const Json& sizes = items_of(meta_of(tensor), "sizes", where_);
  const Tagged list = tagged(input_named(node, "block_size"), where_);
  if (!list.value.is_array() || list.value.size() != sizes.size())
    malformed(where_, "has another number of dimensions in a block than in its input");
  Value* const input = argument(tensor, c10::TensorType::get());
  Value* const one = constant(std::int64_t{1});
  detail::Blocks blocks;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const Tagged size = tagged(sizes[d], where_);
    const Tagged block =
        list.tag == "as_ints" ? Tagged{"as_int", list.value[d]} : tagged(list.value[d], where_);
    const bool is_fixed = size.tag == "as_int", has_length = block.tag == "as_int";
    Value* const whole = is_fixed ? constant(as_int(size.value, where_))
                                  : call("aten::size", {input, constant(static_cast<std::int64_t>(d))});
    const std::int64_t length = has_length ? as_int(block.value, where_) : 0;
    blocks.original.push_back(whole);
    if (length == 1) {
      blocks.sizes.push_back(whole);
      blocks.of_scales.push_back(whole);
      blocks.counts.push_back(whole);
      continue;
    }
    if (has_length != is_fixed || (!has_length && !is_same_size(block.value, size.value)))
      unsupported("quantizes blocks along a dimension whose size varies");
    const std::int64_t extent = is_fixed ? as_int(size.value, where_) : 0;
    if (length == extent) {  // also where both are one symbol
      blocks.spanned.push_back(static_cast<std::int64_t>(blocks.sizes.size()));
      blocks.sizes.push_back(whole);
      blocks.of_scales.push_back(one);
      blocks.counts.push_back(one);
      continue;
    }
    if (length <= 0 || extent % length != 0)
      malformed(where_,
                "has blocks of " + std::to_string(length) + " in a dimension of " + std::to_string(extent));
    Value* const count = constant(extent / length);
    blocks.cut = true;
    blocks.spanned.push_back(static_cast<std::int64_t>(blocks.sizes.size()) + 1);
    blocks.sizes.insert(blocks.sizes.end(), {count, constant(length)});
    blocks.of_scales.insert(blocks.of_scales.end(), {count, one});
    blocks.counts.push_back(count);
  }
  return blocks;
}

// True if a number of the graph is the symbol that a size is.
inline bool Builder::is_same_size(const Json& number, const Json& size) const {
  const Tagged named = tagged(number, where_);
  if (named.tag != "as_name") return false;
  const Json& value = member(entries_of(*described_, "sym_int_values", where_),
                             as_string(named.value, where_).c_str(), where_);
  const Tagged expression = tagged(value, where_);
  return expression.tag == "as_expr" && size.is_object() &&
         text_of(expression.value, "expr_str", where_) == text_of(size, "expr_str", where_);
}

// Gives the arguments of `values` that are None or missing what torchao takes for them.
inline void Builder::fill_qparams(const Json& node, const c10::FunctionSchema& schema, Values& values) {
  const auto fill = [&](const char* name, const auto& make) {
    const std::optional<int> position = schema.argumentIndexWithName(name);
    if (!position) return;
    Value*& value = values[static_cast<std::size_t>(*position)];
    if (value == nullptr || value->type()->kind() == c10::TypeKind::NoneType) value = constant(make());
  };
  const auto code = [](c10::ScalarType type) { return static_cast<std::int64_t>(type); };
  const c10::ScalarType input =
      scalar_type_of(member(meta_of(input_named(node, "input")), "dtype", where_), where_);
  fill("quant_min", [&] { return range_of_result(node).first; });
  fill("quant_max", [&] { return range_of_result(node).second; });
  fill("output_dtype", [&] { return code(at::kFloat); });
  fill("eps", [&] {  // the smallest normal number
    return input == at::kHalf ? 0x1p-14 : static_cast<double>(std::numeric_limits<float>::min());
  });
  fill("scale_dtype", [&] { return code(input); });
  fill("zero_point_dtype", [&] {
    const Tagged mapping = tagged(input_named(node, "mapping_type"), where_);
    return code(as_string(mapping.value, where_) == "ASYMMETRIC" ? at::kInt : input);
  });
  fill("keepdim", [] { return false; });
}

// The range of the dtype that a tensor is quantized to.
inline std::pair<std::int64_t, std::int64_t> Builder::range_of_result(const Json& node) const {
  const Json* const given = find_input(node, "target_dtype");
  const Tagged named = tagged(given != nullptr ? *given : input_named(node, "output_dtype"), where_);
  const c10::ScalarType dtype = scalar_type_of(named.value, where_);
  if (dtype == at::kChar) return {-128, 127};
  if (dtype == at::kByte) return {0, 255};
  if (dtype == at::kShort) return {-32768, 32767};
  unsupported("gives no range for " + std::string(c10::toString(dtype)));
}

inline bool Builder::add_quantization(const Json& node, const std::string& key) {
  const auto* const formula = std::ranges::find(detail::kFormulas, key, &detail::Formula::key);
  if (formula == detail::kFormulas.end()) return false;
  const c10::FunctionSchema& schema =
      detail::quantization_formulas().get_function(c10::QualifiedName(formula->function)).getSchema();
  Values values = arguments_of(node, schema);
  const auto change = [&](const char* name, const auto& how) {
    const std::optional<int> position = schema.argumentIndexWithName(name);
    if (!position) return;
    Value*& value = values[static_cast<std::size_t>(*position)];
    if (value != nullptr && value->type()->kind() != c10::TypeKind::NoneType) value = how(value);
  };
  const auto reshape = [&](Value* tensor, const Values& sizes) {
    return call("aten::reshape", {tensor, list(sizes, c10::IntType::get())});
  };
  detail::Blocks blocks;
  if (formula->scales == detail::Scales::along_axis) {
    const Json& sizes = items_of(meta_of(input_named(node, "input")), "sizes", where_);
    Value* const axis = argument(input_named(node, "axis"), c10::IntType::get());
    Value* const rank = constant(static_cast<std::int64_t>(sizes.size()));
    for (const char* name : {"scales", "zero_points"})
      change(name, [&](Value* given) { return apply("along", {given, axis, rank}).at(0); });
  } else if (formula->scales == detail::Scales::in_blocks) {
    blocks = blocks_of(node);
    fill_qparams(node, schema, values);
    if (blocks.cut) change("input", [&](Value* given) { return reshape(given, blocks.sizes); });
    for (const char* name : {"scale", "zero_point"})
      change(name, [&](Value* given) { return reshape(given, blocks.of_scales); });
    if (const auto dims = schema.argumentIndexWithName("dims"))
      values[static_cast<std::size_t>(*dims)] = constant(c10::List<std::int64_t>(blocks.spanned));
  }
  Values results = apply(formula->function, values);
  if (blocks.cut && results.size() == 1) results[0] = reshape(results[0], blocks.original);
  const std::optional<int> keepdim = schema.argumentIndexWithName("keepdim");
  if (blocks.cut && keepdim &&
      torch::jit::toIValue(values[static_cast<std::size_t>(*keepdim)]) == c10::IValue(true)) {
    for (Value*& result : results) result = reshape(result, blocks.counts);
  }
  define_results(node, results);
  return true;
}

}  // namespace sr::exported

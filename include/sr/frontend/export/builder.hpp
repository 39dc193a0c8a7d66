// Adds the nodes of a serialised export graph to a graph of LibTorch. The headers named beside the members
// define them.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <torch/csrc/jit/ir/ir.h>

#include <sr/frontend/export/enums.hpp>
#include <sr/frontend/export/json.hpp>
#include <sr/frontend/export/signed_products.hpp>
#include <sr/frontend/export/source_lines.hpp>

namespace sr::exported {

using torch::jit::Value;
using Scope =
    std::unordered_map<std::string, Value*>;  // values of one graph by name; sub-graphs have their own

namespace detail {
struct Blocks;
}

class Builder {
 public:
  explicit Builder(torch::jit::Graph& graph) : graph_(graph) {}

  // Inserts the nodes at the graph's insertion point, and returns the results. `scope` holds the graph's
  // inputs.
  std::vector<Value*> add_graph(const Json& graph, Scope& scope);

  Value* constant(const c10::IValue& value) { return graph_.insertConstant(value, range_); }
  Value* call(const char* name, std::initializer_list<Value*> inputs);      // an operator with one result
  Value* coerce(Value* value, const c10::TypePtr& formal, int repeat = 1);  // argument_values.hpp
  void require(Value* condition, const std::string& message, const char* error);  // assertions.hpp

  // The tensors inside a value that is a tensor of a class of Python's, by attribute, "qdata"; "inner.qdata".
  using Parts = std::unordered_map<std::string, Value*>;
  void add_parts(const std::string& value, Parts parts) { parts_.emplace(value, std::move(parts)); }

  // The dtypes that the program states, of tensors that nodes make.
  const Dtypes& dtypes() const { return dtypes_; }

  // What is being read, for messages.
  const std::string& where() const { return where_; }
  void set_where(std::string where) { where_ = std::move(where); }

 private:
  using Values = std::vector<Value*>;
  struct Inlined {
    const Json& graph;
    const std::string& name;
  };

  void add_node(const Json& node);
  Value* find(const std::string& name) const;
  void define(const std::string& name, Value* value);
  void define_result(const Json& result, Value* value);
  void note_dtype(const std::string& name, const Value* value);
  void define_results(const Json& node, const Values& values);
  torch::jit::Node* insert(c10::Symbol kind, const Values& inputs, std::size_t outputs);
  [[noreturn]] void unsupported(const std::string& why) const;

  // argument_values.hpp
  Value* argument(const Json& argument, const c10::TypePtr& formal, int repeat = 1);
  std::optional<Value*> single(const Tagged& given);
  Values elements(const Tagged& given);
  Value* list(const Values& items, const c10::TypePtr& element);
  Value* truth(Value* value);

  // operators.hpp
  void add_operator(const Json& node, const std::string& target);
  bool add_special(const Json& node, const c10::OperatorName& name);
  bool skip_dropout(const Json& node);
  bool add_conversion(const Json& node);
  void add_call(const Json& node, const torch::jit::Operator& op);
  void keep_bools(const c10::FunctionSchema& schema, Values& inputs);
  const torch::jit::Operator* taking_numbers(const c10::FunctionSchema& schema, const Values& inputs) const;

  // symbolic.hpp
  bool add_symbolic(const Json& node, const std::string& target);

  // quantization.hpp
  bool take_part(const Json& node);
  Values arguments_of(const Json& node, const c10::FunctionSchema& schema);
  const Json* find_input(const Json& node, std::string_view name) const;
  const Json& input_named(const Json& node, std::string_view name) const;
  void place(torch::jit::Block& block) const;
  Values apply(const char* formula, Values values);
  const Json& meta_of(const Json& tensor) const;
  detail::Blocks blocks_of(const Json& node);
  bool is_same_size(const Json& number, const Json& size) const;
  void fill_qparams(const Json& node, const c10::FunctionSchema& schema, Values& values);
  std::pair<std::int64_t, std::int64_t> range_of_result(const Json& node) const;
  bool add_quantization(const Json& node, const std::string& key);

  // control_flow.hpp
  void add_higher_order(const Json& node, const std::string& name);
  void add_cond(const Json& node);
  void add_while_loop(const Json& node);
  void add_scan(const Json& node);
  void add_map(const Json& node);
  Values for_each_element(const Json& body, const Values& carried, const Values& sequences,
                          const Values& captured);
  void add_region(const Json& node, std::size_t position);
  void add_autocast(const Json& node);
  Value* choose(Value* condition, const Json* if_true, const Json* if_false, const Values& operands,
                Values& results);
  const Json& sub_graph(const Json& node, std::size_t input) const;
  const Json& input(const Json& node, std::size_t position) const;
  Values inlined(const Json& graph, const Values& operands);

  torch::jit::Graph& graph_;
  Scope* scope_ = nullptr;
  const Json* described_ = nullptr;  // the graph that is being read, which describes its values
  std::unordered_map<std::string, Parts> parts_;
  Dtypes dtypes_;
  SourceLines lines_;
  torch::jit::SourceRange range_;
  std::string where_ = "the graph";
  std::string target_;  // of the node that is being added
  int depth_ = 0;       // of graphs inside each other
  int conditions_ = 0;  // of loops whose conditions are being inlined
};

inline std::vector<Value*> Builder::add_graph(const Json& graph, Scope& scope) {
  constexpr int kDeepest = 100;
  if (depth_ == kDeepest) malformed(where_, "has more than 100 graphs inside each other");
  ++depth_;
  Scope* const outer = std::exchange(scope_, &scope);
  const Json* const described = std::exchange(described_, &graph);
  for (const Json& node : items_of(graph, "nodes", where_)) add_node(node);
  Values results;
  where_ = "the graph's list of outputs";
  target_.clear();
  for (const Json& result : items_of(graph, "outputs", where_)) {
    results.push_back(argument(result, c10::AnyType::get()));
  }
  scope_ = outer;
  described_ = described;
  --depth_;
  return results;
}

inline void Builder::add_node(const Json& node) {
  where_ = "a node of the graph";
  const std::string& target = target_ = text_of(node, "target", where_);
  const Json* name = node.contains("name") ? &node["name"] : nullptr;
  where_ = "the node " + (name != nullptr && name->is_string()
                              ? "'" + name->get<std::string>() + "' (" + target + ")"
                              : "that calls " + target);
  range_ = lines_.of(node);
  constexpr std::string_view kOperators = "torch.ops.", kHigherOrder = "torch.ops.higher_order.";
  if (target.starts_with(kHigherOrder)) return add_higher_order(node, target.substr(kHigherOrder.size()));
  if (target.starts_with(kOperators)) return add_operator(node, target.substr(kOperators.size()));
  if (!add_symbolic(node, target)) unsupported("is a Python function that has no operator");
}

inline Value* Builder::find(const std::string& name) const {
  const auto found = scope_->find(name);
  if (found == scope_->end())
    malformed(where_, "uses the value '" + name + "', which nothing before it defines");
  return found->second;
}

inline void Builder::define(const std::string& name, Value* value) {
  if (!scope_->emplace(name, value).second)
    malformed(where_, "defines the value '" + name + "' a second time");
}

inline void Builder::define_result(const Json& result, Value* value) {
  const auto [tag, content] = tagged(result, where_);
  if (tag == "as_tensor") note_dtype(text_of(content, "name", where_), value);
  const auto number = [&, &held = content](const c10::TypePtr& type) {
    const auto [kind, name] = tagged(held, where_);
    if (kind == "as_name") define(as_string(name, where_), coerce(value, type));
  };
  if (tag == "as_tensor") return define(text_of(content, "name", where_), value);
  if (tag == "as_sym_int") return number(c10::IntType::get());
  if (tag == "as_sym_float") return number(c10::FloatType::get());
  if (tag == "as_sym_bool") return number(c10::BoolType::get());
  if (tag == "as_optional_tensor") return define_result(content, value);
  if (tag != "as_tensors") return;  // it is None, or a number that export has found to be constant
  if (!content.is_array()) malformed(where_, "has a list of results that is none");
  torch::jit::Node* unpack = graph_.insertNode(graph_.createListUnpack(value, content.size()));
  unpack->setSourceRange(range_);
  for (std::size_t i = 0; i < content.size(); ++i)
    define(text_of(content[i], "name", where_), unpack->output(i));
}

inline void Builder::note_dtype(const std::string& name, const Value* value) {
  const Json& all = entries_of(*described_, "tensor_values", where_);
  if (all.contains(name)) dtypes_[value] = scalar_type_of(member(all[name], "dtype", where_), where_);
}

inline void Builder::define_results(const Json& node, const Values& values) {
  const Json& results = items_of(node, "outputs", where_);
  // Several values that the program lists as one result. A list is one value, also if it has one element.
  const bool is_list = values.size() == 1 && values[0]->type()->kind() == c10::TypeKind::ListType;
  if (!is_list && results.size() == 1 && results[0].contains("as_tensors") &&
      results[0]["as_tensors"].is_array() && results[0]["as_tensors"].size() == values.size()) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      define(text_of(results[0]["as_tensors"][i], "name", where_), values[i]);
    }
    return;
  }
  if (results.size() != values.size()) {
    malformed(where_, "has " + std::to_string(results.size()) + " results where " +
                          std::to_string(values.size()) + " are made");
  }
  for (std::size_t i = 0; i < values.size(); ++i) define_result(results[i], values[i]);
}

inline torch::jit::Node* Builder::insert(c10::Symbol kind, const Values& inputs, std::size_t outputs) {
  torch::jit::Node* node = graph_.insertNode(graph_.create(kind, inputs, outputs));
  node->setSourceRange(range_);
  return node;
}

inline Value* Builder::call(const char* name, std::initializer_list<Value*> inputs) {
  torch::jit::Node* node = insert(c10::Symbol::fromQualString(name), Values(inputs), 1);
  const c10::FunctionSchema* schema = node->maybeSchema();
  if (schema == nullptr) malformed(where_, "has arguments that " + std::string(name) + " does not take");
  node->output()->setType(schema->returns().at(0).type());
  return node->output();
}

inline void Builder::unsupported(const std::string& why) const {
  std::string place = where_;
  if (const auto line = range_.file_line_col()) {
    place += " at " + std::get<0>(*line) + ":" + std::to_string(std::get<1>(*line));
  }
  throw UnsupportedOpError("The exported program cannot be run by sr: " + place + " " + why + ".",
                           target_.empty() ? std::vector<std::string>() : std::vector{target_});
}

}  // namespace sr::exported

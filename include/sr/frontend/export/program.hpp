// Makes a graph, a schema and the description of the caller's pytrees from a serialised torch.export program
// and its tensors.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/core/function_schema.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/frontend/export/control_flow.hpp>
#include <sr/frontend/export/exported_program.hpp>
#include <sr/frontend/export/guards.hpp>
#include <sr/frontend/export/mutations.hpp>
#include <sr/frontend/export/operators.hpp>
#include <sr/frontend/export/signed_products.hpp>
#include <sr/frontend/export/symbolic.hpp>

namespace sr::exported {

namespace detail {

class Importer {
 public:
  Importer(const Json& program, const Tensors& tensors) : program_(program), tensors_(tensors) {}

  ExportedProgram import() {
    check_version();
    const Json& module = member(program_, "graph_module", "the program");
    const Json& graph = member(module, "graph", "the graph module");
    const Json& signature = member(module, "signature", "the graph module");
    check_outputs(signature);
    add_inputs(graph, signature);
    add_guards(graph);
    const std::vector<Value*> results = for_caller(builder_.add_graph(graph, scope_), signature);
    Value* result = results.size() == 1 ? results[0] : tuple(results);
    made_.graph->registerOutput(result);
    use_signed_products(*made_.graph->block(), builder_.dtypes());
    made_.graph->lint();
    Mutations(guarded_).check(made_.graph->block());
    made_.schema = c10::FunctionSchema("forward", "", std::move(arguments_),
                                       {c10::Argument("", type_of_results(results, graph, signature))});
    read_specs(module);
    return std::move(made_);
  }

 private:
  void check_version() const {
    const Json& version = member(program_, "schema_version", "the program");
    const std::int64_t major = as_int(member(version, "major", "its version"), "its version");
    if (major != 8) {
      throw LoadError(
          "The exported program is of version " + std::to_string(major) +
          " of PyTorch's export schema, and sr reads version 8; export it again with PyTorch 2.8 or later.");
    }
  }

  static void check_outputs(const Json& signature) {
    for (const Json& spec : items_of(signature, "output_specs", "the signature")) {
      const auto [kind, value] = tagged(spec, "the signature");
      if (kind == "user_output" || kind == "buffer_mutation" || kind == "user_input_mutation") continue;
      std::string what = "has an output of the kind '" + kind + "', and sr only reads results for the caller";
      if (kind == "parameter_mutation")
        what = "changes its parameter '" + text_of(value, "parameter_name", "the signature") + "'";
      throw UnsupportedOpError("The exported program cannot be run by sr: it " + what +
                               ". Export a model that returns what is new instead, in evaluation mode.");
    }
  }

  // The type of the result, or of the tuple of them: that of the graph's values, with the dtypes and sizes
  // that the program has for tensors.
  c10::TypePtr type_of_results(const std::vector<Value*>& results, const Json& graph, const Json& signature) {
    const Json& tensors = entries_of(graph, "tensor_values", "the graph");
    std::vector<c10::TypePtr> types;
    for (const Json& output : items_of(signature, "output_specs", "the signature")) {
      const auto [kind, spec] = tagged(output, "the signature");
      if (kind != "user_output" || types.size() == results.size()) continue;
      const auto [tag, value] = tagged(member(spec, "arg", "the signature"), "the signature");
      types.push_back(results[types.size()]->type());
      if (tag != "as_tensor" || types.back()->kind() != c10::TypeKind::TensorType) continue;
      const std::string& name = text_of(value, "name", "the signature");
      if (const auto found = tensors.find(name); found != tensors.end())
        types.back() = tensor_type(*found, "the result '" + name + "'");
    }
    for (std::size_t i = types.size(); i < results.size(); ++i) types.push_back(results[i]->type());
    return types.size() == 1 ? types[0] : c10::TupleType::create(std::move(types));
  }

  // Returns the results for the caller. The other results are new values of buffers and arguments, and are
  // copied into them at the end of the graph. If the caller also gets such a value, it gets the buffer or
  // argument itself, as in PyTorch.
  std::vector<Value*> for_caller(const std::vector<Value*>& results, const Json& signature) {
    const Json& specs = items_of(signature, "output_specs", "the signature");
    std::unordered_map<Value*, Value*> written;
    std::vector<Value*> returned;
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const auto [kind, spec] = tagged(specs[i], "the signature");
      if (kind == "user_output") continue;
      if (specs.size() != results.size())
        malformed("the signature", "has another number of outputs than the graph");
      const bool is_buffer = kind == "buffer_mutation";
      const std::string& name = text_of(spec, is_buffer ? "buffer_name" : "user_input_name", "the signature");
      const Scope& targets = is_buffer ? buffers_ : scope_;
      const auto target = targets.find(name);
      if (target == targets.end()) malformed("the signature", "writes to '" + name + "', which is no input");
      written[results[i]] =
          builder_.call("aten::copy_", {target->second, results[i], builder_.constant(false)});
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (i < specs.size() && tagged(specs[i], "the signature").tag != "user_output") continue;
      const auto found = written.find(results[i]);
      returned.push_back(found == written.end() ? results[i] : found->second);
    }
    return returned;
  }

  void add_inputs(const Json& graph, const Json& signature) {
    const Json& inputs = items_of(graph, "inputs", "the graph");
    const Json& specs = items_of(signature, "input_specs", "the signature");
    if (inputs.size() != specs.size())
      malformed("the signature", "has another number of inputs than the graph");
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const auto [kind, spec] = tagged(specs[i], "the signature");
      if (kind == "user_input") {
        add_argument(member(spec, "arg", "the signature"), graph);
      } else if (kind == "constant_input") {
        made_.constants.emplace_back(plain(member(spec, "value", "the signature")));
      } else if (kind == "parameter") {
        add_tensor(spec, "parameter_name", "the parameter ");
      } else if (kind == "buffer") {
        add_tensor(spec, "buffer_name", "the buffer ");
      } else if (kind == "tensor_constant") {
        add_tensor(spec, "tensor_constant_name", "the constant ");
      } else {
        throw UnsupportedOpError("The exported program cannot be run by sr: it has an input of the kind '" +
                                 kind + "'; sr reads tensors, numbers, parameters, buffers and constants.");
      }
    }
  }

  static c10::IValue plain(const Json& given) {
    const auto [tag, value] = tagged(given, "the signature");
    if (tag == "as_none") return {};
    if (tag == "as_int") return as_int(value, "the signature");
    if (tag == "as_bool") return as_bool(value, "the signature");
    if (tag == "as_float") return as_float(value, "the signature");
    if (tag == "as_string") return as_string(value, "the signature");
    malformed("the signature", "has an input of the unknown kind '" + tag + "'");
  }

  void add_tensor(const Json& spec, const char* field, const std::string& kind) {
    const std::string& name = text_of(spec, field, "the signature");
    const std::string& value = text_of(member(spec, "arg", "the signature"), "name", "the signature");
    const std::string_view named_by = field;
    const auto add = [&](const std::string& path, const at::Tensor& tensor) {
      const bool is_parameter = named_by == "parameter_name";
      Value* const added = weight(path, tensor, is_parameter);
      if (is_parameter) guarded_.emplace(added, kind + "'" + path + "'");
      if (named_by == "buffer_name") buffers_.emplace(path, added);
      return added;
    };
    if (const auto found = tensors_.find(name); found != tensors_.end() && found->second.defined())
      return define(value, add(name, found->second));
    Builder::Parts parts;
    for (const auto& [path, tensor] : tensors_) {
      if (path.starts_with(name + ".")) parts.emplace(path.substr(name.size() + 1), add(path, tensor));
    }
    if (parts.empty()) throw LoadError("The exported program has no values for " + kind + "'" + name + "'.");
    builder_.add_parts(value, std::move(parts));
  }

  Value* weight(const std::string& name, const at::Tensor& tensor, bool is_parameter) {
    const at::Tensor alias = tensor.detach();
    made_.weights.push_back({name, is_parameter, tensor, alias});
    return made_.graph->insertConstant(alias);
  }

  void add_argument(const Json& given, const Json& graph) {
    const auto [tag, value] = tagged(given, "the signature");
    if (tag == "as_tensor") {
      const std::string& name = text_of(value, "name", "the signature");
      const std::string where = "the tensor '" + name + "'";
      const Json& tensor =
          member(entries_of(graph, "tensor_values", "the graph"), name.c_str(), "the list of tensors");
      Value* input = made_.graph->addInput(name)->setType(c10::TensorType::get());
      define(name, input);
      add_argument_type(name, tensor_type(tensor, where));
      tensor_inputs_.emplace_back(input, &items_of(tensor, "sizes", where));
      return;
    }
    const bool number = tag == "as_sym_int" || tag == "as_sym_float" || tag == "as_sym_bool";
    if (!number || tagged(value, "the signature").tag != "as_name") {
      made_.constants.emplace_back(plain(given));
      return;
    }
    const std::string& name = text_of(value, "as_name", "the signature");
    const c10::TypePtr type = tag == "as_sym_int"     ? c10::TypePtr(c10::IntType::get())
                              : tag == "as_sym_float" ? c10::TypePtr(c10::FloatType::get())
                                                      : c10::TypePtr(c10::BoolType::get());
    Value* input = made_.graph->addInput(name)->setType(type);
    define(name, input);
    add_argument_type(name, type);
    if (tag == "as_sym_int") int_inputs_.emplace_back(input, name);
  }

  void add_argument_type(const std::string& name, const c10::TypePtr& type) {
    made_.constants.emplace_back();
    arguments_.emplace_back(name, type);
  }

  // The type with dtype and sizes. Sizes of one name have one symbol; other dynamic sizes are left open.
  c10::TypePtr tensor_type(const Json& tensor, const std::string& where) {
    std::vector<c10::ShapeSymbol> sizes;
    for (const Json& size : items_of(tensor, "sizes", where)) {
      const auto [tag, value] = tagged(size, where);
      if (tag == "as_int" && as_int(value, where) < 0) malformed(where, "has a negative size");
      sizes.push_back(tag == "as_int" ? c10::ShapeSymbol::fromStaticSize(as_int(value, where))
                                      : symbol_of(value, where));
    }
    return c10::TensorType::create(scalar_type_of(member(tensor, "dtype", where), where), std::nullopt,
                                   c10::SymbolicShape(std::move(sizes)), c10::VaryingShape<c10::Stride>(),
                                   std::nullopt);
  }

  c10::ShapeSymbol symbol_of(const Json& size, const std::string& where) {
    const std::optional<Expression> expression = parse_expression(text_of(size, "expr_str", where));
    if (!expression || expression->kind != Expression::Kind::symbol) return c10::ShapeSymbol::newSymbol();
    return symbols_.try_emplace(expression->symbol, c10::ShapeSymbol::newSymbol()).first->second;
  }

  void add_guards(const Json& graph) {
    builder_.set_where("the sizes of the arguments");
    SizeGuards guards(builder_, entries_of(program_, "range_constraints", "the program"));
    for (const auto& [input, sizes] : tensor_inputs_) {
      for (std::size_t i = 0; i < sizes->size(); ++i) {
        guards.add(
            "size " + std::to_string(i) + " of '" + input->debugName() + "'", (*sizes)[i],
            [&, tensor = input] {
              return builder_.call("aten::size", {tensor, builder_.constant(static_cast<std::int64_t>(i))});
            });
      }
    }
    for (const auto& [input, name] : int_inputs_) {
      const Json& sizes = entries_of(graph, "sym_int_values", "the graph");
      guards.add("the argument '" + name + "'", member(sizes, name.c_str(), "the list of integers"),
                 [value = input] { return value; });
    }
    guards.finish();
  }

  void define(const std::string& name, Value* value) {
    if (!scope_.emplace(name, value).second)
      malformed("the signature", "has two inputs named '" + name + "'");
  }

  Value* tuple(const std::vector<Value*>& values) {
    return made_.graph->insertNode(made_.graph->createTuple(values))->output();
  }

  void read_specs(const Json& module) {
    const Json& calls = items_of(module, "module_call_graph", "the graph module");
    if (calls.empty() || !calls[0].is_object() || !calls[0].contains("signature") ||
        !calls[0]["signature"].is_object())
      return;
    made_.in_spec = text_of(calls[0]["signature"], "in_spec", "the call's signature");
    made_.out_spec = text_of(calls[0]["signature"], "out_spec", "the call's signature");
  }

  const Json& program_;
  const Tensors& tensors_;
  ExportedProgram made_;
  Builder builder_{*made_.graph};
  Scope scope_;
  Scope buffers_;             // by the program's names of them
  Mutations::Names guarded_;  // what the graph may not write
  std::vector<c10::Argument> arguments_;
  std::unordered_map<std::string, c10::ShapeSymbol> symbols_;  // by name
  std::vector<std::pair<Value*, const Json*>> tensor_inputs_;
  std::vector<std::pair<Value*, std::string>> int_inputs_;
};

}  // namespace detail

// The graph shares the tensors. Throws LoadError if the program is damaged, and UnsupportedOpError for parts
// that sr cannot run.
inline ExportedProgram import_program(std::string_view json, const Tensors& tensors) {
  const Json parsed = parse_json(json, "the program");
  try {
    return detail::Importer(parsed, tensors).import();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw LoadError(std::string("The exported program does not make a graph: ") + error.what());
  }
}

}  // namespace sr::exported

// Operator schemas, parsed at compile time: "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)
// -> Tensor". The grammar is the one of LibTorch's native_functions.yaml. A plain constexpr function fills a
// fixed-size value; a mistake in a literal calls a function that is not constexpr, so that the compiler
// prints its sentence.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace sr {

enum class ArgumentKind {
  tensor,
  optional_tensor,
  tensor_list,
  integer,
  optional_integer,
  integer_list,
  optional_integer_list,
  floating,
  optional_floating,
  boolean,
  optional_boolean,
  scalar,
  optional_scalar,
  string,
  optional_string,
  dtype,
  optional_dtype,
  other,
};

struct SchemaArgument {
  ArgumentKind kind = ArgumentKind::other;
  std::string_view type;  // without alias annotation: "Tensor", "int[]?"
  std::string_view name;
  bool keyword_only = false;
  bool has_default = false;
  bool is_written = false;  // annotated (a!)
};

inline constexpr std::size_t kMaxSchemaArguments = 32;

struct Schema {
  std::string_view key;  // "aten::add.Tensor": what the registry is keyed on
  std::array<SchemaArgument, kMaxSchemaArguments> arguments{};
  std::size_t argument_count = 0;
  std::size_t return_count = 0;
  std::size_t tensor_return_count = 0;
};

namespace detail {

// Not constexpr on purpose: reaching it while a schema literal is parsed is a compile error that shows the
// message.
inline void schema_error(const char* /*message*/) {}

constexpr std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

constexpr ArgumentKind kind_of(std::string_view type) {
  if (type == "Tensor") return ArgumentKind::tensor;
  if (type == "Tensor?") return ArgumentKind::optional_tensor;
  if (type == "Tensor[]") return ArgumentKind::tensor_list;
  if (type == "int" || type == "SymInt") return ArgumentKind::integer;
  if (type == "int?" || type == "SymInt?") return ArgumentKind::optional_integer;
  if (type.starts_with("int[") || type.starts_with("SymInt[")) {
    return type.ends_with("?") ? ArgumentKind::optional_integer_list : ArgumentKind::integer_list;
  }
  if (type == "float") return ArgumentKind::floating;
  if (type == "float?") return ArgumentKind::optional_floating;
  if (type == "bool") return ArgumentKind::boolean;
  if (type == "bool?") return ArgumentKind::optional_boolean;
  if (type == "Scalar") return ArgumentKind::scalar;
  if (type == "Scalar?") return ArgumentKind::optional_scalar;
  if (type == "str") return ArgumentKind::string;
  if (type == "str?") return ArgumentKind::optional_string;
  if (type == "ScalarType") return ArgumentKind::dtype;
  if (type == "ScalarType?") return ArgumentKind::optional_dtype;
  return ArgumentKind::other;
}

// Position after the bracket that closes the one at `open`.
constexpr std::size_t after_closing(std::string_view text, std::size_t open) {
  std::size_t depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[') ++depth;
    if (text[i] == ')' || text[i] == ']') {
      if (--depth == 0) return i + 1;
    }
  }
  schema_error("a bracket in the schema is never closed");
  return text.size();
}

// Calls visit(part) for each comma-separated part of `text` at bracket depth 0.
template <class Visit>
constexpr void for_each_part(std::string_view text, Visit visit) {
  std::size_t start = 0;
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[') ++depth;
    if (text[i] == ')' || text[i] == ']') --depth;
    if (text[i] == ',' && depth == 0) {
      visit(trim(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  if (!trim(text).empty()) visit(trim(text.substr(start)));
}

constexpr SchemaArgument parse_argument(std::string_view text) {
  SchemaArgument argument;
  const std::size_t equals = text.find('=');
  argument.has_default = equals != std::string_view::npos;
  const std::string_view declared = trim(text.substr(0, equals));
  const std::size_t space = declared.rfind(' ');
  if (space == std::string_view::npos) {
    schema_error("an argument in the schema has a type but no name");
    return argument;
  }
  argument.name = declared.substr(space + 1);
  argument.type = trim(declared.substr(0, space));
  if (const std::size_t annotation = argument.type.find('('); annotation != std::string_view::npos) {
    const std::size_t end = after_closing(argument.type, annotation);
    argument.is_written =
        argument.type.substr(annotation, end - annotation).find('!') != std::string_view::npos;
    // "Tensor(a)" is a Tensor; lists of annotated tensors keep their spelling and are passed as they are.
    if (end == argument.type.size()) argument.type = argument.type.substr(0, annotation);
  }
  argument.kind = kind_of(argument.type);
  return argument;
}

}  // namespace detail

constexpr Schema parse_schema(std::string_view text) {
  Schema schema;
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos) {
    detail::schema_error("the schema has no argument list: expected 'namespace::name(arguments) -> returns'");
    return schema;
  }
  schema.key = detail::trim(text.substr(0, open));
  if (schema.key.find("::") == std::string_view::npos) {
    detail::schema_error("the operator name has no namespace: expected 'namespace::name'");
  }
  const std::size_t close = detail::after_closing(text, open);
  bool keyword_only = false;
  detail::for_each_part(text.substr(open + 1, close - open - 2), [&](std::string_view part) {
    if (part == "*") {
      keyword_only = true;
      return;
    }
    if (schema.argument_count == kMaxSchemaArguments) {
      detail::schema_error("the schema has more than 32 arguments");
      return;
    }
    SchemaArgument argument = detail::parse_argument(part);
    argument.keyword_only = keyword_only;
    for (std::size_t i = 0; i < schema.argument_count; ++i) {
      if (schema.arguments[i].name == argument.name) {
        detail::schema_error("two arguments of the schema have the same name");
      }
    }
    schema.arguments[schema.argument_count++] = argument;
  });

  const std::size_t arrow = text.find("->", close);
  if (arrow == std::string_view::npos) {
    detail::schema_error("the schema has no '->' after its argument list");
    return schema;
  }
  std::string_view returns = detail::trim(text.substr(arrow + 2));
  if (returns.starts_with('(') && returns.ends_with(')')) returns = returns.substr(1, returns.size() - 2);
  detail::for_each_part(returns, [&](std::string_view part) {
    ++schema.return_count;
    const bool is_list = part.find('[') != std::string_view::npos;
    if (part.starts_with("Tensor") && !is_list && !part.ends_with("?")) ++schema.tensor_return_count;
  });
  return schema;
}

}  // namespace sr

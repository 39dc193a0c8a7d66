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
  complex,
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
  std::string_view type;  // as written: "Tensor(a!)", "int[2]?"
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
  std::size_t alias_return_count = 0;  // tensors annotated (a), which may be an argument or a view of one
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

constexpr bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

constexpr bool is_word(std::string_view text) {
  for (const char c : text) {
    if (!is_word_character(c)) return false;
  }
  return !text.empty();
}

// Position after the string or the bracket that opens at `start`, or after the one character there.
constexpr std::size_t after_item(std::string_view text, std::size_t start) {
  const char first = text[start];
  if (first == '\'' || first == '"') {
    for (std::size_t i = start + 1; i < text.size(); ++i) {
      if (text[i] == first) return i + 1;
      if (text[i] == '\\') ++i;
    }
    schema_error("a string in the schema is never closed");
    return text.size();
  }
  if (first == '(' || first == '[') {
    const char closing = first == '(' ? ')' : ']';
    for (std::size_t i = start + 1; i < text.size(); i = after_item(text, i)) {
      if (text[i] == closing) return i + 1;
    }
    schema_error("a bracket in the schema is never closed");
    return text.size();
  }
  if (first == ')' || first == ']') schema_error("a closing bracket in the schema matches no opening one");
  return start + 1;
}

// Position of the first `wanted` outside strings and brackets, npos when there is none.
constexpr std::size_t find_outside(std::string_view text, char wanted) {
  for (std::size_t i = 0; i < text.size(); i = after_item(text, i)) {
    if (text[i] == wanted) return i;
  }
  return std::string_view::npos;
}

// Calls visit(part) for each comma-separated part of `text`.
template <class Visit>
constexpr void for_each_part(std::string_view text, Visit visit) {
  if (trim(text).empty()) return;
  for (std::size_t comma = find_outside(text, ','); comma != std::string_view::npos;
       comma = find_outside(text, ',')) {
    visit(trim(text.substr(0, comma)));
    text.remove_prefix(comma + 1);
  }
  visit(trim(text));
}

enum class Form { single, optional, list, optional_list, other };

// What stands after the name of a type: "", "?", "[]", "[2]", "[]?", with alias annotations anywhere.
constexpr Form form_of(std::string_view suffix) {
  bool list = false;
  bool optional = false;
  for (std::size_t i = 0; i < suffix.size(); i = after_item(suffix, i)) {
    const char c = suffix[i];
    if (c == '(') continue;
    if (optional || (c != '?' && (c != '[' || list))) return Form::other;
    (c == '?' ? optional : list) = true;
  }
  return list ? (optional ? Form::optional_list : Form::list) : (optional ? Form::optional : Form::single);
}

constexpr ArgumentKind kind_of(std::string_view type) {
  std::size_t length = 0;
  while (length < type.size() && is_word_character(type[length])) ++length;
  const std::string_view base = type.substr(0, length);
  const Form form = form_of(type.substr(length));
  const auto choose = [form](ArgumentKind single, ArgumentKind optional) {
    return form == Form::single ? single : form == Form::optional ? optional : ArgumentKind::other;
  };
  if (base == "Tensor") {
    if (form == Form::list) return ArgumentKind::tensor_list;
    return choose(ArgumentKind::tensor, ArgumentKind::optional_tensor);
  }
  if (base == "int" || base == "SymInt") {
    if (form == Form::list) return ArgumentKind::integer_list;
    if (form == Form::optional_list) return ArgumentKind::optional_integer_list;
    return choose(ArgumentKind::integer, ArgumentKind::optional_integer);
  }
  if (base == "float") return choose(ArgumentKind::floating, ArgumentKind::optional_floating);
  if (base == "bool") return choose(ArgumentKind::boolean, ArgumentKind::optional_boolean);
  if (base == "complex") return choose(ArgumentKind::complex, ArgumentKind::other);
  if (base == "Scalar") return choose(ArgumentKind::scalar, ArgumentKind::optional_scalar);
  if (base == "str") return choose(ArgumentKind::string, ArgumentKind::optional_string);
  if (base == "ScalarType") return choose(ArgumentKind::dtype, ArgumentKind::optional_dtype);
  return ArgumentKind::other;
}

constexpr SchemaArgument parse_argument(std::string_view text) {
  SchemaArgument argument;
  if (text.empty()) {
    schema_error("an argument in the schema is empty: a comma too many");
    return argument;
  }
  if (text == "...") {
    schema_error("a schema with '...' has no fixed arguments: register the op as NodeOp");
    return argument;
  }
  const std::size_t equals = find_outside(text, '=');
  argument.has_default = equals != std::string_view::npos;
  if (argument.has_default && trim(text.substr(equals + 1)).empty()) {
    schema_error("an argument in the schema has '=' but no default after it");
  }
  const std::string_view declared = trim(text.substr(0, equals));
  const std::size_t space = find_outside(declared, ' ');
  if (space == std::string_view::npos) {
    schema_error("an argument in the schema has a type but no name");
    return argument;
  }
  argument.type = declared.substr(0, space);
  argument.name = trim(declared.substr(space));
  if (!is_word(argument.name))
    schema_error("an argument in the schema is not 'type name' or 'type name=default'");
  argument.is_written = argument.type.find('!') != std::string_view::npos;
  argument.kind = kind_of(argument.type);
  return argument;
}

constexpr void parse_arguments(std::string_view text, Schema& schema) {
  bool keyword_only = false;
  for_each_part(text, [&](std::string_view part) {
    if (part == "*") {
      if (keyword_only) schema_error("the schema has '*' twice");
      keyword_only = true;
      return;
    }
    if (schema.argument_count == kMaxSchemaArguments) {
      schema_error("the schema has more than 32 arguments");
      return;
    }
    SchemaArgument argument = parse_argument(part);
    argument.keyword_only = keyword_only;
    for (std::size_t i = 0; i < schema.argument_count; ++i) {
      if (schema.arguments[i].name == argument.name) {
        schema_error("two arguments of the schema have the same name");
      }
    }
    schema.arguments[schema.argument_count++] = argument;
  });
}

constexpr void parse_returns(std::string_view text, Schema& schema) {
  if (text.empty()) {
    schema_error("the schema has nothing after '->': an op that returns nothing has '-> ()'");
    return;
  }
  if (text.front() == '(' && after_item(text, 0) == text.size()) {
    text = text.substr(1, text.size() - 2);
  } else if (find_outside(text, ',') != std::string_view::npos) {
    schema_error("several returns of a schema stand in brackets: '-> (Tensor, Tensor)'");
  }
  for_each_part(text, [&](std::string_view part) {
    if (part.empty()) schema_error("a return in the schema is empty: a comma too many");
    const std::string_view type = part.substr(0, find_outside(part, ' '));
    ++schema.return_count;
    if (kind_of(type) != ArgumentKind::tensor) return;
    ++schema.tensor_return_count;
    if (type != "Tensor") ++schema.alias_return_count;
  });
}

// "namespace::name" or "namespace::name.overload".
constexpr bool is_key(std::string_view key) {
  const std::size_t colons = key.find("::");
  if (colons == std::string_view::npos || !is_word(key.substr(0, colons))) return false;
  const std::string_view name = key.substr(colons + 2);
  const std::size_t dot = name.find('.');
  return is_word(name.substr(0, dot)) && (dot == std::string_view::npos || is_word(name.substr(dot + 1)));
}

constexpr void check_key(std::string_view key) {
  if (key.find("::") == std::string_view::npos) {
    schema_error("the operator name has no namespace: expected 'namespace::name'");
  } else if (!is_key(key)) {
    schema_error("the operator name is not 'namespace::name' or 'namespace::name.overload'");
  }
}

}  // namespace detail

// Ends the compilation with a sentence when `text` is no schema; at run time the parts that were understood
// are filled.
constexpr Schema parse_schema(std::string_view text) {
  Schema schema;
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos || text.find("->") < open) {
    detail::schema_error("the schema has no argument list: expected 'namespace::name(arguments) -> returns'");
    return schema;
  }
  schema.key = detail::trim(text.substr(0, open));
  detail::check_key(schema.key);
  const std::size_t close = detail::after_item(text, open);
  detail::parse_arguments(text.substr(open + 1, close - open - 2), schema);
  const std::string_view rest = detail::trim(text.substr(close));
  if (!rest.starts_with("->")) {
    detail::schema_error("the schema has no '->' after its argument list");
    return schema;
  }
  detail::parse_returns(detail::trim(rest.substr(2)), schema);
  return schema;
}

}  // namespace sr

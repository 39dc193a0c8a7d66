#include "signature_specs.hpp"

#include <optional>

#include <ATen/core/jit_type.h>
#include <c10/core/ScalarType.h>

#include <sr/frontend/pickle/scalar_type_names.hpp>

namespace sr::tool {
namespace {

std::optional<std::string> spec_of(const c10::Argument& argument, std::int64_t open) {
  const auto type = argument.type()->cast<c10::TensorType>();
  const auto sizes = type != nullptr ? type->symbolic_sizes().sizes() : std::nullopt;
  if (!sizes || !type->scalarType()) return std::nullopt;
  const auto* const name = detail::find_scalar_type(&detail::ScalarTypeName::type, *type->scalarType());
  if (name == nullptr || name->spec.empty()) return std::nullopt;
  std::string spec(name->spec);
  for (std::size_t i = 0; i < sizes->size(); ++i) {
    const c10::ShapeSymbol& size = (*sizes)[i];
    spec += (i == 0 ? "[" : ",") + std::to_string(size.is_static() ? size.static_size() : open);
  }
  spec += sizes->empty() ? "[]" : "]";
  if (c10::isIntegralType(*type->scalarType(), /*includeBool=*/false)) spec += ":0..1";
  return spec;
}

}  // namespace

std::vector<std::string> specs_of(const c10::FunctionSchema& schema, std::int64_t open) {
  std::vector<std::string> specs;
  for (const c10::Argument& argument : schema.arguments()) {
    if (argument.default_value()) break;
    const std::optional<std::string> spec = spec_of(argument, open);
    if (!spec) return {};
    specs.push_back(*spec);
  }
  return specs;
}

}  // namespace sr::tool

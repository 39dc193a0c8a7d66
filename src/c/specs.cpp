// Descriptions of arguments and results.
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "handles.hpp"

namespace sr::c {

Specs::Specs(std::vector<ValueSpec> of) : of_(std::move(of)), sizes_(of_.size()) {
  all_.reserve(of_.size());
  for (std::size_t i = 0; i < of_.size(); ++i) {
    const ValueSpec& spec = of_[i];
    sr_spec& made = all_.emplace_back();
    made = {spec.name.c_str(), spec.type.c_str(), 0, {}, -1, nullptr, nullptr, spec.default_value ? 1 : 0};
    if (const auto dtype = spec.dtype ? dlpack_dtype(*spec.dtype) : std::nullopt) {
      made.has_dtype = 1;
      made.dtype = *dtype;
    }
    if (!spec.sizes) continue;
    for (const SizeSpec& size : *spec.sizes) {
      const auto* const name = std::get_if<std::string>(&size);
      sizes_[i].numbers.push_back(name != nullptr ? -1 : std::get<std::int64_t>(size));
      sizes_[i].names.push_back(name != nullptr ? name->c_str() : "");
    }
    made.ndim = static_cast<std::int32_t>(spec.sizes->size());
    made.sizes = sizes_[i].numbers.data();
    made.size_names = sizes_[i].names.data();
  }
}

}  // namespace sr::c

namespace {

using sr::c::Specs;

const sr_spec* specs_of(const sr_module* module, Specs sr_module::*which, size_t* count) {
  if (count != nullptr) *count = module == nullptr ? 0 : (module->*which).all().size();
  if (module != nullptr) return (module->*which).all().data();
  sr::c::fail(SR_ARGUMENT, "The parameter `module` is null.");
  return nullptr;
}

}  // namespace

const sr_spec* sr_module_inputs(const sr_module* module, size_t* count) {
  return specs_of(module, &sr_module::inputs, count);
}
const sr_spec* sr_module_outputs(const sr_module* module, size_t* count) {
  return specs_of(module, &sr_module::outputs, count);
}

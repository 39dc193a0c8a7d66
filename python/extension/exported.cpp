#include "exported.hpp"

#include <memory>
#include <pybind11/stl.h>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <torch/csrc/jit/python/pybind_utils.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <sr/exported.hpp>
#include <sr/frontend/archive/mapped_file.hpp>

#include "prepared.hpp"
#include "running.hpp"

namespace py = pybind11;

namespace sr::python {

namespace {

// A pickled program: its JSON and its tensors.
struct Source {
  std::string json;
  exported::Tensors tensors;
};

struct PreparedProgram {
  std::shared_ptr<Prepared> prepared;
  exported::ExportedProgram program;
};

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string saved(const Source& source) {
  c10::Dict<std::string, at::Tensor> tensors;
  for (const auto& [name, tensor] : source.tensors) tensors.insert(name, tensor.detach());
  const std::vector<char> bytes =
      torch::jit::pickle_save(c10::ivalue::Tuple::create(source.json, std::move(tensors)));
  return {bytes.begin(), bytes.end()};
}

Source restored(const std::string& bytes) {
  const c10::IValue value = torch::jit::pickle_load({bytes.begin(), bytes.end()});
  const auto& elements = value.toTupleRef().elements();
  Source source{elements.at(0).toStringRef(), {}};
  for (const auto& entry : elements.at(1).toGenericDict()) {
    source.tensors.emplace(entry.key().toStringRef(), entry.value().toTensor());
  }
  return source;
}

// Makes the StaticModule, from tensors that Python also holds or from copies.
using MakeModule = StaticModule (*)(const torch::jit::Module& module, const StaticModuleOptions& options);

StaticModule share_module(const torch::jit::Module& module, const StaticModuleOptions& options) {
  return StaticModule(module, options);
}

PreparedProgram prepare(Source source, const StaticModuleOptions& options, MakeModule make) {
  exported::ExportedProgram program = exported::import_program(source.json, source.tensors);
  StaticModule module = make(exported::to_module(program), options);
  const auto kept = std::make_shared<const Source>(std::move(source));
  auto as_module = [kept] {
    return exported::to_module(exported::import_program(kept->json, kept->tensors));
  };
  auto archive = [kept] { return saved(*kept); };
  return {std::make_shared<Prepared>(
              Prepared{std::move(module), std::move(as_module), std::move(archive), "exported"}),
          std::move(program)};
}

PreparedProgram prepare_archive(std::span<const std::byte> bytes, const std::string& name,
                                const StaticModuleOptions& options,
                                std::shared_ptr<const void> owner = nullptr) {
  const exported::Archive archive(bytes, name, std::move(owner));
  return prepare({std::string(archive.json()), archive.tensors()}, options, &sr::detail::take_module);
}

// The exported value of each leaf of a call's arguments: a tuple of one constant, or None if calls pass it.
py::list constants_of(const exported::ExportedProgram& program) {
  py::list all;
  for (const auto& constant : program.constants) {
    all.append(constant ? py::object(py::make_tuple(torch::jit::toPyObject(*constant)))
                        : py::object(py::none()));
  }
  return all;
}

}  // namespace

void define_exported(py::module_& module) {
  py::class_<PreparedProgram>(module, "PreparedProgram")
      .def_readonly("prepared", &PreparedProgram::prepared)
      .def_property_readonly("in_spec", [](const PreparedProgram& self) { return self.program.in_spec; })
      .def_property_readonly("out_spec", [](const PreparedProgram& self) { return self.program.out_spec; })
      .def_property_readonly("constants",
                             [](const PreparedProgram& self) { return constants_of(self.program); });
  module.def(
      "prepare_program",
      [](std::string json, exported::Tensors tensors, const StaticModuleOptions& options) {
        return without_gil([&] {
          return prepare({std::move(json), std::move(tensors)}, options, &share_module);
        });
      },
      py::arg("json"), py::arg("tensors"), py::arg("options"));
  module.def(
      "prepare_exported_file",
      [](const std::string& path, const StaticModuleOptions& options, bool map_weights) {
        return without_gil([&] {
          if (!map_weights) return prepare_archive(bytes_of(sr::detail::read_file(path)), path, options);
          const auto file = std::make_shared<const sr::detail::MappedFile>(path);
          return prepare_archive(file->bytes(), path, options, file);
        });
      },
      py::arg("path"), py::arg("options"), py::kw_only(), py::arg("map_weights"));
  module.def(
      "prepare_exported_bytes",
      [](const std::string& bytes, const StaticModuleOptions& options) {
        return without_gil([&] { return prepare_archive(bytes_of(bytes), "the bytes", options); });
      },
      py::arg("bytes"), py::arg("options"));
  module.def(
      "prepare_pickled_program",
      [](const std::string& bytes, const StaticModuleOptions& options) {
        return without_gil([&] { return prepare(restored(bytes), options, &sr::detail::take_module); });
      },
      py::arg("bytes"), py::arg("options"));
}

}  // namespace sr::python

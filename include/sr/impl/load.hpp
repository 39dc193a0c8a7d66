// Definitions of <sr/load.hpp>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <istream>
#include <memory>
#include <new>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <sr/base/error.hpp>
#include <sr/frontend/archive/archive_bytes.hpp>
#include <sr/frontend/archive/archive_check.hpp>
#include <sr/frontend/archive/mapped_file.hpp>
#include <sr/frontend/archive/mapped_weights.hpp>
#include <sr/frontend/archive/user_sources.hpp>
#include <sr/frontend/front_end.hpp>
#include <sr/frontend/loaded_graph.hpp>
#include <sr/frontend/spillable_weights.hpp>
#include <sr/load.hpp>
#include <sr/static_module.hpp>

namespace sr {

namespace detail {

inline torch::jit::Module parse_exported(std::span<const std::byte> archive, const std::string& name,
                                         std::shared_ptr<const void> owner = nullptr) {
  if (const ExportedFrontEnd front_end = exported_front_end())
    return front_end(archive, name, std::move(owner));
  throw LoadError(
      "The file '" + name +
      "' was written by torch.export.save, and this sr was built without nlohmann_json, which reads it. "
      "Install nlohmann_json 3 and build sr again, or include <sr/exported.hpp> in one source file of a "
      "program that is built with SR_HEADER_ONLY.");
}

// The archive with other names for the records that say which line of Python code is from; see
// debug_pickle.hpp.
inline std::string without_debug_records(const std::string& bytes, const std::vector<ZipRecord>& records) {
  std::string hidden = bytes;
  for (const ZipRecord& record : records) {
    if (!is_for_messages(record)) continue;
    constexpr std::uint64_t kHeader = 30;  // before the name's other copy
    const std::size_t last = record.name.size() - 1;
    hidden[static_cast<std::size_t>(record.name.data() - bytes.data()) + last] = '_';
    hidden[record.begin + kHeader + last] = '_';
  }
  return hidden;
}

SR_INLINE torch::jit::Module parse_archive(const std::string& bytes, const std::string& name) {
  const auto archive = std::as_bytes(std::span(bytes.data(), bytes.size()));
  const std::vector<ZipRecord> records = read_zip_directory(archive, name);
  if (is_exported(records)) return parse_exported(archive, name);
  check_archive(archive, name);
  std::istringstream stream(without_debug_records(bytes, records));
  const std::string refusal = name + " is an intact archive that LibTorch cannot load as TorchScript: ";
  try {
    torch::jit::Module module = torch::jit::load(stream, c10::Device(c10::kCPU));
    UserSources(records).name_in(module);
    return module;
  } catch (const c10::Error& error) {
    throw LoadError(refusal + error.what_without_backtrace());
  } catch (const std::exception& error) {
    throw LoadError(refusal + error.what());
  }
}

// The module refers to the file.
inline torch::jit::Module parse_mapped(const std::string& path) {
  const auto file = std::make_shared<const MappedFile>(path);
  const std::vector<ZipRecord> records = read_zip_directory(file->bytes(), path);
  if (is_exported(records)) return parse_exported(file->bytes(), path, file);
  const auto* const begin = reinterpret_cast<const char*>(file->bytes().data());
  torch::jit::Module module = parse_archive(std::string(begin, file->bytes().size()), path);
  MappedWeights(file, records).take(module);
  return module;
}

inline StaticModule prepare(const torch::jit::Module& module, const StaticModuleOptions& options) {
  const passes::PassSettings settings{.off = options.debug.without_passes, .watch = nullptr};
  const WeightOwner owner = weight_owner(options);
  LoadedGraph loaded = load_graph(module, "forward", settings,
                                  options.weights.updatable ? WeightOwner::caller : WeightOwner::module);
  if (!loaded.known.empty() && !options.weights.updatable)
    loaded = load_graph(module, "forward", settings, owner);
  for (WeightSource& source : loaded.weights) source.mark_as_private();
  for (StateVariable& variable : loaded.variables) variable.source.mark_as_private();
  if (options.weights.spill && !options.weights.updatable) make_weights_spillable(loaded);
  return StaticModule(std::move(loaded), options);
}

SR_INLINE StaticModule take_module(const torch::jit::Module& module, const StaticModuleOptions& options) {
  const std::string refusal = "LibTorch cannot prepare the module of the file: ";
  try {
    return prepare(module, options);
  } catch (const Error&) {
    throw;
  } catch (const c10::Error& error) {
    throw LoadError(refusal + error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw LoadError(refusal + error.what());
  }
}

}  // namespace detail

SR_INLINE torch::jit::Module load_module(std::istream& stream, const std::string& name) {
  return detail::parse_archive(detail::read_stream(stream, name), name);
}

SR_INLINE torch::jit::Module load_module(const std::string& path, WeightMemory memory) {
  if (memory == WeightMemory::mapped) return detail::parse_mapped(path);
  return detail::parse_archive(detail::read_file(path), path);
}

SR_INLINE StaticModule load(const std::string& path, const StaticModuleOptions& options) {
  return detail::take_module(load_module(path, options.weights.memory), options);
}

SR_INLINE StaticModule load(std::istream& stream, const StaticModuleOptions& options) {
  if (options.weights.memory == WeightMemory::mapped)
    throw ArgumentError("options.weights.memory is `mapped`, but a stream has no file that could be mapped.");
  return detail::take_module(load_module(stream), options);
}

}  // namespace sr

// Reads a .pt2 archive of torch.export.save without Python.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sr/frontend/archive/archive_check.hpp>
#include <sr/frontend/export/program.hpp>
#include <sr/frontend/export/tensors.hpp>

namespace sr::exported {

class Archive {
 public:
  // `bytes` and `file`, the name in errors, must outlive the archive. `owner` is that of ExportedFrontEnd.
  // Compares the checksum of every record.
  Archive(std::span<const std::byte> bytes, const std::string& file,
          std::shared_ptr<const void> owner = nullptr)
      : file_(file), owner_(std::move(owner)) {
    for (const ZipRecord& record : check_zip(bytes, file, Checksums::optional)) {
      const auto slash = record.name.find('/');
      if (slash != std::string_view::npos) records_.emplace(record.name.substr(slash + 1), record);
    }
    if (records_.contains("serialized_exported_program.json") || records_.empty()) {
      reject("was written by torch.export.save of PyTorch before 2.8: load it there and save it again");
    }
    if (records_.contains("byteorder") && text("byteorder") != "little")
      reject("was written on a big-endian machine");
  }

  // The program that torch.export.load would take, if there are several.
  std::string_view json() const { return text("models/" + model_name() + ".json"); }

  Tensors tensors() const {
    const std::string model = model_name();
    Tensors found;
    for (const std::string kind : {"weights", "constants"}) {
      const std::string folder = "data/" + kind + "/";
      read_tensors(folder, model + "_" + kind + "_config.json", found);
      // PyTorch 2.8 pickles all of a kind.
      const std::string pickled = folder + model + ".pt";
      if (records_.contains(pickled)) add_pickled_by_name(bytes(pickled), "'" + pickled + "'", found);
    }
    return found;
  }

 private:
  std::string model_name() const {
    constexpr std::string_view kFolder = "models/", kEnd = ".json";
    std::vector<std::string> names;
    for (const auto& [name, record] : records_) {
      if (name.starts_with(kFolder) && name.ends_with(kEnd) && name.size() > kFolder.size() + kEnd.size()) {
        names.emplace_back(name.substr(kFolder.size(), name.size() - kFolder.size() - kEnd.size()));
      }
    }
    if (std::ranges::find(names, "model") != names.end()) return "model";
    if (names.size() == 1) return names[0];
    reject(names.empty()
               ? "holds no exported program: it has no record 'models/model.json'"
               : "holds " + std::to_string(names.size()) + " exported programs, none of them called 'model'");
  }

  void read_tensors(const std::string& folder, const std::string& config, Tensors& tensors) const {
    if (!records_.contains(folder + config)) return;
    TensorReader reader([&](const std::string& path) { return bytes(folder + path); }, owner_, tensors);
    reader.read(parse_json(text(folder + config), "the record '" + folder + config + "'"),
                "'" + config + "'");
  }

  std::span<const std::byte> bytes(const std::string& name) const {
    const auto found = records_.find(name);
    if (found == records_.end()) reject("is damaged: it has no record '" + name + "'");
    if (found->second.deflated)
      reject("was packed again by another program: its record '" + name + "' is compressed");
    return found->second.stored;
  }

  std::string_view text(const std::string& name) const {
    const std::span<const std::byte> found = bytes(name);
    return {reinterpret_cast<const char*>(found.data()), found.size()};
  }

  [[noreturn]] void reject(const std::string& why) const {
    throw LoadError("The file '" + file_ + "' " + why + ".");
  }

  const std::string& file_;
  std::shared_ptr<const void> owner_;
  std::map<std::string, ZipRecord, std::less<>> records_;
};

}  // namespace sr::exported

// Checks a whole archive before LibTorch parses it: LibTorch is built without checksum tests, and treats a
// damaged file as an internal error. A file that passes check_archive is well formed; only a deliberate
// author can still make it wrong.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <c10/core/ScalarType.h>

#include <sr/base/error.hpp>
#include <sr/frontend/archive/code_outline.hpp>
#include <sr/frontend/archive/crc32.hpp>
#include <sr/frontend/archive/pickle_outline.hpp>
#include <sr/frontend/archive/zip_directory.hpp>

// From miniz, which LibTorch contains and exports; its header is not shipped. Inflates piecewise, with 32 KB
// of memory, until `put` returns 0. Sets `*size` to the bytes read; returns 0 if the stream is damaged or
// `put` refused.
extern "C" int tinfl_decompress_mem_to_callback(const void* data, std::size_t* size,
                                                int (*put)(const void* piece, int size, void* user),
                                                void* user, int flags);

namespace sr {
namespace detail {

struct Inflation {
  std::uint64_t size = 0, limit = 0;
  std::uint32_t checksum = 0;
};

inline int add_inflated(const void* piece, int size, void* user) {
  auto& inflation = *static_cast<Inflation*>(user);
  const auto count = static_cast<std::size_t>(size);
  if (count > inflation.limit - inflation.size) return 0;
  inflation.checksum = crc32({static_cast<const std::byte*>(piece), count}, inflation.checksum);
  inflation.size += count;
  return 1;
}

[[noreturn]] inline void reject_record(const std::string& file, std::string_view record,
                                       const std::string& what) {
  throw LoadError("The file '" + file + "' is damaged: its record '" + std::string(record) + "' " + what +
                  "; copy, download or save it again.");
}

// LibTorch inflates every record into memory, so a small file must not declare a large record.
inline void check_inflated_sizes(const std::vector<ZipRecord>& records, std::uint64_t file_size,
                                 const std::string& file) {
  constexpr std::uint64_t deflate_limit = 1032;  // no stream of deflate grows by more
  constexpr std::uint64_t free_size = 64 << 20, file_limit = 100;
  std::uint64_t left = free_size + file_limit * file_size;
  for (const ZipRecord& record : records) {
    if (!record.deflated) continue;
    if (record.size / deflate_limit > record.stored.size()) {
      reject_record(file, record.name,
                    "has " + std::to_string(record.stored.size()) + " bytes and claims to inflate to " +
                        std::to_string(record.size) + ", more than deflate can do");
    }
    if (record.size > left) {
      throw LoadError("The file '" + file +
                      "' is refused: its compressed records inflate to more than 64 MB and " +
                      std::to_string(file_limit) + " times its size, as those of a zip bomb do.");
    }
    left -= record.size;
  }
}

inline void check_record(const ZipRecord& record, const std::string& file) {
  std::uint32_t actual = 0;
  if (record.deflated) {
    Inflation inflation{.limit = record.size};
    std::size_t read = record.stored.size();
    const int done =
        tinfl_decompress_mem_to_callback(record.stored.data(), &read, add_inflated, &inflation, 0);
    if (done == 0 || inflation.size != record.size || read != record.stored.size()) {
      reject_record(file, record.name,
                    "does not inflate to the " + std::to_string(record.size) + " bytes declared");
    }
    actual = inflation.checksum;
  } else {
    actual = crc32(record.stored);
  }
  if (actual == record.checksum) return;
  std::array<char, 64> numbers{};
  std::snprintf(numbers.data(), numbers.size(), "its CRC-32 is %08x, not %08x", unsigned{actual},
                unsigned{record.checksum});
  reject_record(file, record.name,
                std::string("does not have the bytes it was written with (") + numbers.data() + ")");
}

}  // namespace detail

// torch.save can leave checksums out (torch.serialization.set_crc32_options); torch.jit.save cannot.
enum class Checksums { required, optional };

// Checks any zip archive: directory, headers, and the checksum of every record. `file` is the name in errors.
inline std::vector<ZipRecord> check_zip(std::span<const std::byte> bytes, const std::string& file,
                                        Checksums checksums = Checksums::required) {
  std::vector<ZipRecord> records = read_zip_directory(bytes, file);
  if (records.empty()) throw LoadError("The file '" + file + "' is a zip archive without any records.");
  detail::check_inflated_sizes(records, bytes.size(), file);
  const bool left_out =
      std::ranges::all_of(records, [](const ZipRecord& record) { return record.checksum == 0; });
  if (left_out && checksums == Checksums::optional) return records;
  for (const ZipRecord& record : records) detail::check_record(record, file);
  return records;
}

// True if torch.export.save wrote these records.
inline bool is_exported(const std::vector<ZipRecord>& records) {
  return std::ranges::any_of(records, [](const ZipRecord& record) {
    const std::string_view below = record.name.substr(record.name.find('/') + 1);  // all of it in no folder
    return below.starts_with("models/") || below == "serialized_exported_program.json";
  });
}

namespace detail {

inline int append_inflated(const void* piece, int size, void* user) {
  static_cast<std::string*>(user)->append(static_cast<const char*>(piece), static_cast<std::size_t>(size));
  return 1;
}

// The bytes of a record that check_record has passed; `inflated` keeps them if they are compressed.
inline std::string_view bytes_of(const ZipRecord& record, std::string& inflated) {
  if (!record.deflated) return {reinterpret_cast<const char*>(record.stored.data()), record.stored.size()};
  inflated.clear();
  std::size_t read = record.stored.size();
  tinfl_decompress_mem_to_callback(record.stored.data(), &read, append_inflated, &inflated, 0);
  return inflated;
}

// Bytes of an element of the storages of that class, such as FloatStorage; 0 if LibTorch knows none.
inline std::uint64_t element_size_of(std::string_view storage_class) {
  constexpr std::string_view kEnd = "Storage";
  if (!storage_class.ends_with(kEnd)) return 0;
  storage_class.remove_suffix(kEnd.size());
  for (int i = 0; i < static_cast<int>(c10::ScalarType::NumOptions); ++i) {
    const auto type = static_cast<c10::ScalarType>(i);
    if (type != c10::ScalarType::Undefined && storage_class == c10::toString(type))
      return c10::elementSize(type);
  }
  return 0;
}

// True if the record of each storage is as large as the pickle says: LibTorch takes its word.
inline bool holds_storages(const std::vector<PickleOutline::Storage>& storages, const std::string& folder,
                           const std::unordered_map<std::string_view, const ZipRecord*>& records) {
  return std::ranges::all_of(storages, [&](const PickleOutline::Storage& storage) {
    const std::uint64_t size = element_size_of(storage.type);
    if (storage.count == 0) return size != 0;
    const auto found = records.find(folder + std::string(storage.record));
    return size != 0 && storage.count > 0 && found != records.end() &&
           static_cast<std::uint64_t>(storage.count) <= found->second->size / size;
  });
}

// LibTorch finds records whatever the case of their names is.
inline bool is_named(const ZipRecord& record, std::string_view ending) {
  const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
  return record.name.size() >= ending.size() &&
         std::ranges::equal(record.name.substr(record.name.size() - ending.size()), ending, same);
}

// True if LibTorch reads the record only to show in messages where the code is from.
inline bool is_for_messages(const ZipRecord& record) {
  return is_named(record, ".debug_pkl");
}

// Rejects pickles and code that LibTorch cannot read without exhausting the stack, reading other memory or
// taking hours.
inline void check_contents(const std::vector<ZipRecord>& records, const std::string& file) {
  constexpr std::uint32_t kDeepest = 500;
  std::unordered_map<std::string_view, const ZipRecord*> by_name;
  for (const ZipRecord& record : records) by_name.emplace(record.name, &record);
  std::string inflated;
  for (const ZipRecord& record : records) {
    std::string_view problem;
    if (is_named(record, ".pkl")) {
      PickleOutline pickle(bytes_of(record, inflated));
      problem = pickle.problem(kDeepest, PickleOutline::kMaxTuples);
      // Arguments of a trace (traced_inputs.pkl) have records elsewhere, and are not read.
      const bool is_read = is_named(record, "/data.pkl") || is_named(record, "/constants.pkl");
      const std::string folder(record.name.substr(0, record.name.rfind('.')));
      if (problem.empty() && is_read && !holds_storages(pickle.storages(), folder + '/', by_name))
        problem = "asks for a storage that the file does not hold";
    } else if (is_named(record, ".py")) {
      const CodeOutline code(bytes_of(record, inflated));
      if (code.depth() > kDeepest) problem = "nests code too deep";
      if (code.tuple_depth() > PickleOutline::kMaxTuples) problem = PickleOutline::kTuplesTooDeep;
      if (code.has_empty_subscript()) problem = "has brackets without an index or a type";
      if (!code.enumerations_have_values()) problem = "has an enumeration whose names have no values";
    }
    if (problem.empty()) continue;
    throw LoadError("The file '" + file + "' is refused: its record '" + std::string(record.name) + "' " +
                    std::string(problem) + ". torch.jit.save does not write such records.");
  }
}

}  // namespace detail

// Checks an archive of torch.jit.save: check_zip, and the records that such a module has.
inline void check_archive(std::span<const std::byte> bytes, const std::string& file) {
  const std::vector<ZipRecord> records = check_zip(bytes, file);
  const std::string_view first = records.front().name;  // LibTorch takes the root from the first record
  const auto slash = first.find('/');
  if (slash == std::string_view::npos) {
    throw LoadError("The file '" + file + "' is a zip archive, but not one of PyTorch: its record '" +
                    std::string(first) + "' is in no folder.");
  }
  const std::string root(first.substr(0, slash + 1));
  const auto has = [&](std::string_view name) {
    return std::ranges::find(records, root + std::string(name), &ZipRecord::name) != records.end();
  };
  const auto has_below = [&](std::string_view folder) {
    const std::string start = root + std::string(folder);
    return std::ranges::any_of(records,
                               [&](const ZipRecord& record) { return record.name.starts_with(start); });
  };
  const bool versioned = has("version") || has(".data/version");  // LibTorch writes one or the other
  if (has("data.pkl") && has("constants.pkl") && versioned) return detail::check_contents(records, file);
  const std::string begin = "The file '" + file + "' ";
  if (is_exported(records)) {
    throw LoadError(
        begin + "was written by torch.export.save, not by torch.jit.save: it holds no TorchScript module.");
  }
  if (has("data.pkl") && versioned && !has_below("code/")) {
    throw LoadError(
        begin +
        "was written by torch.save, not by torch.export.save or torch.jit.save: it holds weights or "
        "other values but no code. Load them into the model in Python, with load_state_dict, and "
        "write the model with torch.export.save.");
  }
  if (has_below("data/aotinductor/")) {
    throw LoadError(
        begin +
        "is a package of AOTInductor, which holds compiled code without the program that it was made "
        "of. Write that program with torch.export.save.");
  }
  if (has("model.json")) {
    throw LoadError(
        begin +
        "was written by PyTorch 1.3 or older: load it with a PyTorch that reads it and save it again.");
  }
  for (const std::string_view name : {"version", "data.pkl", "constants.pkl"}) {
    if (has(name) || (versioned && name == "version")) continue;
    throw LoadError(begin + "is not a TorchScript module: it has no record '" + root + std::string(name) +
                    "'; torch.jit.save writes files with one.");
  }
}

}  // namespace sr

// Reads the tensors of a .pt2 archive: raw bytes, and a record that describes each tensor's layout in them.
// Every extent is compared with the number of bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <ATen/ATen.h>

#include <sr/frontend/export/enums.hpp>
#include <sr/frontend/export/pickled_tensors.hpp>
#include <sr/frontend/export/program.hpp>

namespace sr::exported {

// Adds the tensors that `config` lists to `tensors`. `record` returns the bytes of a path. If `owner`
// is null, the tensors are copies. Otherwise they lie in those bytes, and each of them holds `owner`.
class TensorReader {
 public:
  using Record = std::function<std::span<const std::byte>(const std::string&)>;

  TensorReader(Record record, std::shared_ptr<const void> owner, Tensors& tensors)
      : record_(std::move(record)), owner_(std::move(owner)), tensors_(tensors) {}

  void read(const Json& config, const std::string& file) {
    flat_.clear();
    for (const auto& [name, payload] : entries_of(config, "config", file).items()) {
      const std::string where = "the tensor '" + name + "' of " + file;
      const Json& meta = member(payload, "tensor_meta", where);
      const bool is_pickled = as_bool(member(payload, "use_pickle", where), where);
      if (meta.is_null()) continue;  // no tensor; a program that reads it is told that it has no values
      if (is_pickled) {
        add_pickled(name, record_(text_of(payload, "path_name", where)), where, tensors_);
        continue;
      }
      tensors_.insert_or_assign(name, view(meta, text_of(payload, "path_name", where), where));
    }
  }

 private:
  at::Tensor view(const Json& meta, const std::string& path, const std::string& where) {
    const c10::ScalarType dtype = scalar_type_of(member(meta, "dtype", where), where);
    const auto numbers = [&](const char* field) {
      std::vector<std::int64_t> all;
      for (const Json& item : items_of(meta, field, where)) all.push_back(number(item, where));
      return all;
    };
    const std::vector<std::int64_t> sizes = numbers("sizes"), strides = numbers("strides");
    const std::int64_t offset = number(member(meta, "storage_offset", where), where);
    if (layout_of(member(meta, "layout", where), where) != at::kStrided) {
      throw UnsupportedOpError("The exported program cannot be run by sr: " + where +
                               " is not a dense tensor.");
    }
    const at::Tensor& flat = flat_tensor(path, dtype, where);
    if (sizes.size() != strides.size() || !within(sizes, strides, offset, flat.numel())) {
      malformed(where, "reaches beyond the " + std::to_string(flat.nbytes()) + " bytes stored for it");
    }
    return flat.as_strided(sizes, strides, offset);
  }

  static std::int64_t number(const Json& size, const std::string& where) {
    const auto [tag, value] = tagged(size, where);
    if (tag != "as_int" || as_int(value, where) < 0)
      malformed(where, "has a size that is not a number from 0 on");
    return as_int(value, where);
  }

  // True if the last element lies within `count` elements.
  static bool within(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides,
                     std::int64_t offset, std::int64_t count) {
    std::int64_t last = offset, elements = 1, step = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (__builtin_mul_overflow(elements, sizes[i], &elements)) return false;
      if (sizes[i] == 0) continue;
      if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &step) ||
          __builtin_add_overflow(last, step, &last))
        return false;
    }
    return elements == 0 ? offset <= count : last < count;
  }

  // The bytes of a record, shared by all tensors in it, so that tensors which shared memory still do.
  const at::Tensor& flat_tensor(const std::string& path, c10::ScalarType dtype, const std::string& where) {
    at::Tensor& flat = flat_[path + ':' + c10::toString(dtype)];
    if (flat.defined()) return flat;
    const std::span<const std::byte> bytes = record_(path);
    const std::size_t size = c10::elementSize(dtype);
    if (bytes.size() % size != 0) {
      malformed(where,
                "is stored in " + std::to_string(bytes.size()) + " bytes, no multiple of its element's");
    }
    const auto count = static_cast<std::int64_t>(bytes.size() / size);
    if (owner_ != nullptr && !bytes.empty() && is_aligned(bytes.data(), size)) {
      flat = at::from_blob(
          const_cast<std::byte*>(bytes.data()), {count}, [owner = owner_](void*) {}, dtype);
      return flat;
    }
    flat = at::empty({count}, dtype);
    if (!bytes.empty()) std::memcpy(flat.mutable_data_ptr(), bytes.data(), bytes.size());
    return flat;
  }

  // Archives of LibTorch align each record to 64 bytes; others may not.
  static bool is_aligned(const std::byte* bytes, std::size_t size) {
    return reinterpret_cast<std::uintptr_t>(bytes) % size == 0;
  }

  Record record_;
  std::shared_ptr<const void> owner_;
  Tensors& tensors_;
  std::unordered_map<std::string, at::Tensor> flat_;
};

}  // namespace sr::exported

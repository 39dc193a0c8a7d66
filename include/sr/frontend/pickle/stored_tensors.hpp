// The tensors of a torch.save file. Sizes, strides and offsets are checked against the bytes stored, which
// LibTorch's own reader does not do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <torch/custom_class.h>

#include <sr/base/error.hpp>
#include <sr/frontend/archive/archive_check.hpp>
#include <sr/frontend/pickle/scalar_type_names.hpp>

namespace sr::detail {

// The records of what torch.save wrote, checked.
class PickleArchive {
 public:
  // How an error begins and ends. In between it says what is wrong.
  struct Complaint {
    std::string begin, end;
  };

  // `bytes` must outlive the archive. `file` is its name where it is no zip archive.
  PickleArchive(std::span<const std::byte> bytes, const std::string& file, Complaint complaint)
      : complaint_(std::move(complaint)) {
    for (const ZipRecord& record : check_zip(bytes, file, Checksums::optional)) {
      const auto slash = record.name.find('/');
      if (slash != std::string_view::npos) records_.emplace(record.name.substr(slash + 1), record);
    }
    if (records_.contains("constants.pkl")) reject("it is a TorchScript module");
    const auto order = records_.find("byteorder");
    if (order != records_.end() && order->second.stored.size() == 3)
      reject("it was written on a big-endian machine");
  }

  // By name below the root.
  std::span<const std::byte> record(const std::string& name) const {
    const auto found = records_.find(name);
    if (found == records_.end()) reject("it has no record '" + name + "'");
    if (found->second.deflated) reject("its record '" + name + "' was compressed by another program");
    return found->second.stored;
  }

  [[noreturn]] void reject(const std::string& why) const {
    throw LoadError(complaint_.begin + ": " + why + "." + complaint_.end);
  }

 private:
  Complaint complaint_;
  std::map<std::string, ZipRecord, std::less<>> records_;
};

class StoredTensors {
 public:
  explicit StoredTensors(const PickleArchive& archive) : archive_(archive) {}

  // A capsule that only tensor() understands. `name` is the storage's class in Python.
  c10::IValue storage(std::string name, const std::string& key) {
    c10::intrusive_ptr<StoredData> data = c10::make_intrusive<StoredData>();
    name.erase(0, name.rfind('.') + 1);
    data->type = find_scalar_type(&ScalarTypeName::storage, std::string_view(name));
    if (name.empty() || (data->type == nullptr && name != "UntypedStorage"))
      archive_.reject("it has a tensor of the unknown kind " + name);
    at::Storage& storage = storages_[key];  // tensors that shared memory share it again
    if (!storage) {
      const auto stored = archive_.record("data/" + key);
      storage = at::empty({static_cast<std::int64_t>(stored.size())}, at::kByte).storage();
      if (!stored.empty()) std::memcpy(storage.mutable_data(), stored.data(), stored.size());
    }
    data->storage = storage;
    return c10::IValue::make_capsule(std::move(data));
  }

  // (storage, offset, sizes, strides, requires_grad, hooks, [dtype,] [bits])
  at::Tensor tensor(const std::vector<c10::IValue>& arguments, const ScalarTypeName* type,
                    std::size_t bits) const {
    const auto capsule = arguments[0].isCapsule() ? arguments[0].toCapsule() : nullptr;
    const auto* data = dynamic_cast<const StoredData*>(capsule.get());
    if (data == nullptr) archive_.reject("it has a tensor without a storage");
    if (type == nullptr) type = data->type;
    if (type == nullptr) archive_.reject("it has a tensor of an unknown dtype");
    const std::int64_t offset = arguments[1].toInt();
    const std::vector<std::int64_t> sizes = lengths(arguments[2]), strides = lengths(arguments[3]);
    if (offset < 0 || sizes.size() != strides.size())
      archive_.reject("it has a tensor with wrong sizes or strides");
    check_inside(sizes, strides, offset, data->storage.nbytes() / c10::elementSize(type->type));
    at::Tensor result = at::empty({0}, type->type).set_(data->storage, offset, sizes, strides);
    if (arguments.size() > bits && arguments[bits].isGenericDict()) {
      for (const auto& bit : arguments[bits].toGenericDict()) {
        if (bit.key() == c10::IValue("conj")) result._set_conj(bit.value().toBool());
        if (bit.key() == c10::IValue("neg")) result._set_neg(bit.value().toBool());
      }
    }
    return result.requires_grad_(arguments[4].toBool());
  }

 private:
  struct StoredData : torch::CustomClassHolder {
    at::Storage storage;
    const ScalarTypeName* type = nullptr;  // none in an untyped storage
  };

  std::vector<std::int64_t> lengths(const c10::IValue& value) const {
    if (!value.isTuple()) archive_.reject("it has a tensor without sizes or strides");
    std::vector<std::int64_t> result;
    for (const c10::IValue& item : value.toTupleRef().elements()) {
      result.push_back(item.toInt());
      if (result.back() < 0) archive_.reject("it has a tensor with a negative size or stride");
    }
    return result;
  }

  void check_inside(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides,
                    std::int64_t offset, std::size_t elements) const {
    std::int64_t last = offset, count = 1;
    bool overflow = false, empty = false;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::int64_t reach = 0;
      empty = empty || sizes[i] == 0;
      overflow = overflow || __builtin_mul_overflow(count, sizes[i], &count) ||
                 __builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) ||
                 __builtin_add_overflow(last, reach, &last);
    }
    if (overflow || (!empty && static_cast<std::uint64_t>(last) >= elements)) {
      archive_.reject("it has a tensor that reaches outside its storage");
    }
  }

  const PickleArchive& archive_;
  std::unordered_map<std::string, at::Storage> storages_;
};

}  // namespace sr::detail

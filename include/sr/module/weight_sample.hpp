// Samples of a weight's elements, to notice writes that change no version counter.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

namespace sr {

// An element of a storage, which must outlive it.
class WeightElement {
 public:
  WeightElement(const std::byte* at, std::size_t size)
      : at_(at), size_(std::min(size, sizeof(std::uint64_t))), bits_(bits()) {}

  bool holds() const { return bits() == bits_; }

 private:
  // A memcpy of a constant size compiles to a load.
  std::uint64_t bits() const {
    if (size_ == 4) [[likely]]
      return load<std::uint32_t>();
    if (size_ == 8) return load<std::uint64_t>();
    return size_ == 2 ? load<std::uint16_t>() : load<std::uint8_t>();
  }
  template <class T>
  std::uint64_t load() const {
    T value;
    std::memcpy(&value, at_, sizeof(value));
    return value;
  }

  const std::byte* at_;
  std::size_t size_;  // bytes that are compared
  std::uint64_t bits_;
};

// The first, the middle and the last element, each once. None if there is no element or no memory.
inline c10::SmallVector<WeightElement, 3> elements_of(const at::Tensor& tensor) {
  c10::SmallVector<WeightElement, 3> elements;
  const std::int64_t count = tensor.numel();
  const auto* const storage = static_cast<const std::byte*>(tensor.storage().data());
  if (count == 0 || storage == nullptr) return elements;
  const auto itemsize = static_cast<std::int64_t>(tensor.itemsize());
  std::int64_t last = -1;
  for (const std::int64_t index : {std::int64_t{0}, count / 2, count - 1}) {
    if (index == last) continue;
    last = index;
    std::int64_t rest = index, offset = tensor.storage_offset();
    for (std::int64_t d = tensor.dim(); d-- > 0;) {
      offset += rest % tensor.size(d) * tensor.stride(d);
      rest /= tensor.size(d);
    }
    elements.emplace_back(storage + offset * itemsize, tensor.itemsize());
  }
  return elements;
}

// The sample of a weight whose writes LibTorch does not count. The tensor's storage must outlive it, and it
// may be compared only while the tensor's stamp holds.
class WeightSample {
 public:
  // Samples all elements if `whole` and the tensor is contiguous, else elements_of(tensor).
  WeightSample(const at::Tensor& tensor, bool whole) {
    if (!whole || !tensor.is_contiguous()) {
      elements_ = elements_of(tensor);
    } else if (tensor.numel() != 0 && tensor.storage().data() != nullptr) {
      start_ = static_cast<const std::byte*>(tensor.const_data_ptr());
      bytes_.assign(start_, start_ + tensor.nbytes());
    }
  }

  bool holds() const {
    if (!bytes_.empty()) return std::memcmp(start_, bytes_.data(), bytes_.size()) == 0;
    return std::ranges::all_of(elements_, [](const WeightElement& element) { return element.holds(); });
  }

 private:
  const std::byte* start_ = nullptr;
  std::vector<std::byte> bytes_;
  c10::SmallVector<WeightElement, 3> elements_;
};

}  // namespace sr

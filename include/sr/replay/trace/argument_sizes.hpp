// Reads the sizes of arguments from the words of a signature, some of which are symbols.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>

#include <sr/replay/sizes/arithmetic.hpp>

namespace sr::replay {

inline constexpr std::size_t kFirstArgumentWord = 2;  // of a signature, see SignatureWords

// Advances through the words as `detail::describe` (signature.hpp) writes them.
class ArgumentSizes {
 public:
  // `at` is where the words of the next argument begin; advanced by `take`.
  explicit ArgumentSizes(const Size*& at) : at_(at) {}

  // Calls on_tensor(tensor, sizes, strides) for each tensor, and on_numbers(value, sizes) for an integer and
  // for a list of integers. Integers in other containers are pinned.
  template <class OnTensor, class OnNumbers>
  void take(const c10::IValue& value, const OnTensor& on_tensor, const OnNumbers& on_numbers) {
    if (value.isInt()) return on_numbers(value, Dims{take_integer()});
    if (value.isIntList()) {
      ++at_;
      Dims all;
      for (std::size_t i = value.toIntList().size(); i-- > 0;) all.push_back(take_integer());
      return on_numbers(value, std::move(all));
    }
    walk(value, on_tensor);
  }

 private:
  Size take_integer() {
    const Size number = at_[1];
    at_ += 2;
    return number;
  }

  template <class OnTensor>
  void walk(const c10::IValue& value, const OnTensor& on_tensor) {
    if (value.isTensor()) {
      const auto rank = static_cast<std::size_t>(at_[2].recorded());
      const Size* const sizes = at_ + 3;
      on_tensor(value.toTensor(), c10::ArrayRef<Size>(sizes, rank), c10::ArrayRef<Size>(sizes + rank, rank));
      at_ += 3 + 2 * rank;
    } else if (value.isInt()) {
      take_integer().pin();
    } else if (value.isDouble()) {
      at_ += 2;
    } else if (value.isString()) {
      at_ += 1 + (value.toStringRef().size() + 7) / 8;
    } else if (value.isList()) {
      ++at_;
      for (const c10::IValue& element : value.toListRef()) walk(element, on_tensor);
    } else if (value.isTuple()) {
      ++at_;
      for (const c10::IValue& element : value.toTupleRef().elements()) walk(element, on_tensor);
    } else if (value.isGenericDict()) {
      ++at_;
      for (const auto& entry : value.toGenericDict()) {
        walk(entry.key(), on_tensor);
        walk(entry.value(), on_tensor);
      }
    } else {
      ++at_;  // a truth value, None or a device
    }
  }

  const Size*& at_;
};

}  // namespace sr::replay

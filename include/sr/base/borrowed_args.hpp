// Arguments of a call that are the caller's for as long as it takes.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

namespace sr::detail {

// Takes no reference to tensors and IValues that are variables of the caller: that would cost two locked
// instructions each. The caller's variables must outlive this object, and nothing may be moved out of it.
template <class... Args>
class BorrowedArgs {
 public:
  // Conversions that may throw come first: borrowed values must not be destroyed as owned ones are.
  explicit BorrowedArgs(Args&&... args) {
    std::size_t i = 0;
    (own<Args>(values_[i++], args), ...);
    i = 0;
    (lend<Args>(values_[i++], args), ...);
  }
  ~BorrowedArgs() {
    std::size_t i = 0;
    (give_back<Args>(values_[i++]), ...);
  }
  BorrowedArgs(const BorrowedArgs&) = delete;
  BorrowedArgs& operator=(const BorrowedArgs&) = delete;

  std::span<const c10::IValue> span() const { return values_; }

 private:
  using Borrow = c10::MaybeOwnedTraits<c10::IValue>;

  template <class Arg>
  static constexpr bool kIsTensor = std::is_same_v<std::remove_cvref_t<Arg>, at::Tensor>;
  template <class Arg>
  static constexpr bool kIsLent = std::is_lvalue_reference_v<Arg> &&
                                  (kIsTensor<Arg> || std::is_same_v<std::remove_cvref_t<Arg>, c10::IValue>);

  template <class Arg>
  static void own(c10::IValue& value, std::remove_reference_t<Arg>& arg) {
    if constexpr (!kIsLent<Arg>) value = c10::IValue(std::forward<Arg>(arg));
  }
  template <class Arg>
  static void lend(c10::IValue& value, std::remove_reference_t<Arg>& arg) {
    if constexpr (kIsLent<Arg> && kIsTensor<Arg>) {
      value = c10::IValue(c10::MaybeOwnedTraits<at::Tensor>::createBorrow(arg));
    } else if constexpr (kIsLent<Arg>) {
      value = Borrow::createBorrow(arg);
    }
  }
  template <class Arg>
  static void give_back(c10::IValue& value) {
    if constexpr (kIsLent<Arg>) Borrow::destroyBorrow(value);
  }

  std::array<c10::IValue, sizeof...(Args)> values_;
};

}  // namespace sr::detail

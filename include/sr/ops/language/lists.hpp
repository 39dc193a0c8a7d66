// List ops of the language: elements, slices, comparisons, changes in place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/runtime/slice_indices_adjust.h>

#include <sr/ops/language/layouts.hpp>
#include <sr/ops/language/scalars.hpp>
#include <sr/ops/language/strings.hpp>
#include <sr/ops/reduction/layouts.hpp>
#include <sr/registry/op.hpp>

namespace sr::ops {

inline std::size_t position_in(std::size_t size, std::int64_t index) {
  const auto count = static_cast<std::int64_t>(size);
  const std::int64_t position = index < 0 ? index + count : index;
  if (position < 0 || position >= count) throw std::out_of_range("list index out of range");
  return static_cast<std::size_t>(position);
}

struct ElementOfList {
  c10::IValue operator()(const c10::IValue& list, std::int64_t index) const {
    const auto elements = list.toListRef();
    return elements[position_in(elements.size(), index)];
  }
};

struct SliceOfList {
  c10::IValue operator()(const c10::IValue& list, std::optional<std::int64_t> start,
                         std::optional<std::int64_t> end, std::int64_t step) const {
    const auto elements = list.toListRef();
    std::int64_t first = bound_or_none(start), last = bound_or_none(end);
    const std::int64_t count =
        torch::jit::slice_indices_adjust(static_cast<std::int64_t>(elements.size()), &first, &last, step);
    c10::impl::GenericList slice(list.toList().elementType());
    slice.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i)
      slice.push_back(elements[static_cast<std::size_t>(first + i * step)]);
    return slice;
  }
};

struct CopyOfList {
  c10::IValue operator()(const c10::IValue& list) const { return list.toList().copy(); }
};

struct JoinLists {
  c10::IValue operator()(const c10::IValue& a, const c10::IValue& b) const {
    c10::impl::GenericList joined = a.toList().copy();
    joined.append(b.toList());
    return joined;
  }
};

inline c10::IValue repeat_list(const c10::IValue& list, std::int64_t times) {
  const auto elements = list.toListRef();
  c10::impl::GenericList repeated(list.toList().elementType());
  repeated.reserve(elements.size() * static_cast<std::size_t>(times));  // too long if negative: that throws
  for (std::int64_t i = 0; i < times; ++i) {
    for (const c10::IValue& element : elements) repeated.push_back(element);
  }
  return repeated;
}
struct ListTimes {
  c10::IValue operator()(const c10::IValue& list, std::int64_t times) const {
    return repeat_list(list, times);
  }
};
struct TimesList {
  c10::IValue operator()(std::int64_t times, const c10::IValue& list) const {
    return repeat_list(list, times);
  }
};

// --- comparisons ---

template <class Comparison>
struct OfLists {
  bool operator()(const c10::IValue& a, const c10::IValue& b) const {
    return Comparison{}(a.toList(), b.toList());
  }
};

// Converts `==` of two elements to a bool, as Python does.
inline bool are_equal_tensors(const c10::IValue& a, const c10::IValue& b) {
  const auto first = a.toListRef(), second = b.toListRef();
  return first.size() == second.size() &&
         std::equal(first.begin(), first.end(), second.begin(), [](const auto& x, const auto& y) {
           return at::native::is_nonzero(x.toTensor().eq(y.toTensor()));
         });
}
struct EqualTensors {
  bool operator()(const c10::IValue& a, const c10::IValue& b) const { return are_equal_tensors(a, b); }
};
struct DifferentTensors {
  bool operator()(const c10::IValue& a, const c10::IValue& b) const { return !are_equal_tensors(a, b); }
};

template <class T>
bool is_element(const c10::IValue& element, const T& wanted) {
  if constexpr (std::is_same_v<T, at::Tensor>) {
    return at::native::is_nonzero(wanted.eq(element.toTensor()));
  } else {
    return element.to<T>() == wanted;
  }
}

template <class T>
struct IndexInList {
  std::int64_t operator()(const c10::IValue& list, const c10::IValue& element) const {
    const auto& wanted = element.to<T>();
    const auto elements = list.toListRef();
    const auto found = std::find_if(elements.begin(), elements.end(),
                                    [&](const c10::IValue& one) { return is_element(one, wanted); });
    TORCH_CHECK(found != elements.end(), "'", wanted, "' is not in list");
    return found - elements.begin();
  }
};
template <class T>
struct IsInList {
  bool operator()(const c10::IValue& list, const c10::IValue& element) const {
    const auto& wanted = element.to<T>();
    return std::ranges::any_of(list.toListRef(), [&](const auto& one) { return is_element(one, wanted); });
  }
};

// Integers and bools are summed in 32 bits, as in LibTorch.
template <class Element, class Sum, class Returned>
struct SumOfList {
  Returned operator()(const c10::IValue& list) const {
    Sum sum = 0;
    for (const c10::IValue& element : list.toListRef()) sum = static_cast<Sum>(sum + element.to<Element>());
    return Returned(sum);
  }
};

// --- changes ---

struct Append {
  c10::IValue operator()(const c10::IValue& list, const c10::IValue& element) const {
    list.toList().push_back(element);
    return list;
  }
};
struct SetElement {
  c10::IValue operator()(const c10::IValue& list, std::int64_t index, const c10::IValue& element) const {
    c10::impl::GenericList elements = list.toList();
    elements.set(position_in(elements.size(), index), element);
    return list;
  }
};
struct Extend {
  void operator()(const c10::IValue& list, const c10::IValue& other) const {
    list.toList().append(other.toList());
  }
};

namespace registered {

inline const Native<"aten::__getitem__.t(t[](a) list, int idx) -> t(*)", ElementOfList,
                    Facts<Fact::moves_values>, Layouts<&replay::layouts::element>>
    element_of_list;
inline const Native<"aten::select.t(t[](a) list, int idx) -> t(*)", ElementOfList, Facts<Fact::moves_values>>
    select_of_list;
inline const Native<"aten::slice.t(t[] l, int? start=None, int? end=None, int step=1) -> t[]", SliceOfList,
                    Facts<Fact::moves_values>, Layouts<&replay::layouts::slice_of_list>>
    slice_of_list;
inline const Native<"aten::list.t(t[] l) -> t[]", CopyOfList, Facts<Fact::moves_values>,
                    Layouts<&replay::layouts::copied_list>>
    copy_of_list;
inline const Native<"aten::copy.t(t[](a) self) -> t[]", CopyOfList, Facts<Fact::moves_values>,
                    Layouts<&replay::layouts::copied_list>>
    copy_method_of_list;
inline const Native<"aten::add.t(t[] a, t[] b) -> t[]", JoinLists, Facts<Fact::moves_values>,
                    Layouts<&replay::layouts::joined_lists>>
    add_lists;
inline const Native<"aten::mul.left_t(t[] l, int n) -> t[]", ListTimes, Facts<Fact::moves_values>> list_times;
inline const Native<"aten::mul.right_(int n, t[] l) -> t[]", TimesList> times_list;
inline const Native<"aten::len.any(Any[] a) -> int", Length, Facts<Fact::reads_metadata_only>>
    length_of_any_list;
inline const Native<"aten::eq.int_list(int[] a, int[] b) -> bool", OfLists<std::equal_to<>>,
                    Facts<Fact::compares_elements>, Layouts<&replay::layouts::compare_lists>>
    eq_int_lists;
inline const Native<"aten::eq.float_list(float[] a, float[] b) -> bool", OfLists<std::equal_to<>>>
    eq_float_lists;
inline const Native<"aten::eq.bool_list(bool[] a, bool[] b) -> bool", OfLists<std::equal_to<>>> eq_bool_lists;
inline const Native<"aten::eq.str_list(str[] a, str[] b) -> bool", OfLists<std::equal_to<>>> eq_str_lists;
inline const Native<"aten::eq.Tensor_list(Tensor[] a, Tensor[] b) -> bool", EqualTensors> eq_tensor_lists;
inline const Native<"aten::ne.int_list(int[] a, int[] b) -> bool", OfLists<std::not_equal_to<>>,
                    Facts<Fact::compares_elements>, Layouts<&replay::layouts::compare_lists>>
    ne_int_lists;
inline const Native<"aten::ne.float_list(float[] a, float[] b) -> bool", OfLists<std::not_equal_to<>>>
    ne_float_lists;
inline const Native<"aten::ne.bool_list(bool[] a, bool[] b) -> bool", OfLists<std::not_equal_to<>>>
    ne_bool_lists;
inline const Native<"aten::ne.str_list(str[] a, str[] b) -> bool", OfLists<std::not_equal_to<>>> ne_str_lists;
inline const Native<"aten::ne.Tensor_list(Tensor[] a, Tensor[] b) -> bool", DifferentTensors> ne_tensor_lists;
inline const Native<"aten::index.list_int(int[] self, int el) -> int", IndexInList<std::int64_t>,
                    Facts<Fact::compares_elements>>
    index_of_int;
inline const Native<"aten::index.list_float(float[] self, float el) -> int", IndexInList<double>>
    index_of_float;
inline const Native<"aten::index.list_bool(bool[] self, bool el) -> int", IndexInList<bool>> index_of_bool;
inline const Native<"aten::index.list_str(str[] self, str el) -> int", IndexInList<std::string>> index_of_str;
inline const Native<"aten::index.list_Tensor(Tensor[] self, Tensor el) -> int", IndexInList<at::Tensor>>
    index_of_tensor;
inline const Native<"aten::__contains__.int_list(int[] l, int item) -> bool", IsInList<std::int64_t>,
                    Facts<Fact::compares_elements>>
    contains_int;
inline const Native<"aten::__contains__.float_list(float[] l, float item) -> bool", IsInList<double>>
    contains_float;
inline const Native<"aten::__contains__.str_list(str[] l, str item) -> bool", IsInList<std::string>>
    contains_str;
inline const Native<"aten::sum.int(int[] self) -> int", SumOfList<std::int64_t, int, std::int64_t>,
                    Layouts<&replay::layouts::sum_of_list>>
    sum_of_ints;
inline const Native<"aten::sum.float(float[] self) -> float", SumOfList<double, double, double>>
    sum_of_floats;
inline const Native<"aten::sum.bool(bool[] self) -> int", SumOfList<bool, int, std::int64_t>> sum_of_bools;
inline const Native<"aten::sum.complex(complex[] self) -> complex",
                    SumOfList<c10::complex<double>, c10::complex<double>, c10::complex<double>>>
    sum_of_complex;
inline const Native<"aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)", Append,
                    Facts<Fact::moves_values>>
    append;
inline const Native<"aten::_set_item.t(t[](a!) l, int idx, t(b -> *) el) -> t[](a!)", SetElement,
                    Facts<Fact::moves_values>>
    set_element;
inline const Native<"aten::extend.t(t[](a!) self, t[] other) -> ()", Extend, Facts<Fact::moves_values>>
    extend;
// Without a functor of sr.
inline const Operator<"aten::add_", Facts<Fact::moves_values>> facts_of_add_;
inline const Operator<"aten::mul_", Facts<Fact::moves_values>> facts_of_mul_;
inline const Operator<"aten::remove", Facts<Fact::compares_elements>> facts_of_remove;
inline const Operator<"aten::count", Facts<Fact::compares_elements>> facts_of_count;
// The facts are those of lists. The rule is that of the overload without a name, which sorts a tensor.
inline const Operator<"aten::sort", Facts<Fact::compares_elements>,
                      Layouts<&replay::layouts::copied_in_order_twice>>
    sort_list;
inline const Operator<"aten::sorted", Facts<Fact::compares_elements>> facts_of_sorted;
inline const Operator<"aten::clear", Facts<Fact::moves_values>> facts_of_clear;
inline const Operator<"aten::Delete", Facts<Fact::moves_values>> delete_element;
inline const Operator<"aten::insert", Facts<Fact::moves_values>> facts_of_insert;
inline const Operator<"aten::pop", Facts<Fact::moves_values>> facts_of_pop;
inline const Operator<"aten::reverse", Facts<Fact::moves_values>> facts_of_reverse;

}  // namespace registered
}  // namespace sr::ops

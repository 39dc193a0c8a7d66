// How a node calls a functor: unpacks the arguments and stores the results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <sr/base/build.hpp>
#include <sr/kernels/loops.hpp>
#include <sr/registry/functor_checks.hpp>
#include <sr/registry/operator_entry.hpp>

namespace sr {

SR_SILENT_BEGIN

namespace detail {

// The `vector_op` of a functor in the form that kernels::make_loops takes.
template <class Functor, std::size_t Inputs>
struct VectorOpOf {
  static constexpr std::size_t operands = Inputs;
  static constexpr bool exact = false;
  template <class V, class... Rest>
  static V apply(V first, Rest... rest) {
    return Functor::vector_op(first, rest...);
  }
};

template <class Functor, std::size_t Inputs>
inline constexpr kernels::VectorLoops kVectorLoops = kernels::make_loops<VectorOpOf<Functor, Inputs>>();

// Unpacks the arguments of a node for an out variant. One for each functor: operators that share a functor
// share it.
template <class Functor, std::size_t Inputs, std::size_t Outputs>
struct OutCall {
  template <std::size_t... I, std::size_t... O>
  static void call(const Functor& functor, NodeView& view, std::index_sequence<I...>,
                   std::index_sequence<O...>) {
    functor(ArgumentFor<ParameterAt<Functor, I>>(view.input(I)).get()..., view.output(O).toTensor()...);
  }
  static void typed(const void* op, NodeView& view) {
    call(*static_cast<const Functor*>(op), view, std::make_index_sequence<Inputs>{},
         std::make_index_sequence<Outputs>{});
  }
  static void run(const void* op, NodeView& view) { run_out_variant(view, &typed, op); }
};

template <class T>
void put_result(c10::IValue& slot, T&& value) {
  using Value = std::remove_cvref_t<T>;
  if constexpr (std::is_same_v<Value, at::Tensor>) {
    put(slot, at::Tensor(std::forward<T>(value)));
  } else if constexpr (std::is_same_v<Value, std::int64_t> || std::is_same_v<Value, double> ||
                       std::is_same_v<Value, bool>) {
    put(slot, value);
  } else {
    put(slot, c10::IValue(std::forward<T>(value)));
  }
}

// What a native functor returns: one value, several in a tuple, or none.
template <class Result>
struct Returns {
  using Value = std::remove_cvref_t<Result>;
  static constexpr std::size_t count = 1;
  static constexpr bool are_boxed = std::is_constructible_v<c10::IValue, Result>;
  static constexpr std::size_t tensors =
      std::is_same_v<Value, at::Tensor> || std::is_same_v<Value, c10::IValue> ? 1 : 0;
  static void store(NodeView& view, Result&& result) {
    put_result(view.output(0), std::forward<Result>(result));
  }
};
template <>
struct Returns<void> {
  static constexpr std::size_t count = 0;
  static constexpr bool are_boxed = true;
  static constexpr std::size_t tensors = 0;
};
template <class... R>
struct Returns<std::tuple<R...>> {
  static constexpr std::size_t count = sizeof...(R);
  static constexpr bool are_boxed = (Returns<R>::are_boxed && ...);
  static constexpr std::size_t tensors = (Returns<R>::tensors + ... + 0);
  static void store(NodeView& view, std::tuple<R...>&& results) {
    store(view, std::move(results), std::index_sequence_for<R...>{});
  }

 private:
  template <std::size_t... I>
  static void store(NodeView& view, std::tuple<R...>&& results, std::index_sequence<I...>) {
    (put_result(view.output(I), std::move(std::get<I>(results))), ...);
  }
};

// Unpacks the arguments of a node for a native functor, and stores what it returns.
template <class Functor, std::size_t Inputs>
struct NativeCall {
  using Result = typename CallOf<Functor>::Result;
  template <std::size_t... I>
  static void call(const Functor& functor, [[maybe_unused]] NodeView& view, std::index_sequence<I...>) {
    if constexpr (std::is_void_v<Result>) {
      functor(ArgumentFor<ParameterAt<Functor, I>>(view.input(I)).get()...);
    } else {
      Returns<Result>::store(view, functor(ArgumentFor<ParameterAt<Functor, I>>(view.input(I)).get()...));
    }
  }
  static void run(const void* op, NodeView& view) {
    call(*static_cast<const Functor*>(op), view, std::make_index_sequence<Inputs>{});
  }
};

}  // namespace detail

SR_SILENT_END

}  // namespace sr

// What a memory planner is: a policy type with one pure function.
#pragma once

#include <concepts>
#include <span>
#include <string_view>
#include <utility>

#include <sr/memory/request.hpp>

namespace sr::memory {

// `plan` is pure and deterministic (ties are broken by index). It returns one offset for each request, in the
// same order, and a total that covers them all. `validate` (validate.hpp) defines what a right layout is.
// Tables print `name`.
//
// A planner may also have `Layout refine(std::span<const Request>, Layout)`, equally pure, which may take
// longer. It is given the layout of `plan` where a layout will be used for many calls.
template <class P>
concept Planner = requires(std::span<const Request> requests) {
  { P::plan(requests) } -> std::same_as<Layout>;
  { P::name } -> std::convertible_to<std::string_view>;
};

// The layout of a program, which is built once for many replays.
template <Planner P>
Layout plan_for_long(std::span<const Request> requests) {
  Layout layout = P::plan(requests);
  if constexpr (requires { P::refine(requests, std::move(layout)); }) {
    layout = P::refine(requests, std::move(layout));
  }
  return layout;
}

}  // namespace sr::memory

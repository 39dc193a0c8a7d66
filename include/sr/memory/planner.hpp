// What a memory planner is: a policy type with one pure function.
#pragma once

#include <concepts>
#include <span>
#include <string_view>
#include <utility>

#include <sr/memory/request.hpp>

namespace sr::memory {

// `plan` is pure and deterministic (ties are broken by index), returns one offset a request, in the same
// order, and a total that covers them all. `validate` (validate.hpp) states what a right layout is. `name` is
// what tables print.
//
// A planner may also have `Layout refine(std::span<const Request>, Layout)`, equally pure, which may take
// long: it is given what `plan` returned where the layout is going to be used for many calls.
template <class P>
concept Planner = requires(std::span<const Request> requests) {
  { P::plan(requests) } -> std::same_as<Layout>;
  { P::name } -> std::convertible_to<std::string_view>;
};

// The layout of a plan that is made once for many replays.
template <Planner P>
Layout plan_for_long(std::span<const Request> requests) {
  Layout layout = P::plan(requests);
  if constexpr (requires { P::refine(requests, std::move(layout)); }) {
    layout = P::refine(requests, std::move(layout));
  }
  return layout;
}

}  // namespace sr::memory

// What a memory planner is: a policy type with one pure function.
#pragma once

#include <concepts>
#include <span>
#include <string_view>

#include <sr/memory/request.hpp>

namespace sr::memory {

// `plan` is pure and deterministic (ties are broken by index), returns one offset a request, in the same
// order, and a total that covers them all. `validate` (validate.hpp) states what a right layout is. `name` is
// what tables print.
template <class P>
concept Planner = requires(std::span<const Request> requests) {
  { P::plan(requests) } -> std::same_as<Layout>;
  { P::name } -> std::convertible_to<std::string_view>;
};

}  // namespace sr::memory

// Every planner, for TEMPLATE_LIST_TEST_CASE. A new planner is tested as soon as it is in
// memory/planners.hpp.
#pragma once

#include <span>
#include <string>

#include <sr/memory/planners.hpp>

namespace sr::test {

using AllPlanners = memory::Planners;

// Empty if P's layout is valid, else the fault, for CHECK(fault<P>(requests) == "").
template <memory::Planner P>
std::string fault(std::span<const memory::Request> requests) {
  return memory::validate(requests, P::plan(requests)).value_or("");
}

}  // namespace sr::test

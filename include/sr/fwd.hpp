// Declarations of the templates, and the only place where their default arguments stand.
#pragma once

#include <sr/memory/linear_scan.hpp>
#include <sr/memory/planner.hpp>

namespace sr {

struct NoObserver;
struct TimingObserver;
class StaticModule;

template <memory::Planner Planner = memory::LinearScan, class Observer = NoObserver>
class StaticRuntime;

template <memory::Planner Planner = memory::LinearScan>
class RuntimePool;

}  // namespace sr

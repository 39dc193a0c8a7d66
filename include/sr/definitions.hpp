// The definitions of StaticRuntime and of the benchmarks, for a file that runs a planner or an observer of its
// own. libsr holds those of the planners that come with sr; this costs as much to compile as all the rest.
#pragma once

#include <sr/impl/benchmark.hpp>
#include <sr/impl/fork_body.hpp>
#include <sr/impl/static_runtime.hpp>

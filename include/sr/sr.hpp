// The whole of sr except its operators: include <sr/ops/all.hpp> in one source file, or link the compiled
// operators.
#pragma once

#include <sr/benchmark.hpp>
#include <sr/load.hpp>
#include <sr/memory/planners.hpp>
#include <sr/op.hpp>
#include <sr/report.hpp>
#include <sr/runtime_pool.hpp>
#include <sr/static_module.hpp>
#include <sr/static_runtime.hpp>

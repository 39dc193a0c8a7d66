// The whole of sr: link libsr, or define SR_HEADER_ONLY on every file of the program.
#pragma once

#include <sr/benchmark.hpp>
#include <sr/load.hpp>
#include <sr/memory/planners.hpp>
#include <sr/op.hpp>
#include <sr/report.hpp>
#include <sr/runtime_pool.hpp>
#include <sr/static_module.hpp>
#include <sr/static_runtime.hpp>

#ifdef SR_HEADER_ONLY
#include <sr/ops/all.hpp>
#endif

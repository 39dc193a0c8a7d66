// The whole of sr. Link libsr; or, without a library, define SR_HEADER_ONLY in one file of the program, which
// then holds the library.
#pragma once

#include <ATen/ATen.h>

#include <sr/base/build.hpp>
#include <sr/batcher.hpp>
#include <sr/bound_call.hpp>
#include <sr/compat/benchmark.hpp>
#include <sr/error.hpp>
#include <sr/load.hpp>
#include <sr/memory/planners.hpp>
#include <sr/op.hpp>
#include <sr/options.hpp>
#include <sr/quantize.hpp>
#include <sr/report.hpp>
#include <sr/runtime_pool.hpp>
#include <sr/session.hpp>
#include <sr/static_module.hpp>
#include <sr/static_runtime.hpp>
#include <sr/value_spec.hpp>
#include <sr/version.hpp>

#ifdef SR_HEADER_ONLY
SR_SILENT_BEGIN
#include <sr/impl/all.hpp>
#include <sr/ops/all.hpp>
SR_SILENT_END
#endif

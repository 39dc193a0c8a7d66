// Definitions of what loads, prepares and runs modules, and reports on them.
#pragma once

#include <sr/impl/batcher.hpp>
#include <sr/impl/benchmark.hpp>
#include <sr/impl/bound_call.hpp>
#include <sr/impl/fork_body.hpp>
#include <sr/impl/individual_metrics.hpp>
#include <sr/impl/load.hpp>
#include <sr/impl/op_spec.hpp>
#include <sr/impl/processors.hpp>
#include <sr/impl/report.hpp>
#include <sr/impl/runtime_core.hpp>
#include <sr/impl/static_module.hpp>
#include <sr/impl/team.hpp>

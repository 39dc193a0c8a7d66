// Definitions of what loads, prepares and runs modules, and reports on them.
#pragma once

#include <sr/base/impl/processors.hpp>
#include <sr/base/impl/team.hpp>
#include <sr/compat/impl/benchmark.hpp>
#include <sr/compat/impl/individual_metrics.hpp>
#include <sr/impl/batcher.hpp>
#include <sr/impl/bound_call.hpp>
#include <sr/impl/load.hpp>
#include <sr/impl/report.hpp>
#include <sr/impl/session.hpp>
#include <sr/impl/session_batch.hpp>
#include <sr/impl/static_module.hpp>
#include <sr/registry/impl/operator_entry.hpp>
#include <sr/runtime/impl/fork_body.hpp>
#include <sr/runtime/impl/runtime_core.hpp>

// Definitions of what <sr/memory/planners.hpp> declares. No LibTorch in here: planners are used without it,
// too.
#pragma once

#include <sr/impl/memory/greedy_by_size.hpp>
#include <sr/impl/memory/linear_scan.hpp>
#include <sr/impl/memory/lower_bound.hpp>
#include <sr/impl/memory/no_reuse.hpp>
#include <sr/impl/memory/standard_resizing.hpp>
#include <sr/impl/memory/validate.hpp>

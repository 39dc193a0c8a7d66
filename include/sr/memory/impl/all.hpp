// Definitions of what <sr/memory/planners.hpp> declares. No LibTorch in here: planners are used without it,
// too.
#pragma once

#include <sr/memory/impl/greedy_by_size.hpp>
#include <sr/memory/impl/linear_scan.hpp>
#include <sr/memory/impl/lower_bound.hpp>
#include <sr/memory/impl/no_reuse.hpp>
#include <sr/memory/impl/standard_resizing.hpp>
#include <sr/memory/impl/validate.hpp>

// Every operator of sr, with kernels for replay: what <sr/sr.hpp> adds under SR_HEADER_ONLY. Programs that
// link libsr have them already.
#pragma once

#include <sr/kernels/header_only_kernels.hpp>
#include <sr/ops/builtin.hpp>

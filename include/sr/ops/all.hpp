// All operators of sr with kernels for replay, as <sr/sr.hpp> includes them under SR_HEADER_ONLY. Programs
// that link libsr have them already.
#pragma once

#include <sr/kernels/header_only_kernels.hpp>
#include <sr/ops/builtin.hpp>

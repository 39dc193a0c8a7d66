// Registers every operator of sr, with kernels for replay: include it in one file of a program that links
// nothing of ours.
#pragma once

#include <sr/kernels/own.hpp>
#include <sr/ops/builtin.hpp>

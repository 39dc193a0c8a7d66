// Every operator of sr, without kernels: for programs that link those of src/kernels.
#pragma once

#include <sr/ops/attention.hpp>
#include <sr/ops/containers.hpp>
#include <sr/ops/control_flow.hpp>
#include <sr/ops/convolution.hpp>
#include <sr/ops/embedding.hpp>
#include <sr/ops/joining.hpp>
#include <sr/ops/normalization.hpp>
#include <sr/ops/pointwise.hpp>
#include <sr/ops/products.hpp>
#include <sr/ops/reduction.hpp>
#include <sr/ops/scalars.hpp>
#include <sr/ops/views.hpp>
#include <sr/plan/lower/builtin.hpp>

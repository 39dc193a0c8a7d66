// Operators that make, move and convert tensors.
#include <sr/ops/concat.hpp>
#include <sr/ops/factories.hpp>
#include <sr/ops/quantization.hpp>
#include <sr/ops/quantized.hpp>
#include <sr/ops/rearranging.hpp>
#include <sr/ops/resampling.hpp>
#include <sr/ops/typed_tensors.hpp>
#include <sr/ops/typed_views.hpp>
#include <sr/ops/views.hpp>

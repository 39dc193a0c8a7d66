// Operators that make, move and convert tensors.
#include <sr/ops/conversion/entries.hpp>
#include <sr/ops/convolution/resampling.hpp>
#include <sr/ops/factories/entries.hpp>
#include <sr/ops/indexing/entries.hpp>
#include <sr/ops/quantized/entries.hpp>
#include <sr/ops/rearranging/entries.hpp>
#include <sr/ops/rearranging/join.hpp>
#include <sr/ops/views/entries.hpp>
#include <sr/ops/views/entries_without_functor.hpp>

// Pointwise operators on tensors.
#include <sr/ops/pointwise/comparison.hpp>
#include <sr/ops/pointwise/entries.hpp>
#include <sr/ops/pointwise/entries_without_functor.hpp>
#include <sr/ops/pointwise/variants.hpp>

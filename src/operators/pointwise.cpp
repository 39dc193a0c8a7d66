// Pointwise operators on tensors.
#include <sr/ops/comparison.hpp>
#include <sr/ops/pointwise.hpp>
#include <sr/ops/pointwise_generic.hpp>
#include <sr/ops/pointwise_variants.hpp>

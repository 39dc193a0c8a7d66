// Operators that compute with all elements: products, reductions, layers.
#include <sr/ops/attention.hpp>
#include <sr/ops/convolution.hpp>
#include <sr/ops/embedding.hpp>
#include <sr/ops/matmul.hpp>
#include <sr/ops/normalization.hpp>
#include <sr/ops/recurrent.hpp>
#include <sr/ops/reduction.hpp>

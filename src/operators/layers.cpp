// Operators that compute with all elements: products, reductions, layers.
#include <sr/ops/attention/entries.hpp>
#include <sr/ops/convolution/entries.hpp>
#include <sr/ops/embedding/entries.hpp>
#include <sr/ops/embedding/jagged_entries.hpp>
#include <sr/ops/jagged/entries.hpp>
#include <sr/ops/matmul/entries.hpp>
#include <sr/ops/normalization/entries.hpp>
#include <sr/ops/recurrent/entries.hpp>
#include <sr/ops/reduction/entries.hpp>
#include <sr/ops/reduction/entries_without_functor.hpp>

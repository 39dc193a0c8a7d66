// Operators on whole tensors: views, copies, products, layers.
#include <sr/ops/attention.hpp>
#include <sr/ops/concat.hpp>
#include <sr/ops/convolution.hpp>
#include <sr/ops/embedding.hpp>
#include <sr/ops/factories.hpp>
#include <sr/ops/matmul.hpp>
#include <sr/ops/normalization.hpp>
#include <sr/ops/quantization.hpp>
#include <sr/ops/quantized.hpp>
#include <sr/ops/rearranging.hpp>
#include <sr/ops/recurrent.hpp>
#include <sr/ops/resampling.hpp>
#include <sr/ops/typed_tensors.hpp>
#include <sr/ops/typed_views.hpp>
#include <sr/ops/views.hpp>

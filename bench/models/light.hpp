// The models as handwritten loops on raw floats, compiled for this machine with fast arithmetic. Without
// tensors and checks, and with known shapes, they show the cost of the arithmetic alone.
#pragma once

namespace sr::bench::light {

struct DeepWide {
  const float *mu, *sigma, *weight, *bias;
  int width, features;
};
void deep_wide(const DeepWide& model, int batch, const float* ad, const float* user, const float* wide,
               float* out);

struct Wide {
  const float *mean, *scale, *weight, *bias;
  int features;
};
void wide_tanh(const Wide& model, int batch, const float* x, float* out);

void leaky_relu_5(int n, float slope, const float* x, float* out);
void elu_3(int n, const float* x, float* out);
void signed_log1p(int n, const float* x, float* out);
void signed_sqrt(int n, const float* x, float* out);
void long_chain(int n, const float* a, const float* b, const float* c, float* out);
void other_chain(int n, const float* x, const float* y, float* out);

enum class Activation { none, relu, sigmoid, gelu };

struct Dense {
  const float* packed;  // [in, out]
  const float* bias;
  int in, out;
};
// The activation follows every layer but the last. Layers are at most 128 wide, batches at most 32.
void perceptron(const Dense* layers, int count, Activation between, int batch, const float* x, float* out);

struct Block {
  const float *gain_1, *shift_1, *gain_2, *shift_2;
  Dense qkv, mix, up, down;
};
inline constexpr int kBlockRows = 16, kBlockWidth = 64, kBlockHidden = 128;  // largest sizes
void transformer(const Block* layers, int count, int heads, bool gelu, int rows, const float* x, float* out);

}  // namespace sr::bench::light

// Compiled with -O3 -march=native -ffast-math. Nothing from here may leak into other files, so it uses no
// templates of the standard library.
#include "light.hpp"

#include <math.h>

namespace sr::bench::light {
namespace {

constexpr int kMostWidth = 192, kMostRows = 32;

float largest(float a, float b) {
  return a > b ? a : b;
}
float smallest(float a, float b) {
  return a < b ? a : b;
}
float leaky(float x, float slope) {
  return x > 0 ? x : x * slope;
}
// Computing the exponential of both signs keeps the loop without branches.
float elu(float x) {
  const float below = expf(smallest(x, 0.0f)) - 1;
  return x > 0 ? x : below;
}
float relu(float x) {
  return largest(x, 0.0f);
}
float sigmoid(float x) {
  return 1 / (1 + expf(-x));
}

void activate(Activation activation, int n, float* x) {
  switch (activation) {
    case Activation::none:
      break;
    case Activation::relu:
      for (int i = 0; i < n; ++i) x[i] = relu(x[i]);
      break;
    case Activation::sigmoid:
      for (int i = 0; i < n; ++i) x[i] = sigmoid(x[i]);
      break;
    case Activation::gelu:
      for (int i = 0; i < n; ++i) x[i] = 0.5f * x[i] * (1 + erff(x[i] * 0.70710678f));
      break;
  }
}

// A tile of results that stays in registers.
template <int Rows, int Columns>
void tile(const Dense& layer, const float* x, int first, float* out) {
  float sums[Rows][Columns];
  for (int r = 0; r < Rows; ++r) {
    for (int c = 0; c < Columns; ++c) sums[r][c] = layer.bias[first + c];
  }
  for (int i = 0; i < layer.in; ++i) {
    const float* weights = layer.packed + i * layer.out + first;
    for (int r = 0; r < Rows; ++r) {
      for (int c = 0; c < Columns; ++c) sums[r][c] += x[r * layer.in + i] * weights[c];
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int c = 0; c < Columns; ++c) out[r * layer.out + first + c] = sums[r][c];
  }
}

template <int Rows>
void rows_of(const Dense& layer, const float* x, float* out) {
  int first = 0;
  for (; first + 64 <= layer.out; first += 64) tile<Rows, 64>(layer, x, first, out);
  for (; first + 16 <= layer.out; first += 16) tile<Rows, 16>(layer, x, first, out);
  for (; first < layer.out; ++first) {
    for (int r = 0; r < Rows; ++r) {
      float sum = layer.bias[first];
      for (int i = 0; i < layer.in; ++i) sum += x[r * layer.in + i] * layer.packed[i * layer.out + first];
      out[r * layer.out + first] = sum;
    }
  }
}

void dense(const Dense& layer, int rows, const float* x, float* out) {
  int row = 0;
  for (; row + 4 <= rows; row += 4) rows_of<4>(layer, x + row * layer.in, out + row * layer.out);
  for (; row < rows; ++row) rows_of<1>(layer, x + row * layer.in, out + row * layer.out);
}

void layer_norm(int rows, int width, const float* x, const float* gain, const float* shift, float* out) {
  for (int r = 0; r < rows; ++r, x += width, out += width) {
    float sum = 0, squares = 0;
    for (int i = 0; i < width; ++i) sum += x[i];
    const float mean = sum / static_cast<float>(width);
    for (int i = 0; i < width; ++i) squares += (x[i] - mean) * (x[i] - mean);
    const float scale = 1 / sqrtf(squares / static_cast<float>(width) + 1e-5f);
    for (int i = 0; i < width; ++i) out[i] = (x[i] - mean) * scale * gain[i] + shift[i];
  }
}

void attend(int rows, int width, int heads, const float* qkv, float* out) {
  const int part = width / heads;
  const float scale = 1 / sqrtf(static_cast<float>(part));
  for (int h = 0; h < heads; ++h) {
    for (int r = 0; r < rows; ++r) {
      const float* q = qkv + r * 3 * width + h * part;
      float shares[kMostRows], most = -INFINITY, sum = 0;
      for (int j = 0; j < rows; ++j) {
        const float* k = qkv + j * 3 * width + width + h * part;
        float product = 0;
        for (int i = 0; i < part; ++i) product += q[i] * k[i];
        shares[j] = product * scale;
      }
      for (int j = 0; j < rows; ++j) most = largest(most, shares[j]);
      for (int j = 0; j < rows; ++j) shares[j] = expf(shares[j] - most);
      for (int j = 0; j < rows; ++j) sum += shares[j];
      float* mixed = out + r * width + h * part;
      for (int i = 0; i < part; ++i) mixed[i] = 0;
      for (int j = 0; j < rows; ++j) {
        const float* v = qkv + j * 3 * width + 2 * width + h * part;
        const float share = shares[j] / sum;
        for (int i = 0; i < part; ++i) mixed[i] += share * v[i];
      }
    }
  }
}

}  // namespace

void deep_wide(const DeepWide& m, int batch, const float* ad, const float* user, const float* wide,
               float* out) {
  for (int row = 0; row < batch; ++row, ad += m.width, user += m.width, wide += m.features) {
    float product = 0, sum = 0;
    for (int i = 0; i < m.width; ++i) product += ad[i] * user[i];
    for (int i = 0; i < m.features; ++i) {
      sum += smallest(largest((wide[i] + m.mu[i]) * m.sigma[i], 0.0f), 10.0f) * m.weight[i + 1];
    }
    out[row] = sigmoid(m.bias[0] + product * m.weight[0] + sum);
  }
}

void wide_tanh(const Wide& m, int batch, const float* x, float* out) {
  for (int row = 0; row < batch; ++row, x += m.features) {
    float sum = m.bias[0];
    for (int i = 0; i < m.features; ++i) sum += relu((x[i] - m.mean[i]) / m.scale[i]) * m.weight[i];
    out[row] = sum;
  }
  for (int row = 0; row < batch; ++row) out[row] = tanhf(out[row]);
}

void leaky_relu_5(int n, float slope, const float* x, float* out) {
  for (int i = 0; i < n; ++i) {
    out[i] = leaky(leaky(leaky(leaky(leaky(x[i], slope), slope), slope), slope), slope);
  }
}

void elu_3(int n, const float* x, float* out) {
  for (int i = 0; i < n; ++i) out[i] = elu(elu(elu(x[i])));
}

void signed_log1p(int n, const float* x, float* out) {
  for (int i = 0; i < n; ++i) out[i] = copysignf(log1pf(fabsf(x[i])), x[i]);
}

void signed_sqrt(int n, const float* x, float* out) {
  for (int i = 0; i < n; ++i) out[i] = copysignf(sqrtf(fabsf(x[i])), x[i]);
}

void long_chain(int n, const float* a, const float* b, const float* c, float* out) {
  for (int i = 0; i < n; ++i) {
    const float product = relu(relu(a[i] * c[i]) * relu(a[i] * b[i]));
    out[i] = relu(relu(product * product) * c[i]);
  }
}

void other_chain(int n, const float* x, const float* y, float* out) {
  for (int i = 0; i < n; ++i) {
    out[i] = x[i] / largest(sqrtf(fabsf(tanhf(x[i] - y[i])) + 0.5f), y[i]);
  }
}

void perceptron(const Dense* layers, int count, Activation between, int batch, const float* x, float* out) {
  float values[2][kMostRows * kMostWidth];
  for (int i = 0; i < count; ++i) {
    const bool last = i + 1 == count;
    float* result = last ? out : values[i % 2];
    dense(layers[i], batch, x, result);
    if (!last) activate(between, batch * layers[i].out, result);
    x = result;
  }
}

void transformer(const Block* layers, int count, int heads, bool gelu, int rows, const float* x, float* out) {
  float normed[kMostRows * kMostWidth], wide[kMostRows * kMostWidth], mixed[kMostRows * kMostWidth];
  const int width = layers[0].mix.in;
  for (int i = 0; i < rows * width; ++i) out[i] = x[i];
  for (int l = 0; l < count; ++l) {
    const Block& block = layers[l];
    layer_norm(rows, width, out, block.gain_1, block.shift_1, normed);
    dense(block.qkv, rows, normed, wide);
    attend(rows, width, heads, wide, mixed);
    dense(block.mix, rows, mixed, normed);
    for (int i = 0; i < rows * width; ++i) out[i] += normed[i];
    layer_norm(rows, width, out, block.gain_2, block.shift_2, normed);
    dense(block.up, rows, normed, wide);
    activate(gelu ? Activation::gelu : Activation::relu, rows * block.up.out, wide);
    dense(block.down, rows, wide, mixed);
    for (int i = 0; i < rows * width; ++i) out[i] += mixed[i];
  }
}

}  // namespace sr::bench::light

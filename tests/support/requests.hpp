// Lists of requests: a small net builder, the shapes of well-known nets, and random sets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include <sr/memory/request.hpp>

namespace sr::test {

using memory::Bytes;
using memory::Request;
using memory::StepIndex;

// Each call adds one node. A value lives from its node to the last node that reads it.
class NetBuilder {
 public:
  using Value = std::uint32_t;

  Value node(Bytes bytes, const std::vector<Value>& inputs) {
    const StepIndex step = step_++;
    for (const Value input : inputs) requests_[input].end = step + 1;
    requests_.push_back({.bytes = bytes, .first = step, .end = step + 1});
    return static_cast<Value>(requests_.size() - 1);
  }
  // A pointwise operator, which may overwrite its first input if nothing reads it later.
  Value in_place(const std::vector<Value>& inputs) {
    const Value value = node(requests_[inputs.front()].bytes, inputs);
    requests_[value].may_reuse_input = inputs.front();
    return value;
  }
  std::vector<Request> take() {
    for (Request& request : requests_) {
      if (request.may_reuse_input == memory::kNoRequest) continue;
      if (requests_[request.may_reuse_input].end != request.first + 1) {
        request.may_reuse_input = memory::kNoRequest;
      }
    }
    return std::move(requests_);
  }

 private:
  StepIndex step_ = 0;
  std::vector<Request> requests_;
};

struct Net {
  std::string name;
  std::vector<Request> requests;
};

inline std::vector<Request> chain_net(bool in_place) {
  NetBuilder net;
  auto x = net.node(4 * 784, {});
  for (const Bytes width : {512, 1024, 2048, 1000, 4000, 300, 5000, 64, 10}) {
    x = net.node(4 * width, {x});
    x = in_place ? net.in_place({x}) : net.node(4 * width, {x});
  }
  return net.take();
}

// ResNet-50 at 224 x 224: bottleneck blocks; the flag makes relu and the residual sum in-place.
inline std::vector<Request> residual_net(bool in_place) {
  NetBuilder net;
  const auto act = [&](NetBuilder::Value x, Bytes bytes) {
    return in_place ? net.in_place({x}) : net.node(bytes, {x});
  };
  auto x = net.node(4 * 64 * 112 * 112, {});
  x = act(x, 4 * 64 * 112 * 112);
  x = net.node(4 * 64 * 56 * 56, {x});
  Bytes side = 56;
  Bytes width = 64;
  for (const int blocks : {3, 4, 6, 3}) {
    for (int block = 0; block < blocks; ++block) {
      const Bytes entry = block == 0 && width > 64 ? 2 * side : side;
      const Bytes inner = 4 * width * side * side;
      auto y = net.node(4 * width * entry * entry, {x});
      y = act(y, 4 * width * entry * entry);
      y = net.node(inner, {y});
      y = act(y, inner);
      y = net.node(4 * inner, {y});
      const auto shortcut = block == 0 ? net.node(4 * inner, {x}) : x;
      x = in_place ? net.in_place({y, shortcut}) : net.node(4 * inner, {y, shortcut});
      x = act(x, 4 * inner);
    }
    side /= 2;
    width *= 2;
  }
  x = net.node(4 * 2048, {x});
  net.node(4 * 1000, {x});
  return net.take();
}

inline std::vector<Request> transformer_net(bool in_place, Bytes sequence = 128, Bytes width = 768,
                                            int layers = 12) {
  NetBuilder net;
  const Bytes hidden = 4 * sequence * width;
  const Bytes scores = 4 * (width / 64) * sequence * sequence;
  auto x = net.node(hidden, {});
  const auto mask = net.node(4 * sequence, {});
  for (int layer = 0; layer < layers; ++layer) {
    const auto normed = net.node(hidden, {x});
    const auto q = net.node(hidden, {normed});
    const auto k = net.node(hidden, {normed});
    const auto v = net.node(hidden, {normed});
    auto s = net.node(scores, {q, k});
    s = in_place ? net.in_place({s, mask}) : net.node(scores, {s, mask});
    s = in_place ? net.in_place({s}) : net.node(scores, {s});
    const auto context = net.node(hidden, {s, v});
    const auto projected = net.node(hidden, {context});
    x = in_place ? net.in_place({projected, x}) : net.node(hidden, {projected, x});
    const auto normed2 = net.node(hidden, {x});
    auto ff = net.node(4 * hidden, {normed2});
    ff = in_place ? net.in_place({ff}) : net.node(4 * hidden, {ff});
    const auto out = net.node(hidden, {ff});
    x = in_place ? net.in_place({out, x}) : net.node(hidden, {out, x});
  }
  net.node(4 * width, {x});
  return net.take();
}

// DLRM: 26 embedding bags and a small perceptron, concatenated, then a large perceptron.
inline std::vector<Request> embedding_net(Bytes batch = 64) {
  NetBuilder net;
  auto dense = net.node(4 * batch * 13, {});
  for (const Bytes width : {512, 256, 64}) dense = net.in_place({net.node(4 * batch * width, {dense})});
  std::vector<NetBuilder::Value> features{dense};
  for (int table = 0; table < 26; ++table) features.push_back(net.node(4 * batch * 64, {}));
  const auto all = net.node(4 * batch * 27 * 64, features);
  const auto products = net.node(4 * batch * 27 * 27, {all});
  const auto triangle = net.node(4 * batch * 351, {products});
  auto x = net.node(4 * batch * (351 + 64), {triangle, dense});
  for (const Bytes width : {1024, 1024, 512, 256, 1}) x = net.in_place({net.node(4 * batch * width, {x})});
  return net.take();
}

// The blocks of DenseNet-121: every layer reads the concatenation of all previous ones.
inline std::vector<Request> dense_net(bool in_place) {
  NetBuilder net;
  Bytes side = 56;
  Bytes channels = 64;
  auto x = net.node(4 * channels * side * side, {});
  for (const int layers : {6, 12, 24, 16}) {
    std::vector<NetBuilder::Value> features{x};
    const Bytes pixel = 4 * side * side;
    for (int layer = 0; layer < layers; ++layer) {
      auto y = net.node(channels * pixel, features);
      y = in_place ? net.in_place({y}) : net.node(channels * pixel, {y});
      y = net.node(128 * pixel, {y});
      y = in_place ? net.in_place({y}) : net.node(128 * pixel, {y});
      features.push_back(net.node(32 * pixel, {y}));
      channels += 32;
    }
    x = net.node(channels * pixel, features);
    channels /= 2;
    x = net.node(channels * pixel, {x});
    side /= 2;
    x = net.node(4 * channels * side * side, {x});
  }
  return net.take();
}

// Skip connections live from the way down to the way up.
inline std::vector<Request> u_net() {
  NetBuilder net;
  std::vector<NetBuilder::Value> skips;
  Bytes side = 256;
  Bytes width = 32;
  auto x = net.node(4 * 3 * side * side, {});
  for (int level = 0; level < 4; ++level, side /= 2, width *= 2) {
    for (int i = 0; i < 2; ++i) x = net.in_place({net.node(4 * width * side * side, {x})});
    skips.push_back(x);
    x = net.node(width * side * side, {x});
  }
  for (int i = 0; i < 2; ++i) x = net.in_place({net.node(4 * width * side * side, {x})});
  for (int level = 0; level < 4; ++level) {
    side *= 2;
    width /= 2;
    const auto up = net.node(4 * width * side * side, {x});
    x = net.node(8 * width * side * side, {up, skips.back()});
    skips.pop_back();
    for (int i = 0; i < 2; ++i) x = net.in_place({net.node(4 * width * side * side, {x})});
  }
  net.node(4 * side * side, {x});
  return net.take();
}

// Four branches of different widths, concatenated.
inline std::vector<Request> inception_net() {
  NetBuilder net;
  auto x = net.node(4 * 192 * 28 * 28, {});
  for (int block = 0; block < 9; ++block) {
    const Bytes pixel = block < 2 ? 4 * 28 * 28 : block < 7 ? 4 * 14 * 14 : 4 * 7 * 7;
    const Bytes grow = 16 * static_cast<Bytes>(block + 1);
    const auto a = net.in_place({net.node((64 + grow) * pixel, {x})});
    auto b = net.in_place({net.node((96 + grow) * pixel, {x})});
    b = net.in_place({net.node((128 + 2 * grow) * pixel, {b})});
    auto c = net.in_place({net.node((16 + grow / 4) * pixel, {x})});
    c = net.in_place({net.node((32 + grow) * pixel, {c})});
    auto d = net.node(192 * pixel, {x});
    d = net.in_place({net.node((32 + grow) * pixel, {d})});
    x = net.node((256 + 5 * grow) * pixel, {a, b, c, d});
  }
  return net.take();
}

inline std::vector<Request> lstm_net(Bytes steps = 32, Bytes width = 512) {
  NetBuilder net;
  const auto x = net.node(4 * steps * width, {});
  auto h = net.node(4 * width, {});
  auto c = net.node(4 * width, {});
  std::vector<NetBuilder::Value> outputs;
  for (Bytes step = 0; step < steps; ++step) {
    const auto gates = net.node(16 * width, {x, h});
    const auto forget = net.in_place({net.node(4 * width, {gates})});
    const auto kept = net.in_place({forget, c});
    const auto fresh = net.in_place({net.node(4 * width, {gates})});
    c = net.in_place({fresh, kept});
    const auto shown = net.node(4 * width, {gates});
    h = net.in_place({shown, c});
    outputs.push_back(h);
  }
  net.node(4 * steps * width, outputs);
  return net.take();
}

inline std::vector<Net> nets() {
  return {{"chain", chain_net(false)},
          {"chain, in place", chain_net(true)},
          {"residual", residual_net(false)},
          {"residual, in place", residual_net(true)},
          {"transformer", transformer_net(false)},
          {"transformer, in place", transformer_net(true)},
          {"transformer, long", transformer_net(true, 1024, 512, 6)},
          {"embedding bags", embedding_net()},
          {"dense", dense_net(false)},
          {"dense, in place", dense_net(true)},
          {"u-net", u_net()},
          {"inception", inception_net()},
          {"lstm", lstm_net()}};
}

struct RandomOptions {
  std::size_t count = 50;
  StepIndex steps = 50;
  StepIndex longest = 20;
  Bytes largest = 4096;
  bool mixed_alignment = false;  // powers of two from 1 to 4096 instead of 64
  bool in_place = true;
};

// Lifetimes of mixed length: most short, some long, as in real nets.
inline std::vector<Request> random_requests(std::mt19937& random, const RandomOptions& options) {
  const auto below = [&](std::size_t bound) {
    return static_cast<std::uint32_t>(random() % std::max<std::size_t>(bound, 1));
  };
  std::vector<Request> requests;
  for (std::size_t i = 0; i < options.count; ++i) {
    Request request;
    request.bytes = below(16) == 0
                        ? 0
                        : (below(4) == 0 ? 64 * below(options.largest / 64 + 1) : below(options.largest + 1));
    if (options.mixed_alignment) request.alignment = Bytes{1} << below(13);
    request.first = below(options.steps);
    const StepIndex length = 1 + (below(4) == 0 ? below(options.longest) : below(4));
    request.end = request.first + length;
    if (options.in_place && i != 0 && below(3) == 0) {
      request.may_reuse_input = below(i);  // most hints are wrong, so planners must check them
      const Request& input = requests[request.may_reuse_input];
      if (below(2) == 0) request.first = input.end - 1, request.end = input.end - 1 + length;
      if (below(2) == 0) request.bytes = input.bytes;
    }
    requests.push_back(request);
  }
  return requests;
}

}  // namespace sr::test

// Small models with random weights, of the kinds that sr is made for.
#pragma once

#include <string>
#include <vector>

#include <torch/script.h>

#include "../support/oracle.hpp"

namespace sr::test {

struct SmallModel {
  std::string name;
  torch::jit::Module module;
  std::vector<InputSet> runs;  // of several shapes
};

SmallModel digits_convnet();
SmallModel bert_like_encoder();
SmallModel resnet_like();
SmallModel lstm_tagger();
SmallModel dlrm_like();
SmallModel detection_head();

}  // namespace sr::test

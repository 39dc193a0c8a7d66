// Changes the batch size of arguments.
#include "../src/tool/inputs/batches.hpp"

#include <string>

#include <torch/torch.h>

#include <sr/error.hpp>

#include "support/catch.hpp"

namespace sr::test::tool_batches_tests {

using sr::tool::ArgumentList;
using sr::tool::text_of;
using sr::tool::with_batch;

TEST_CASE("rows are repeated in turn, or left out from the end", "[tool]") {
  const ArgumentList args{torch::arange(6).reshape({3, 2})};
  CHECK(with_batch(args, 7)[0].toTensor().equal(
      torch::tensor({0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1}, torch::kLong).reshape({7, 2})));
  CHECK(with_batch(args, 2)[0].toTensor().equal(torch::tensor({0, 1, 2, 3}, torch::kLong).reshape({2, 2})));
  CHECK(with_batch(args, 3)[0].toTensor().equal(args[0].toTensor()));
}

TEST_CASE("only arguments with as many rows as the first one are scaled", "[tool]") {
  const at::Tensor first = torch::rand({4, 3}), other = torch::rand({3, 4}), scalar = torch::rand({});
  const ArgumentList args{first, torch::arange(4), other, scalar, 4, 0.5, c10::IValue()};
  const ArgumentList scaled = with_batch(args, 9);
  REQUIRE(scaled.size() == 7);
  CHECK(scaled[0].toTensor().sizes() == at::IntArrayRef({9, 3}));
  CHECK(scaled[1].toTensor().sizes() == at::IntArrayRef({9}));
  CHECK(scaled[1].toTensor().max().item<int>() == 3);  // indices stay in their range
  CHECK(scaled[2].toTensor().is_same(other));
  CHECK(scaled[3].toTensor().is_same(scalar));
  CHECK(scaled[4].toInt() == 4);
  CHECK(scaled[5].toDouble() == 0.5);
  CHECK(scaled[6].isNone());
  CHECK(first.sizes() == at::IntArrayRef({4, 3}));
}

TEST_CASE("images with channels last keep their layout", "[tool]") {
  const at::Tensor images = torch::rand({2, 3, 5, 5}).contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor scaled = with_batch({images}, 4)[0].toTensor();
  CHECK(scaled.is_contiguous(at::MemoryFormat::ChannelsLast));
  CHECK(scaled[2].equal(images[0]));
}

TEST_CASE("a first argument without rows is named with all of them", "[tool]") {
  for (const ArgumentList& args : {ArgumentList{}, ArgumentList{1, torch::rand({2})},
                                   ArgumentList{torch::rand({})}, ArgumentList{torch::rand({0, 3})}}) {
    try {
      with_batch(args, 2);
      FAIL("accepted");
    } catch (const sr::ArgumentError& error) {
      const std::string what = error.what_without_backtrace();
      INFO(what);
      CHECK(what.find("has to be a tensor with rows, but the arguments are " + text_of(args)) !=
            std::string::npos);
    }
  }
  CHECK(text_of(ArgumentList{torch::rand({2, 3}), 1, c10::IValue()}) == "(Float[2, 3], Int, None)");
}

}  // namespace sr::test::tool_batches_tests

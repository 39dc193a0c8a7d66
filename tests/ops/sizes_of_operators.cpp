// Calls every operator that has a rule of layouts, a lowering or a fact with tensors of many sizes and
// layouts on one runtime, and compares results and strides with the interpreter's. Set SR_SIZES to the number
// of cases for each operator.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/drawn_operators.hpp"

namespace sr::test::sizes_of_operators_tests {

namespace {

// The memory order of a tensor. It is the same in all calls of a case.
struct Layout {
  std::vector<std::size_t> order;  // of the dimensions, the outermost first
  std::size_t gap = 0;             // the dimension of which every other element is taken; none if too large
};

Layout draw_layout(std::size_t rank, Random& random) {
  Layout layout{std::vector<std::size_t>(rank), rank};
  std::iota(layout.order.begin(), layout.order.end(), std::size_t{0});
  if (rank < 2) return layout;
  switch (below(random, 4)) {
    case 0:
      std::ranges::shuffle(layout.order, random);
      break;
    case 1:  // channels last
      std::rotate(layout.order.begin() + 1, layout.order.begin() + 2, layout.order.end());
      break;
    case 2:
      layout.gap = below(random, rank);
      break;
    default:
      break;
  }
  return layout;
}

// Returns a tensor of these sizes with the dtype of `like`. It holds zeros if `like` is an index tensor of
// zeros.
at::Tensor make_tensor(const at::Tensor& like, std::vector<std::int64_t> sizes, const Layout& layout) {
  if (layout.gap < sizes.size()) sizes[layout.gap] *= 2;
  std::vector<std::int64_t> outer, back(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    outer.push_back(sizes[layout.order[i]]);
    back[layout.order[i]] = static_cast<std::int64_t>(i);
  }
  at::Tensor made = at::rand(outer).add_(0.25);
  const bool is_index = like.scalar_type() == at::kLong && like.count_nonzero().item<std::int64_t>() == 0;
  made = is_index                          ? at::zeros(outer, at::kLong)
         : like.scalar_type() == at::kLong ? (made * 3).to(at::kLong)
         : like.scalar_type() == at::kBool ? made > 0.7
                                           : made.to(like.scalar_type());
  made = made.permute(back);
  if (layout.gap >= sizes.size()) return made;
  return made.slice(static_cast<std::int64_t>(layout.gap), 0, sizes[layout.gap], 2);
}

// Returns the sizes of a tensor in call `k`. Sizes above 1 vary between calls: all of them alike, or, if
// `by_place` is true, by their distance from the last dimension, so that tensors still broadcast.
std::vector<std::int64_t> sizes_of_call(const at::Tensor& tensor, std::size_t k, bool by_place) {
  static constexpr std::int64_t kAdded[] = {0, 1, 2, 3, 1, 0, 5, -1, 2};
  std::vector<std::int64_t> sizes = tensor.sizes().vec();
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const std::size_t place = by_place ? sizes.size() - d : 1;
    if (sizes[d] > 1) sizes[d] += kAdded[k * place % std::size(kAdded)];
  }
  return sizes;
}

// Returns the first difference from the interpreter in nine calls of one runtime, or an empty text.
std::string difference_in_calls(const c10::FunctionSchema& schema, const DrawnCase& of, Random& random,
                                std::size_t& replayed) {
  std::vector<Layout> layouts;
  for (const c10::IValue& input : of.inputs)
    each_tensor(input, [&](const at::Tensor& tensor) {
      layouts.push_back(draw_layout(static_cast<std::size_t>(tensor.dim()), random));
    });
  OracleOptions options{.rtol = 1e-2, .atol = 1e-2};
  options.unread_strides = false;
  const bool by_place = below(random, 2) == 0;
  StaticRuntime<> runtime{StaticModule(of.graph->copy())};
  for (std::size_t k = 0; k < 9; ++k) {
    DrawnCase call{of.graph, {}};
    std::size_t next = 0;
    const auto resized = [&](const at::Tensor& tensor) {
      return make_tensor(tensor, sizes_of_call(tensor, k, by_place), layouts[next++]);
    };
    for (const c10::IValue& input : of.inputs) {
      if (input.isTensor()) {
        call.inputs.emplace_back(resized(input.toTensor()));
      } else {
        c10::List<at::Tensor> tensors;
        for (const at::Tensor& tensor : input.toTensorVector()) tensors.push_back(resized(tensor));
        call.inputs.emplace_back(std::move(tensors));
      }
    }
    const Answer expected = interpreted(call, schema);
    const Answer answer = answer_of(call, [&](std::vector<c10::IValue>& inputs) { return runtime(inputs); });
    const std::string found = difference_of(expected, answer, options);
    if (!found.empty()) return "call " + std::to_string(k) + ": " + found + "\n" + text_of(schema, call);
  }
  replayed += runtime.replayed_calls();
  return {};
}

}  // namespace

TEST_CASE("operators with tensors of many sizes and layouts answer as the interpreter", "[ops][families]") {
  std::size_t checked = 0, replayed = 0;
  each_drawn_case(cases_for_each("SR_SIZES", 4),
                  [&](const c10::FunctionSchema& schema, const DrawnCase& drawn, Random& random) {
                    const std::string found = difference_in_calls(schema, drawn, random, replayed);
                    if (!found.empty()) FAIL_CHECK(found);
                    ++checked;
                  });
  INFO(checked << " cases with " << replayed << " replayed calls");
  CHECK(checked > 1000);
  CHECK(replayed > checked);
}

}  // namespace sr::test::sizes_of_operators_tests

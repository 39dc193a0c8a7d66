// Chains of vector ops against the same vector ops one after the other, and batched dot products, with the
// kernels of every instruction set of this CPU.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <sr/kernels/kernels.hpp>

#include "support/catch.hpp"
#include "support/kernel_sets.hpp"
#include "support/kernel_values.hpp"

using namespace sr::kernels;
using sr::test::kernel_sets;
using sr::test::same;
using sr::test::uniform_floats;

namespace {

struct Source {
  bool chained, scalar;
};

// The operands that a kind describes; empty if there is no such kind.
std::vector<Source> sources(std::size_t operands, std::size_t kind) {
  constexpr Source chain{true, false}, array{false, false}, scalar{false, true};
  if (operands == 1) return kind == 0 ? std::vector<Source>{chain} : std::vector<Source>{};
  if (operands == 2) {
    return std::vector<std::vector<Source>>{{chain, array}, {chain, scalar}, {array, chain}, {scalar, chain},
                                            {chain, chain}, {chain, array},  {array, chain}}[kind];
  }
  if (kind > 3) return {};
  return {chain, (kind & 1) != 0 ? scalar : array, (kind & 2) != 0 ? scalar : array};
}

// Compares chains of one vector op, with stores before and after it, with the vector op alone.
void check_link(const Kernels& set, std::size_t vector_op, std::size_t kind, std::size_t n) {
  const Table& table = set.table;
  const VectorLoops& loops = set.vector_ops[vector_op];
  const std::vector<Source> from = sources(loops.operands, kind);
  if (from.empty()) return;
  std::vector<float> chained = uniform_floats(n, -3, 3);
  std::array<std::vector<float>, 2> others = {uniform_floats(n, -3, 3), uniform_floats(n, -3, 3)};
  std::array<const float*, kMaxOperands> in{};
  ChainLink link{.run = table.link(*loops.links, kind)};
  std::size_t used = 0, scalars = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    in[i] = from[i].chained ? chained.data() : others[used].data();
    if (!from[i].chained) link.at[used] = others[used].data(), ++used;
    scalars |= static_cast<std::size_t>(from[i].scalar) << i;
  }
  std::vector<float> alone(n), linked(n + 1, 77.0F), between(n);
  loops.by_scalars[scalars](n, alone.data(), in.data());
  const std::array<ChainLink, 5> chain = {
      ChainLink{.run = table.link_to(ChainEnd::load), .at = {chained.data()}},
      ChainLink{.run = table.link_to(ChainEnd::store), .at = {between.data()}}, link,
      ChainLink{.run = table.link_to(ChainEnd::store), .at = {linked.data()}},
      ChainLink{.run = table.link_to(ChainEnd::end)}};
  table.run_chain(chain.data(), n);
  CAPTURE(table.name, vector_op, kind, n);
  CHECK(linked.back() == 77.0F);
  linked.pop_back();
  CHECK(same(linked, alone));
  CHECK(same(between, chained));
}

}  // namespace

TEST_CASE("kernels: a vector op in a chain computes what it computes alone", "[kernels]") {
  for (const Kernels* set : kernel_sets()) {
    const std::size_t block = set->table.block, width = set->table.width;
    for (std::size_t vector_op = 0; vector_op < BuiltinVectorOps::size; ++vector_op) {
      REQUIRE(set->vector_ops[vector_op].links != nullptr);
      for (std::size_t kind = 0; kind < kLinkKinds; ++kind) {
        // Both block sizes, whole and overlapping, in every order.
        for (const std::size_t n :
             {width, width + 1, 2 * width, 3 * width - 1, block - 1, block, block + 1, 2 * block - 1,
              2 * block, 2 * block + 3, 3 * block, 3 * block + 1, 4 * block, 7 * block - 1}) {
          check_link(*set, vector_op, kind, n);
        }
      }
    }
  }
}

TEST_CASE("kernels: values that a chain keeps are loaded again as first or second operand", "[kernels]") {
  for (const Kernels* set : kernel_sets()) {
    const Table& table = set->table;
    const auto& sub = set->vector_ops[BuiltinVectorOps::index_of<vector_ops::Sub>()];
    const auto& neg = set->vector_ops[BuiltinVectorOps::index_of<vector_ops::Neg>()];
    for (const std::size_t n : {table.width + 3, table.block, 3 * table.block + 1, 4 * table.block}) {
      const std::vector<float> a = uniform_floats(n, -3, 3);
      std::vector<float> in = a, kept(n), out(n);
      const std::array<ChainLink, 8> chain = {
          ChainLink{.run = table.link_to(ChainEnd::load), .at = {in.data()}},
          ChainLink{.run = table.link(*neg.links, 0)},
          ChainLink{.run = table.link_to(ChainEnd::keep), .at = {kept.data()}},
          ChainLink{.run = table.link_to(ChainEnd::load), .at = {in.data()}},
          ChainLink{.run = table.link(*sub.links, 5), .at = {kept.data()}},
          ChainLink{.run = table.link_to(ChainEnd::store), .at = {out.data()}},
          ChainLink{.run = table.link_to(ChainEnd::load_kept), .at = {kept.data()}},
          ChainLink{.run = table.link_to(ChainEnd::end)}};
      table.run_chain(chain.data(), n);
      CAPTURE(table.name, n);
      for (std::size_t i = 0; i < n; ++i) {
        CHECK(kept[i] == -a[i]);
        CHECK(out[i] == a[i] + a[i]);
      }
    }
  }
}

TEST_CASE("kernels: batched dot products", "[kernels]") {
  for (const Kernels* set : kernel_sets()) {
    for (const std::size_t k : {0, 1, 3, 4, 7, 15, 16, 17, 32, 40, 51, 56, 64, 100, 128, 257}) {
      for (std::size_t count = 0; count <= 9; ++count) {
        for (const std::size_t stride : {std::size_t{0}, k, k + 3}) {
          const std::vector<float> a = uniform_floats(count * (k + 3) + k, -3, 3),
                                   b = uniform_floats(count * (k + 3) + k, -3, 3);
          const float bias = uniform_floats(1, -3, 3)[0];
          std::vector<float> out(3 * count + 1, 77.0F);
          set->table.batched_dot(
              count, k)({.count = count,
                         .k = k,
                         .a = a.data(),
                         .a_row = static_cast<std::ptrdiff_t>(k + 3),
                         .b = b.data(),
                         .b_row = static_cast<std::ptrdiff_t>(stride),
                         .bias = count % 2 == 0 ? nullptr : &bias,
                         .clamp_min = count % 3 == 0 ? 0.0F : -std::numeric_limits<float>::infinity(),
                         .out = out.data(),
                         .out_stride = 3});
          CAPTURE(set->table.name, k, count, stride);
          for (std::size_t i = 0; i < count; ++i) {
            double total = count % 2 == 0 ? 0 : bias, scale = std::fabs(total);
            for (std::size_t l = 0; l < k; ++l) {
              const double product = double{a[i * (k + 3) + l]} * b[i * stride + l];
              total += product;
              scale += std::fabs(product);
            }
            if (count % 3 == 0) total = std::max(total, 0.0);
            CHECK(std::fabs(out[3 * i] - total) <= static_cast<double>(k + 1) * 0x1p-24 * scale);
            CHECK(out[3 * i + 1] == 77.0F);
          }
        }
      }
    }
  }
}

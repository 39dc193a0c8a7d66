// Links operations of a fused step into chains, so that the result of one stays in registers for the next.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <sr/kernels/kernels.hpp>
#include <sr/replay/steps/tile_op.hpp>

namespace sr::replay {

// An address that a chain needs, and its place: bytes from the chain's first link.
struct LinkAddress {
  TileOperand operand;
  std::size_t place = 0;
};

// The links of a chain, and the addresses in them that each call sets.
struct Chain {
  std::vector<LinkAddress> addresses;
  mutable std::vector<kernels::ChainLink> links;

  // Sets the addresses in `at`, which is `links` or a copy, for a tile that begins at element `first`.
  void bind(std::byte* const* bases, std::size_t first, kernels::ChainLink* at) const {
    auto* const begin = reinterpret_cast<std::byte*>(at);
    for (const LinkAddress& address : addresses)
      *reinterpret_cast<float**>(begin + address.place) = address.operand.in(bases, first);
  }
};

// Operations `begin` to `end` - 1: one copy, or vector ops. Without a chain they run one after the other.
struct Segment {
  std::size_t begin = 0, end = 0;
  bool may_repeat = true;  // elements that were computed already: nothing is stored over what is read
  Chain chain;

  bool is_linked() const { return !chain.links.empty(); }
};

class ChainSearch {
 public:
  // `read_after` lists what is read from memory after all operations.
  ChainSearch(const std::vector<TileOp>& ops, std::vector<TileOperand> read_after)
      : ops_(&ops), read_after_(std::move(read_after)), kinds_(ops.size()) {}

  std::vector<Segment> find() {
    std::vector<Segment> segments;
    for (std::size_t begin = 0; begin < ops_->size();) {
      std::size_t end = begin + 1;
      bool continues = false;
      kinds_[begin] = kind_at_begin(op(begin));
      while (kinds_[end - 1] && end < ops_->size()) {
        const auto next = kind_behind(op(end), op(end - 1).out);
        kinds_[end] = next ? next : kind_at_begin(op(end));
        if (!kinds_[end]) break;
        continues |= kinds_[end]->continues;
        ++end;
      }
      Segment& segment = segments.emplace_back();
      segment.begin = begin;
      segment.end = end;
      if (continues) link(segment);
      begin = end;
    }
    return segments;
  }

 private:
  static constexpr std::size_t kBothChained = 4;
  static constexpr std::size_t kKept = 5;  // + the operand that comes from the chain

  struct Kind {
    std::size_t kind;       // as kernels::Links numbers them
    std::size_t first;      // the operand that comes from the chain
    bool continues = true;  // what the operation before made; else it is loaded
  };

  const TileOp& op(std::size_t i) const { return (*ops_)[i]; }

  // The kind of link for an operation whose operand `chained` is in registers.
  static std::optional<Kind> kind_behind(const TileOp& op, const TileOperand& chained) {
    if (op.links == nullptr) return std::nullopt;
    const auto is_chained = [&](std::size_t i) { return !op.is_scalar(i) && op.in[i] == chained; };
    if (op.operands == 1) return is_chained(0) ? std::optional(Kind{0, 0}) : std::nullopt;
    if (op.operands == 2) {
      if (is_chained(0) && is_chained(1)) return Kind{kBothChained, 0};
      if (is_chained(0)) return Kind{op.is_scalar(1) ? 1U : 0U, 0};
      if (is_chained(1)) return Kind{op.is_scalar(0) ? 3U : 2U, 1};
      return std::nullopt;
    }
    if (!is_chained(0) || is_chained(1) || is_chained(2)) return std::nullopt;
    return Kind{op.scalars >> 1, 0};
  }

  // The kind of link for an operation whose first operand is loaded.
  static std::optional<Kind> kind_at_begin(const TileOp& op) {
    if (op.links == nullptr) return std::nullopt;
    std::optional<Kind> kind;
    if (!op.is_scalar(0)) {
      kind = op.operands == 3 ? Kind{op.scalars >> 1, 0} : kind_behind(op, op.in[0]);
    } else if (op.operands == 2 && !op.is_scalar(1)) {
      kind = kind_behind(op, op.in[1]);
    }
    if (kind) kind->continues = false;
    return kind;
  }

  // True if the result of operation `i` is read from memory.
  bool is_stored(std::size_t i, std::size_t end) const {
    const TileOperand& made = op(i).out;
    if (made.advance != 0) return true;
    for (std::size_t j = i + 1; j < ops_->size(); ++j) {
      const bool in_registers = j == i + 1 && j < end && kinds_[j]->continues;
      for (std::size_t operand = 0; operand < op(j).operands && !in_registers; ++operand) {
        if (!op(j).is_scalar(operand) && op(j).in[operand] == made) return true;
      }
      if (op(j).out == made) return false;
    }
    return std::find(read_after_.begin(), read_after_.end(), made) != read_after_.end();
  }

  void link(Segment& segment) const {
    const kernels::Table& table = kernels::kernels().table;
    // The operands of each link, and the target of a store.
    std::vector<std::vector<TileOperand>> operands;
    std::vector<TileOperand> read, written;
    const auto add = [&](const kernels::LinkFunctions& run, std::vector<TileOperand> at) {
      segment.chain.links.push_back({.run = run});
      operands.push_back(std::move(at));
    };
    for (std::size_t i = segment.begin; i < segment.end; ++i) {
      const Kind& kind = *kinds_[i];
      const auto is_kept = [&](const TileOperand& operand) {
        return std::find(written.begin(), written.end(), operand) != written.end();
      };
      // A block that repeats elements computes kept values again.
      const auto note_read = [&](const TileOperand& operand) {
        if (!is_kept(operand)) read.push_back(operand);
      };
      if (!kind.continues) {
        const TileOperand& loaded = op(i).in[kind.first];
        note_read(loaded);
        add(table.link_to(is_kept(loaded) ? kernels::ChainEnd::load_kept : kernels::ChainEnd::load),
            {loaded});
      }
      std::vector<TileOperand> others;
      for (std::size_t operand = 0; operand < op(i).operands; ++operand) {
        if (operand != kind.first && kind.kind != kBothChained) others.push_back(op(i).in[operand]);
      }
      for (const TileOperand& other : others) note_read(other);
      const bool reads_kept =
          op(i).operands == 2 && others.size() == 1 && is_kept(others[0]) && !op(i).is_scalar(1 - kind.first);
      add(table.link(*op(i).links, reads_kept ? kKept + kind.first : kind.kind), std::move(others));
      if (!is_stored(i, segment.end)) continue;
      written.push_back(op(i).out);
      add(table.link_to(op(i).out.advance == 0 ? kernels::ChainEnd::keep : kernels::ChainEnd::store),
          {op(i).out});
    }
    add(table.link_to(kernels::ChainEnd::end), {});
    const auto* const begin = reinterpret_cast<const std::byte*>(segment.chain.links.data());
    for (std::size_t link = 0; link < operands.size(); ++link) {
      for (std::size_t i = 0; i < operands[link].size(); ++i) {
        const auto* const at = reinterpret_cast<const std::byte*>(&segment.chain.links[link].at[i]);
        segment.chain.addresses.push_back({operands[link][i], static_cast<std::size_t>(at - begin)});
      }
    }
    for (const TileOperand& out : written)
      segment.may_repeat &= std::find(read.begin(), read.end(), out) == read.end();
  }

  const std::vector<TileOp>* ops_;
  std::vector<TileOperand> read_after_;
  std::vector<std::optional<Kind>> kinds_;
};

}  // namespace sr::replay

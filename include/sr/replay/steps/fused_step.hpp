// Pointwise operations over one iteration space, executed tile by tile, so that each operation reads the
// results of earlier ones from the first-level cache.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <c10/util/SmallVector.h>

#include <sr/kernels/table.hpp>
#include <sr/replay/sizes/values.hpp>
#include <sr/replay/steps/chains.hpp>
#include <sr/replay/steps/image_accesses.hpp>
#include <sr/replay/steps/row_tail.hpp>
#include <sr/replay/steps/shares.hpp>
#include <sr/replay/steps/step.hpp>
#include <sr/replay/steps/tile_copy.hpp>
#include <sr/replay/steps/tile_op.hpp>
#include <sr/replay/steps/vector_op_pairs.hpp>
#include <sr/replay/steps/workspace.hpp>

namespace sr::replay {

struct FusedStep final : ClonableStep<FusedStep> {
  std::string_view name() const override { return "fused"; }
  std::vector<TileOp> ops;
  std::vector<Segment> segments;  // of them; point into `ops`
  std::vector<TileCopy> copies;
  std::vector<RowTail> tails;  // then a tile is whole rows of each
  // Literal operands point in here. Each is of the type computed with. Copies of the step share them.
  std::shared_ptr<std::vector<double>> numbers = std::make_shared<std::vector<double>>();
  void (*copy)(const kernels::StridedCopy& shape, const void* in, void* out) = nullptr;
  void (*run_links)(const kernels::ChainLink* first, std::size_t n) = nullptr;
  std::size_t chain_block = 1, chain_least = 1;  // elements, as kernels::Table::block and width

  bool may_be_cut = false;         // tiles do not depend on each other
  std::uint32_t scratch_base = 0;  // of the operands in scratch, which each thread has for itself
  std::size_t scratch_floats = 0;
  Shares shares;  // of tiles

  std::shared_ptr<const ImageAccesses> accesses;  // null: it does not do the same for each image
  Size outer_of_image = 0;                        // `sizes_of[0]` for one image

  Dims sizes_of;  // of the iteration space, outermost first
  // A tile is `chunk` indices of dimension `split` and all of those inside it.
  std::size_t split = 0;
  // In this call:
  Numbers sizes;
  std::size_t count = 0;  // elements of the iteration space
  std::int64_t chunk = 1;
  std::size_t inner = 1;               // elements of one index of `split`
  std::int64_t chunks = 1, tiles = 0;  // tiles along `split`, and all
  BoundVectorOp frozen_op;             // what freeze() keeps of the only operation

  std::size_t vector_bytes() const {
    std::size_t bytes = bytes_of(ops) + bytes_of(segments) + bytes_of(copies) + bytes_of(tails);
    for (const Segment& segment : segments)
      bytes += bytes_of(segment.chain.addresses) + bytes_of(segment.chain.links);
    return bytes;
  }

  // Must be called when all operations and tails are known.
  void link() {
    std::vector<TileOperand> read_after;
    for (const RowTail& tail : tails) read_after.push_back(tail.in);
    join_vector_op_pairs(ops, read_after);
    segments = ChainSearch(ops, std::move(read_after)).find();
  }

  // Must be called when `sizes_of` are known, before copies are added.
  void cut_into_tiles() {
    split = sizes_of.size() - 1;
    Size whole = 1;
    while (split > 0 && whole * sizes_of[split] <= kTile) whole *= sizes_of[split--];
  }

  // `width` is the number of bytes of an element.
  std::int32_t add_copy(Dims strides, std::size_t width, bool scatters) {
    TileCopy& made = copies.emplace_back();
    made.strides_of = std::move(strides);
    made.scatters = scatters;
    made.box.width = width;
    return static_cast<std::int32_t>(copies.size() - 1);
  }

  // True if an operand is one element for the whole tile.
  bool repeats_in_tile(const Dims& strides) const {
    return std::all_of(strides.begin() + static_cast<std::ptrdiff_t>(split), strides.end(),
                       [](const Size& stride) { return stride == 0; });
  }
  std::int32_t add_copy_of_one(Dims strides, std::size_t width) {
    const std::int32_t made = add_copy(std::move(strides), width, /*scatters=*/false);
    copies.back().is_one = true;
    return made;
  }

  RunStep settle(SizeValues& values) override {
    values.fill(sizes_of, sizes);
    inner = 1;
    for (std::size_t d = split + 1; d < sizes.size(); ++d) inner *= static_cast<std::size_t>(sizes[d]);
    count = inner;
    for (std::size_t d = 0; d <= split; ++d) count *= static_cast<std::size_t>(sizes[d]);
    chunk = std::min(sizes[split], static_cast<std::int64_t>(kTile / inner));
    for (TileCopy& each : copies) each.settle(values, sizes, split, chunk, inner);
    for (RowTail& tail : tails) tail.settle(values, inner);
    cut();
    const bool is_long = count * (ops.size() + tails.size()) >= kLeastWork;
    shares.set(may_be_cut && is_long ? tiles : 0, static_cast<double>(count));
    return runner();
  }

  Shares* shared_work() override { return &shares; }

  bool list_accesses(ImageAccesses& images) const override {
    if (accesses != nullptr) images = *accesses;
    return accesses != nullptr;
  }
  void keep_one_image() override { sizes_of[0] = outer_of_image; }

  RunStep freeze(std::byte* const* bases) override {
    const RunStep usual = runner();
    if (usual == &run_only_op) {
      frozen_op = ops[0].bound(bases, 0, 0, count);
      return [](const Payload& payload, Context&) { static_cast<const FusedStep&>(payload).frozen_op.run(); };
    }
    if (usual != &run_only_chain && usual != &run_chain_and_tails) return nullptr;
    const Chain& chain = segments[0].chain;
    chain.bind(bases, 0, chain.links.data());
    return tails.empty() ? &run_frozen_chain : &run_frozen_chain_and_tails;
  }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const FusedStep&>(payload);
    if (self.tiles == 1) {
      self.run_tile({context.bases}, self.only_tile(), kOrigin);
    } else {
      self.run_tiles({context.bases}, 0, self.tiles);
    }
  }

 private:
  // The elements of an iteration space, times its operations, from which on threads may share it: about 20
  // microseconds of the simplest ones.
  static constexpr std::size_t kLeastWork = 1 << 16;

  // What a thread runs tiles with.
  struct Lane {
    std::byte* const* bases;
    Workspace* workspace = nullptr;  // for its own copies of links. The only thread needs none.
  };

  static void run_shared(const Payload& payload, Context& context) {
    const auto& self = static_cast<const FusedStep&>(payload);
    self.shares.each([&](std::int64_t first, std::int64_t end) {
      Workspace& workspace = Workspace::of_thread();
      std::byte** const bases = workspace.copy_of(context.bases, context.base_count);
      bases[self.scratch_base] = reinterpret_cast<std::byte*>(workspace.floats(self.scratch_floats));
      self.run_tiles({bases, &workspace}, first, end);
    });
  }

  static void run_alone(const Payload& payload, Context& context) {
    const auto& self = static_cast<const FusedStep&>(payload);
    self.run_tiles({context.bases, &Workspace::of_thread()}, 0, self.tiles);
  }

  // The indices of a tile's first element, from the outermost dimension to `split`.
  using Index = std::array<std::int64_t, kernels::StridedCopy::kMaxRank>;
  static constexpr Index kOrigin{};

  // The function for the complete step; a simpler one for a step on one tile that is one chain, or vector ops
  // on fewer elements than a chain takes.
  RunStep runner() const {
    if (shares.count() > 1) return &run_shared;
    if (shares.is_alone()) return &run_alone;
    if (tiles != 1 || segments.size() != 1) return &run;
    const std::size_t linked = linked_part(segments[0], count);
    if (linked == count) return tails.empty() ? &run_only_chain : &run_chain_and_tails;
    const bool are_vector_ops = linked == 0 && ops[0].loop != nullptr;
    if (!tails.empty() || !are_vector_ops) return &run;
    return ops.size() == 1 ? &run_only_op : &run_only_vector_ops;
  }

  // Computes the numbers of tiles once for a call, because that takes divisions.
  void cut() {
    chunks = count == 0 ? 1 : (sizes[split] + chunk - 1) / chunk;
    tiles = count == 0 ? 0 : chunks;
    for (std::size_t d = 0; d < split; ++d) tiles *= sizes[d];
  }

  // Returns the tile that is the whole iteration space. The step must have a single tile.
  Tile only_tile() const { return {0, count, 0, static_cast<std::size_t>(sizes[split])}; }

  static void run_only_chain(const Payload& payload, Context& context) {
    const auto& self = static_cast<const FusedStep&>(payload);
    const Chain& chain = self.segments[0].chain;
    chain.bind(context.bases, 0, chain.links.data());
    self.run_links(chain.links.data(), self.count);
  }
  static void run_chain_and_tails(const Payload& payload, Context& context) {
    run_only_chain(payload, context);
    const auto& self = static_cast<const FusedStep&>(payload);
    self.run_tails(context.bases, self.only_tile());
  }
  static void run_frozen_chain(const Payload& payload, Context&) {
    const auto& self = static_cast<const FusedStep&>(payload);
    self.run_links(self.segments[0].chain.links.data(), self.count);
  }
  static void run_frozen_chain_and_tails(const Payload& payload, Context& context) {
    run_frozen_chain(payload, context);
    const auto& self = static_cast<const FusedStep&>(payload);
    self.run_tails(context.bases, self.only_tile());
  }
  // Has no loop over ops, because that would take about as long as the kernel of a small model.
  static void run_only_op(const Payload& payload, Context& context) {
    const auto& self = static_cast<const FusedStep&>(payload);
    self.ops[0].bound(context.bases, 0, 0, self.count).run();
  }
  static void run_only_vector_ops(const Payload& payload, Context& context) {
    const auto& self = static_cast<const FusedStep&>(payload);
    for (const TileOp& op : self.ops) op.bound(context.bases, 0, 0, self.count).run();
  }

  void run_tiles(const Lane& lane, std::int64_t tile, std::int64_t end) const {
    Index index{};
    index[split] = tile % chunks * chunk;
    std::int64_t outer = tile / chunks;
    auto first = static_cast<std::size_t>(outer * sizes[split] + index[split]);
    for (std::size_t d = split; d-- > 0; outer /= sizes[d]) index[d] = outer % sizes[d];
    for (; tile != end; ++tile) {
      const std::int64_t indices = std::min(chunk, sizes[split] - index[split]);
      const auto of_tile = static_cast<std::size_t>(indices);
      run_tile(lane, {first * inner, of_tile * inner, first, of_tile}, index);
      first += of_tile;
      index[split] += indices;
      for (std::size_t d = split; d > 0 && index[d] == sizes[d]; --d) {
        index[d] = 0;
        ++index[d - 1];
      }
    }
  }

  void run_tails(std::byte* const* bases, const Tile& tile) const {
    for (const RowTail& tail : tails) tail.run(bases, tile);
  }

  void run_tile(const Lane& lane, const Tile& tile, const Index& index) const {
    std::byte* const* const bases = lane.bases;
    const std::size_t first = tile.first, n = tile.count;
    for (const Segment& segment : segments) {
      const TileOp& op = ops[segment.begin];
      if (op.convert != nullptr) {
        op.convert(n, op.in[0].at(bases, first), op.out.at(bases, first));
        continue;
      }
      if (op.loop64 != nullptr) {
        run_loop64(op, bases, first, n);
        continue;
      }
      if (op.loop == nullptr) {
        run_copy(op, bases, tile, index);
        continue;
      }
      const std::size_t linked = linked_part(segment, n);
      if (linked != 0) run_chain(segment, lane, first, linked);
      if (linked == n) continue;
      for (std::size_t i = segment.begin; i < segment.end; ++i) ops[i].bound(bases, first, linked, n).run();
    }
    run_tails(bases, tile);
  }

  // The number of a tile's elements that the chain processes.
  std::size_t linked_part(const Segment& segment, std::size_t n) const {
    if (!segment.is_linked()) return 0;
    if (!segment.may_repeat) return n & ~(chain_block - 1);
    return n < chain_least ? 0 : n;
  }

  static void run_loop64(const TileOp& op, std::byte* const* bases, std::size_t first, std::size_t n) {
    const void* in[kernels::kMaxOperands];
    for (std::uint32_t i = 0; i < op.operands; ++i) in[i] = op.in[i].at(bases, first);
    op.loop64(n, op.out.at(bases, first), in);
  }

  void run_chain(const Segment& segment, const Lane& lane, std::size_t first, std::size_t n) const {
    const Chain& chain = segment.chain;
    kernels::ChainLink* const links =
        lane.workspace == nullptr ? chain.links.data() : lane.workspace->copy_of(chain.links);
    chain.bind(lane.bases, first, links);
    run_links(links, n);
  }

  void run_copy(const TileOp& op, std::byte* const* bases, const Tile& tile, const Index& index) const {
    const TileCopy& shape = copies[static_cast<std::size_t>(op.copy)];
    std::byte* in = op.in[0].at(bases, tile.first);
    std::byte* out = op.out.at(bases, tile.first);
    std::int64_t offset = 0;
    for (std::size_t d = 0; d <= split; ++d) offset += index[d] * shape.strides[d];
    (shape.scatters ? out : in) += offset * static_cast<std::int64_t>(shape.box.width);
    const auto indices = static_cast<std::int64_t>(tile.indices);
    if (indices == chunk || shape.is_one) return copy(shape.box, in, out);
    kernels::StridedCopy last = shape.box;
    last.sizes[0] = indices;
    copy(last, in, out);
  }
};

}  // namespace sr::replay

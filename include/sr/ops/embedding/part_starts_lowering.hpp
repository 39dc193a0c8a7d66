// Where the parts of jagged features begin.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <sr/graph/tensor_parts.hpp>
#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/lowering.hpp>

namespace sr::replay {

struct PartStartsStep final : ClonableStep<PartStartsStep> {
  std::string_view name() const override { return "part starts"; }
  bool may_fail() const override { return true; }  // the lengths are not those of the parts
  Size length_count, whole_count;
  std::size_t count = 0;   // of lengths, in this call
  std::int64_t whole = 0;  // elements that are split, in this call
  Address lengths, starts;
  bool wide = true;
  std::vector<PartCheck> checks;

  RunStep settle(SizeValues& values) override {
    count = values.count(length_count);
    whole = values(whole_count);
    return nullptr;
  }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const PartStartsStep&>(payload);
    const bool fits = self.wide ? self.add<std::int64_t>(context) : self.add<std::int32_t>(context);
    if (!fits)
      throw Deoptimized("Lengths are not those of the parts of a tensor.", Deoptimized::Program::kept);
  }

 private:
  // Returns false if the lengths are not as they should be.
  template <class Length>
  bool add(const Context& context) const {
    auto* const start = starts.in<std::int64_t>(context.bases);
    return sr::detail::sum_lengths(lengths.in<const Length>(context.bases), count, start) &&
           start[count] == whole &&
           std::ranges::all_of(checks, [&](const PartCheck& check) { return check.holds(start, whole); });
  }
};

namespace lower {

// sr::part_starts(lengths, whole, checks, messages)
inline bool part_starts(Lowering& lowering, const TracedNode& node) {
  const auto given = lowering.input(node, 0), whole = lowering.input(node, 1);
  const Operand out = lowering.output(node);
  if (!given || !whole || given->rank() != 1 || whole->rank() != 1) return false;
  if (given->dtype != c10::kLong && given->dtype != c10::kInt) return false;
  const Operand lengths = lowering.contiguous(*given);
  PartStartsStep step;
  step.length_count = lengths.count();
  step.whole_count = whole->sizes[0];
  step.lengths = lowering.address(lengths);
  step.starts = lowering.address(out);
  step.wide = lengths.dtype == c10::kLong;
  const std::vector<std::int64_t> words = node.inputs[2].toIntVector();
  for (std::size_t i = 0; i + PartCheck::kWords <= words.size(); i += PartCheck::kWords)
    step.checks.push_back(PartCheck::read(words.data() + i));
  lowering.emit(std::move(step), {lengths.storage}, {out.storage});
  return true;
}

}  // namespace lower
}  // namespace sr::replay

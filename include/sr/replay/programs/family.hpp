// What a program knows of the sizes that vary between the calls that it serves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/replay/sizes/values.hpp>
#include <sr/replay/trace/family_signature.hpp>
#include <sr/replay/trace/signature_text.hpp>

namespace sr::replay {

class Family {
 public:
  explicit Family(FamilySignature signature)
      : signature_(std::move(signature)), values_(signature_.expressions) {
    for (std::size_t i = 0; i < signature_.words.size(); ++i) {
      if (!signature_.words[i].is_constant()) varying_.push_back(i);
      call_.push_back(signature_.words[i].recorded());
    }
  }

  // Reads the sizes, strides and integers of a call of the family, and returns the words that describe the
  // call. They are valid until the next call is read. Returns null if the call differs from the family in
  // anything else, or in a value inside of a container. Writes addresses to `leaves` as sr::replay::matches
  // does.
  const SignatureWords* read(std::span<const c10::IValue> args, std::byte** leaves) {
    return reads_sizes(args, call_, leaves) ? &call_ : nullptr;
  }

  // Takes the sizes of a call. Returns false if the program does not hold for them; then others must be given
  // before anything is evaluated.
  bool take(const SignatureWords& call) {
    if (!signature_.read(call, symbols_) || !values_.assign(symbols_)) return false;
    for (const std::size_t i : varying_) {
      if (values_(signature_.words[i]) != call[i]) return false;
    }
    ++taken_;
    seen_.resize(symbols_.size(), {SizeExpressions::kMost, 0});
    for (std::size_t s = 0; s < symbols_.size(); ++s)
      seen_[s] = {std::min(seen_[s].first, symbols_[s]), std::max(seen_[s].second, symbols_[s])};
    return true;
  }

  const FamilySignature& signature() const { return signature_; }
  SizeValues& values() { return values_; }
  const SizeExpressions& expressions() const { return *signature_.expressions; }
  std::uint64_t taken() const { return taken_; }  // how often sizes have changed

  // "Float[s0, 50]", for reports.
  std::string text(const SignatureWords& call) const {
    return text_of(call, [&](std::size_t i) { return expressions().text_of(signature_.words[i]); });
  }
  // "3 <= s0 <= 250": the sizes that calls have brought.
  std::vector<std::string> seen() const {
    std::vector<std::string> all;
    for (std::size_t s = 0; s < seen_.size(); ++s)
      all.push_back(std::to_string(seen_[s].first) + " <= s" + std::to_string(s) +
                    " <= " + std::to_string(seen_[s].second));
    return all;
  }

  // "2 <= s0 <= 20, s0 != 7", "s0 - s1 >= 0": the sizes for which the program holds.
  std::vector<std::string> conditions() const {
    std::vector<std::string> all;
    for (std::size_t s = 0; s < expressions().ranges().size(); ++s) {
      const SymbolRange& range = expressions().ranges()[s];
      const std::string symbol = "s" + std::to_string(s);
      std::string text = range.least == range.most ? symbol + " == " + std::to_string(range.least)
                                                   : std::to_string(range.least) + " <= " + symbol;
      if (range.least != range.most && range.most != SizeExpressions::kMost)
        text += " <= " + std::to_string(range.most);
      for (const std::int64_t hole : range.holes) text += ", " + symbol + " != " + std::to_string(hole);
      all.push_back(std::move(text));
    }
    for (const SizeGuard& guard : expressions().guards()) all.push_back(expressions().text_of(guard));
    return all;
  }

  // True if the recording has turned out to hold for one choice of sizes only.
  bool is_pinned() const {
    for (const SymbolRange& range : expressions().ranges()) {
      if (range.least != range.most) return false;
    }
    return true;
  }

 private:
  FamilySignature signature_;
  std::vector<std::size_t> varying_;  // which words of the signature are no constants
  SignatureWords call_;               // that was read last
  SizeValues values_;
  std::vector<std::int64_t> symbols_;
  std::uint64_t taken_ = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> seen_;  // by symbol: the least and the largest value
};

}  // namespace sr::replay

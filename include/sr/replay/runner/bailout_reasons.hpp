// Signatures for which no program can be made, and the reasons.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace sr::replay {

// Keeps the most recent reasons.
class BailoutReasons {
 public:
  void add(std::uint64_t signature, const std::string& why) {
    add_once(signature, signatures_);
    add(why);
  }
  // Adds a reason that holds for one call only.
  void add(const std::string& why) { add_once(why, reasons_); }

  bool contains(std::uint64_t signature) const {
    return std::ranges::find(signatures_, signature) != signatures_.end();
  }
  std::size_t signatures() const { return signatures_.size(); }
  const std::vector<std::string>& reasons() const { return reasons_; }

 private:
  static constexpr std::size_t kMost = 64;

  template <class T>
  static void add_once(const T& value, std::vector<T>& to) {
    if (std::ranges::find(to, value) != to.end()) return;
    to.push_back(value);
    if (to.size() > kMost) to.erase(to.begin());
  }

  std::vector<std::uint64_t> signatures_;  // hashes
  std::vector<std::string> reasons_;
};

}  // namespace sr::replay

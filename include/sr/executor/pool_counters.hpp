// The metrics of all runtimes of a pool.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <sr/executor/call_counters.hpp>

namespace sr::detail {

// Any number of threads may call it at once.
class PoolCounters {
 public:
  void add(std::shared_ptr<const CallCounters> runtime) {
    const std::scoped_lock lock(mutex_);
    collect_ended();
    runtimes_.push_back(std::move(runtime));
  }

  CallMetrics metrics() const {
    const std::scoped_lock lock(mutex_);
    CallMetrics sum = ended_;
    for (const auto& runtime : runtimes_) sum += runtime->metrics();
    return sum;
  }

 private:
  // So that pools that are trimmed again and again do not grow.
  void collect_ended() {
    std::erase_if(runtimes_, [&](const std::shared_ptr<const CallCounters>& runtime) {
      if (runtime.use_count() != 1) return false;
      ended_ += runtime->metrics();
      return true;
    });
  }

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const CallCounters>> runtimes_;
  CallMetrics ended_;
};

}  // namespace sr::detail

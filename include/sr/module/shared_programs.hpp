// The programs that runtimes of a module have recorded with one set of weights. A runtime that finds one here
// takes a copy and need not record.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sr/base/fork_safe_mutex.hpp>

namespace sr::replay {

struct Program;

// So many programs are kept in any case. A model of many layers has programs of more than a MiB, and needs
// some: those of the first call of a sequence, of the following ones, of a prompt.
inline constexpr std::size_t kLeastPrograms = 4;

// Thread-safe. Programs are found by their skeletons (see skeleton_of). A skeleton is claimed while a runtime
// records a call of it, so that others do not record the same; they answer on the general path meanwhile.
class SharedPrograms {
 public:
  // What was published at one time.
  using Snapshot = std::unordered_map<std::uint64_t, std::vector<std::shared_ptr<const Program>>>;

  // Ends when it is destroyed.
  class Claim {
   public:
    Claim(SharedPrograms& owner, std::uint64_t skeleton) : owner_(&owner), skeleton_(skeleton) {}
    Claim(Claim&& other) noexcept
        : owner_(std::exchange(other.owner_, nullptr)), skeleton_(other.skeleton_) {}
    Claim& operator=(Claim&& other) noexcept {
      std::swap(owner_, other.owner_);
      std::swap(skeleton_, other.skeleton_);
      return *this;
    }
    ~Claim() {
      if (owner_ != nullptr) owner_->release(skeleton_);
    }

   private:
    SharedPrograms* owner_;
    std::uint64_t skeleton_;
  };

  // Changes when a program is published or withdrawn; 0 before.
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }

  // `version` is that of the snapshot.
  std::shared_ptr<const Snapshot> snapshot(std::uint64_t& version) const {
    const std::scoped_lock lock(mutex_);
    version = version_.load(std::memory_order_relaxed);
    return snapshot_;
  }

  // Returns nullopt if another runtime records a call of this skeleton, or if a program was published that is
  // not in the snapshot of this version.
  std::optional<Claim> claim(std::uint64_t skeleton, std::uint64_t version) {
    const std::scoped_lock lock(mutex_);
    if (version != version_.load(std::memory_order_relaxed)) return std::nullopt;
    pid_t& holder = claims_[skeleton];
    const pid_t self = getpid();
    if (holder == self) return std::nullopt;  // another process's: that of a thread that fork() did not copy
    holder = self;
    return std::optional<Claim>(std::in_place, *this, skeleton);
  }

  // A number for a program that is to be published.
  std::uint64_t next_number() { return ++numbers_; }

  // `bytes` is what the program takes. The programs that were published first are dropped when more than
  // kLeastPrograms take more than `most_bytes` together.
  void publish(std::uint64_t number, std::uint64_t skeleton, std::shared_ptr<const Program> program,
               std::size_t bytes, std::size_t most_bytes) {
    const std::scoped_lock lock(mutex_);
    published_.push_back({number, skeleton, std::move(program), bytes});
    bytes_ += bytes;
    while (bytes_ > most_bytes && published_.size() > kLeastPrograms) {
      bytes_ -= published_.front().bytes;
      published_.pop_front();
    }
    renew();
  }

  // For a program that has turned out to be wrong, or of little use.
  void withdraw(std::uint64_t number) {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find(published_, number, &Published::number);
    if (found == published_.end()) return;
    bytes_ -= found->bytes;
    published_.erase(found);
    renew();
  }

  std::size_t bytes() const {
    const std::scoped_lock lock(mutex_);
    return bytes_;
  }

 private:
  struct Published {
    std::uint64_t number, skeleton;
    std::shared_ptr<const Program> program;
    std::size_t bytes;
  };

  // The caller holds the lock.
  void renew() {
    auto next = std::make_shared<Snapshot>();
    for (const Published& each : published_) (*next)[each.skeleton].push_back(each.program);
    snapshot_ = std::move(next);
    version_.fetch_add(1, std::memory_order_release);
  }

  void release(std::uint64_t skeleton) {
    const std::scoped_lock lock(mutex_);
    claims_.erase(skeleton);
  }

  mutable sr::detail::ForkSafeMutex mutex_;
  std::atomic<std::uint64_t> version_ = 0;
  std::atomic<std::uint64_t> numbers_ = 0;
  std::shared_ptr<const Snapshot> snapshot_;
  std::deque<Published> published_;  // the oldest first
  std::size_t bytes_ = 0;
  std::unordered_map<std::uint64_t, pid_t> claims_;  // the process that records
};

// The programs of each block that was recorded. Thread-safe.
class BlockPrograms {
 public:
  SharedPrograms& of(std::uint32_t block) {
    const std::scoped_lock lock(mutex_);
    return programs_[block];
  }

 private:
  sr::detail::ForkSafeMutex mutex_;
  std::map<std::uint32_t, SharedPrograms> programs_;  // which do not move
};

}  // namespace sr::replay

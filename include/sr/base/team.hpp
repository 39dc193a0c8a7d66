// The threads that share the work of sr's steps: one team for the process.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace sr {

// Shares a job among the calling thread and helper threads. Each of them begins with a range of the job's
// parts and runs it piece by piece. A thread whose range is empty takes half of what is left of another
// thread's range, so the others do the work of a helper that the system does not run. At the end the caller
// waits only for pieces that have begun. Helpers sleep when there is no job, and run nothing but steps of sr.
// The child of a fork() starts new helpers. Any number of threads may call it, also from within a job.
// Never destroyed.
class Team {
 public:
  static Team& of_process();

  // Calls body(first, end) for ranges that together are 0 to count - 1, concurrently on the caller and at
  // most `width` - 1 helpers, and returns when all are done. `more_follows`: the caller will soon call again,
  // so helpers wait for it awake, for at most kAwake. The body must not throw.
  template <class Body>
  void each(std::int64_t count, int width, bool more_follows, const Body& body) {
    const auto call = [](const void* context, std::int64_t first, std::int64_t end) {
      (*static_cast<const Body*>(context))(first, end);
    };
    if (width > 1 && count > 1 && count <= kMostParts) {
      run(call, &body, count, width, more_follows);
    } else if (count > 0) {
      body(std::int64_t{0}, count);
    }
  }

  int helpers() const { return helpers_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::int64_t kMostParts = std::int64_t{1} << 31;
  static constexpr int kMostAtOnce = 64;                                  // on one job
  static constexpr std::size_t kSlots = 64;                               // calls at once that get helpers
  static constexpr std::int64_t kAwake = 100'000, kCallerAwake = 30'000;  // nanoseconds

  using Body = void (*)(const void* context, std::int64_t first, std::int64_t end);

  struct Job {
    Body body;
    const void* context;
    int width;
    bool more_follows;
    unsigned float_modes;        // rounding and denormals, of the caller
    std::atomic<int> joined{1};  // the caller has the first range
    std::array<std::atomic<std::uint64_t>, kMostAtOnce>
        ranges{};  // the next part, and the end in the upper half

    Job(Body of, const void* with, std::int64_t count, int most, bool more);
    void work(int index);
    bool claim(int index);
    bool take_over(int index);
  };
  // Where helpers find a job. A job has ended when its slot's `job` is null and no helper uses the slot.
  struct alignas(64) Slot {
    std::atomic<bool> is_taken{false};
    std::atomic<Job*> job{nullptr};
    std::atomic<int> seats{0};  // for helpers
    std::atomic<std::uint32_t> users{0};
    std::atomic<bool> caller_sleeps{false};
  };

  Team() = default;
  static std::atomic<Team*>& instance();

  void run(Body body, const void* context, std::int64_t count, int width, bool more_follows);
  Slot* take_slot();
  void wait_for_users(Slot& slot);
  void start_helpers(int wanted);
  void help(unsigned index);
  static void work_on(Slot& slot, bool& more_follows);

  std::array<Slot, kSlots> slots_;
  alignas(64) std::atomic<std::uint32_t> epoch_{0};  // changes with each job
  std::atomic<std::uint32_t> sleepers_{0};
  std::atomic<int> helpers_{0};
  std::mutex starting_;
};

}  // namespace sr

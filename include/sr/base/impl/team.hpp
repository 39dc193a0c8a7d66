// The threads of a team: how they find work, wait, and survive fork().
#pragma once

#include <algorithm>
#include <chrono>
#include <csignal>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <sr/base/build.hpp>
#include <sr/base/team.hpp>

namespace sr {

namespace detail {

inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) {
  static_assert(sizeof(word) == sizeof(std::uint32_t));
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
inline void futex_wake(std::atomic<std::uint32_t>& word, int count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

inline void relax() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

// Polls until the condition holds, for at most so many nanoseconds. Returns whether it holds.
template <class Condition>
bool poll(std::int64_t nanoseconds, const Condition& condition) {
  using Clock = std::chrono::steady_clock;
  if (condition()) return true;
  const Clock::time_point until = Clock::now() + std::chrono::nanoseconds(nanoseconds);
  do {
    for (int i = 0; i < 32; ++i) {
      relax();
      if (condition()) return true;
    }
  } while (Clock::now() < until);
  return condition();
}

// How the processor rounds, and what it does with denormal numbers: a thread's own register.
inline unsigned float_modes() {
#if defined(__x86_64__)
  return _mm_getcsr() & ~_MM_EXCEPT_MASK;
#else
  return 0;
#endif
}
inline void set_float_modes([[maybe_unused]] unsigned modes) {
#if defined(__x86_64__)
  _mm_setcsr(modes);
#endif
}

}  // namespace detail

SR_INLINE Team::Job::Job(Body of, const void* with, std::int64_t count, int most, bool more)
    : body(of), context(with), width(most), more_follows(more), float_modes(detail::float_modes()) {
  for (int i = 0; i < width; ++i) {
    const auto first = static_cast<std::uint64_t>(count * i / width),
               end = static_cast<std::uint64_t>(count * (i + 1) / width);
    ranges[static_cast<std::size_t>(i)].store(end << 32U | first, std::memory_order_relaxed);
  }
}

SR_INLINE void Team::Job::work(int index) {
  do {
    while (claim(index)) {
    }
  } while (take_over(index));
}

// Runs the next piece of the range: a quarter of it, so that others find something to take over.
SR_INLINE bool Team::Job::claim(int index) {
  std::atomic<std::uint64_t>& range = ranges[static_cast<std::size_t>(index)];
  std::uint64_t known = range.load(std::memory_order_relaxed);
  for (;;) {
    const std::uint64_t first = known & 0xffffffffU, end = known >> 32U;
    if (first >= end) return false;
    const std::uint64_t size = std::max<std::uint64_t>((end - first) / 4, 1);
    if (range.compare_exchange_weak(known, known + size, std::memory_order_relaxed)) {
      body(context, static_cast<std::int64_t>(first), static_cast<std::int64_t>(first + size));
      return true;
    }
  }
}

// Makes the second half of another range that of this index, which is empty. No range ever is what it was
// before, as each part is claimed once.
SR_INLINE bool Team::Job::take_over(int index) {
  for (int i = 1; i < width; ++i) {
    std::atomic<std::uint64_t>& other = ranges[static_cast<std::size_t>((index + i) % width)];
    std::uint64_t known = other.load(std::memory_order_relaxed);
    for (;;) {
      const std::uint64_t first = known & 0xffffffffU, end = known >> 32U;
      if (first >= end) break;
      const std::uint64_t middle = end - (end - first + 1) / 2;
      if (other.compare_exchange_weak(known, middle << 32U | first, std::memory_order_relaxed)) {
        ranges[static_cast<std::size_t>(index)].store(end << 32U | middle, std::memory_order_relaxed);
        return true;
      }
    }
  }
  return false;
}

SR_INLINE std::atomic<Team*>& Team::instance() {
  static std::atomic<Team*> team{nullptr};
  return team;
}

SR_INLINE Team& Team::of_process() {
  std::atomic<Team*>& known = instance();
  if (Team* const team = known.load(std::memory_order_acquire)) return *team;
  // A child of fork() has none of the threads, and its slots may be those of callers that it does not have.
  static const int registered = pthread_atfork(nullptr, nullptr, [] { instance().store(nullptr); });
  static_cast<void>(registered);
  Team* none = nullptr;
  Team* const made = new Team;
  if (known.compare_exchange_strong(none, made, std::memory_order_acq_rel)) return *made;
  delete made;
  return *none;
}

SR_INLINE void Team::run(Body body, const void* context, std::int64_t count, int width, bool more_follows) {
  width = static_cast<int>(std::min<std::int64_t>({width, count, kMostAtOnce}));
  Slot* const slot = take_slot();
  if (slot == nullptr) return body(context, 0, count);
  if (helpers() < width - 1) start_helpers(width - 1);
  Job job(body, context, count, width, more_follows);
  slot->seats.store(width - 1, std::memory_order_relaxed);
  slot->job.store(&job);
  epoch_.fetch_add(1);
  if (sleepers_.load() != 0) detail::futex_wake(epoch_, width - 1);
  job.work(0);
  slot->job.store(nullptr);
  wait_for_users(*slot);
  slot->is_taken.store(false, std::memory_order_release);
}

SR_INLINE Team::Slot* Team::take_slot() {
  for (Slot& slot : slots_) {
    if (!slot.is_taken.load(std::memory_order_relaxed) &&
        !slot.is_taken.exchange(true, std::memory_order_acquire))
      return &slot;
  }
  return nullptr;
}

// A helper that was interrupted in its piece continues soon if the caller sleeps: the caller's processor is
// free then.
SR_INLINE void Team::wait_for_users(Slot& slot) {
  const auto is_unused = [&] { return slot.users.load() == 0; };
  if (detail::poll(kCallerAwake, is_unused)) return;
  slot.caller_sleeps.store(true);
  for (std::uint32_t users = slot.users.load(); users != 0; users = slot.users.load())
    detail::futex_wait(slot.users, users);
  slot.caller_sleeps.store(false, std::memory_order_relaxed);
}

SR_INLINE void Team::start_helpers(int wanted) {
  const std::scoped_lock lock(starting_);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // handlers of the program run on its own threads
  try {
    for (int i = helpers(); i < wanted; ++i) {
      std::thread([this, i] { help(static_cast<unsigned>(i)); }).detach();
      helpers_.store(i + 1, std::memory_order_relaxed);
    }
  } catch (const std::system_error&) {
    // The system allows no more threads: the others and the caller do the work.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

SR_INLINE void Team::help(unsigned index) {
  pthread_setname_np(pthread_self(), "sr team");
  std::size_t first = index;
  for (;;) {
    const std::uint32_t seen = epoch_.load();
    bool more_follows = false;
    for (std::size_t i = 0; i < kSlots; ++i) work_on(slots_[(first + i) % kSlots], more_follows);
    first = (first + 1) % kSlots;
    if (more_follows && detail::poll(kAwake, [&] { return epoch_.load(std::memory_order_relaxed) != seen; }))
      continue;
    sleepers_.fetch_add(1);
    detail::futex_wait(epoch_, seen);
    sleepers_.fetch_sub(1);
  }
}

SR_INLINE void Team::work_on(Slot& slot, bool& more_follows) {
  if (slot.job.load(std::memory_order_relaxed) == nullptr) return;
  slot.users.fetch_add(1);
  if (Job* const job = slot.job.load()) {
    if (slot.seats.fetch_sub(1, std::memory_order_relaxed) > 0) {
      const unsigned own_modes = detail::float_modes();
      detail::set_float_modes(job->float_modes);
      more_follows |= job->more_follows;
      const int index = job->joined.fetch_add(1, std::memory_order_relaxed);
      if (index < job->width) job->work(index);
      detail::set_float_modes(own_modes);
    } else {
      slot.seats.fetch_add(1, std::memory_order_relaxed);
    }
  }
  if (slot.users.fetch_sub(1) == 1 && slot.caller_sleeps.load()) detail::futex_wake(slot.users, 1);
}

}  // namespace sr

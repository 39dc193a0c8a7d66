// A mutex that survives fork(): a child process takes it even when a thread of the parent held it at that
// time.
#pragma once

#include <atomic>
#include <chrono>
#include <sys/types.h>
#include <thread>
#include <unistd.h>

namespace sr::detail {

// Meets the requirements of BasicLockable. Waiting is polling, so it suits sections that are entered rarely.
class ForkSafeMutex {
 public:
  void lock() {
    const pid_t self = getpid();
    for (;;) {
      pid_t holder = 0;
      if (holder_.compare_exchange_strong(holder, self, std::memory_order_acquire)) return;
      // The holder is a thread of the parent process, which does not exist in this one.
      if (holder != self && holder_.compare_exchange_strong(holder, self, std::memory_order_acquire)) return;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  void unlock() { holder_.store(0, std::memory_order_release); }

 private:
  std::atomic<pid_t> holder_ = 0;
};

}  // namespace sr::detail

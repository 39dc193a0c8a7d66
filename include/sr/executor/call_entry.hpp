// Makes a runtime answer one call at a time.
#pragma once

#include <atomic>

#include <sr/base/call_options.hpp>
#include <sr/base/error.hpp>
#include <sr/graph/processed_node.hpp>

namespace sr::detail {

// A call holds an entry while it runs. Throws BusyError if another call is running, also if the caller is an
// operator of that call. `busy` and `frame` belong to the runtime; they and the options must outlive the
// entry.
class CallEntry {
 public:
  [[gnu::always_inline]] CallEntry(std::atomic<bool>& busy, Frame& frame, const CallOptions* options)
      : busy_(&busy), frame_(&frame) {
    if (busy.exchange(true, std::memory_order_acquire)) throw_busy();
    frame.call = options;
  }
  [[gnu::always_inline]] ~CallEntry() {
    frame_->call = nullptr;
    busy_->store(false, std::memory_order_release);
  }
  CallEntry(const CallEntry&) = delete;
  CallEntry& operator=(const CallEntry&) = delete;

 private:
  [[noreturn, gnu::cold, gnu::noinline]] static void throw_busy() {
    throw BusyError(
        "This StaticRuntime is running already. It belongs to one thread at a time: give each thread its own "
        "(clone()), or call the StaticModule, which keeps a runtime for each caller.");
  }

  std::atomic<bool>* busy_;
  Frame* frame_;
};

}  // namespace sr::detail

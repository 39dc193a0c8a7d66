// The time that a call spends in a runtime, which answers one call at a time.
#pragma once

#include <atomic>

#include <sr/base/call_options.hpp>
#include <sr/base/error.hpp>
#include <sr/graph/processed_node.hpp>

namespace sr::detail {

// Also notices an operator that calls the runtime which is running it. `busy` and `frame` are the runtime's
// and outlive the entry; the options must, too. Throws BusyError.
class CallEntry {
 public:
  CallEntry(std::atomic<bool>& busy, Frame& frame, const CallOptions* options)
      : busy_(&busy), frame_(&frame) {
    if (busy.exchange(true, std::memory_order_acquire)) throw_busy();
    frame.call = options;
  }
  ~CallEntry() {
    frame_->call = nullptr;
    busy_->store(false, std::memory_order_release);
  }
  CallEntry(const CallEntry&) = delete;
  CallEntry& operator=(const CallEntry&) = delete;

 private:
  [[noreturn]] static void throw_busy() {
    throw BusyError(
        "This StaticRuntime is running already. It belongs to one thread at a time: give each thread its own "
        "(clone()), or call the StaticModule, which keeps a runtime for each caller.");
  }

  std::atomic<bool>* busy_;
  Frame* frame_;
};

}  // namespace sr::detail

// The queue of a Batcher: who runs the next batch, and what is in it.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <sr/batching/batch_runs.hpp>
#include <sr/batching/options.hpp>
#include <sr/batching/request.hpp>
#include <sr/module/prepared_module.hpp>

namespace sr::detail {

// The request at the head of the queue decides when a batch begins: at once if nothing runs, or after
// max_wait. Its caller, or a thread of the queue if it was submitted, takes the requests that fit and runs
// them. At the end the next head is woken.
class BatchQueue : public std::enable_shared_from_this<BatchQueue> {
 public:
  BatchQueue(const PreparedModule& module, BatchModel model, BatchPreparation prepare,
             BatcherOptions options);

  // Must be called once, at the end. Returns when all requests are answered and the threads have ended, but
  // for the calling one.
  void close();

  // `state` is that of a session, which the request reserves until it is answered; null for none.
  c10::IValue call(std::shared_ptr<SessionState> state, std::vector<c10::IValue> args,
                   const KeywordArgs& kwargs, const CallOptions& options);
  c10::intrusive_ptr<c10::ivalue::Future> submit(std::shared_ptr<SessionState> state,
                                                 std::vector<c10::IValue> args, const KeywordArgs& kwargs,
                                                 const CallOptions& options);
  BatcherReport report() const;

 private:
  using Clock = CallOptions::Clock;
  using Lock = std::unique_lock<std::mutex>;

  void fill(Request& request, std::shared_ptr<SessionState> state, std::vector<c10::IValue> args,
            const KeywordArgs& kwargs, const CallOptions& options) const;
  void admit(Request& request);
  void wait(Lock& lock, Request& request);
  // For the head of the queue: whether its batch should begin; else the time until which it may wait.
  bool is_due(const Request& head, Clock::time_point& until) const;
  void lead(Lock& lock);
  Batch take_batch();
  static void complete(Request& request);
  void note(const Batch& batch);
  void remove(Request& request);
  void wake_head();
  void drop_ended(Lock& lock);
  void serve();
  void start_threads();

  BatchRuns runs_;
  const BatcherOptions& options_ = runs_.options();
  const std::size_t max_running_;

  mutable std::mutex mutex_;
  std::deque<Request*> waiting_;
  std::int64_t rows_waiting_ = 0;
  std::size_t running_ = 0;
  BatcherReport figures_;
  // Must be destroyed without the lock: a stop token may be calling back.
  std::vector<std::unique_ptr<Request>> submitted_;
  std::condition_variable submitted_head_;  // a thread of the queue should look at its head
  std::vector<std::thread> threads_;
  bool is_closing_ = false;
};

}  // namespace sr::detail

// Definitions of <sr/batching/batch_queue.hpp>: who waits, who leads and what is told.
#pragma once

#include <algorithm>
#include <bit>
#include <pthread.h>
#include <stop_token>
#include <string>
#include <utility>

#include <sr/base/build.hpp>
#include <sr/base/error.hpp>
#include <sr/base/processors.hpp>
#include <sr/batching/batch_queue.hpp>
#include <sr/batching/batch_trace.hpp>

namespace sr::detail {

SR_INLINE BatchQueue::BatchQueue(const PreparedModule& module, BatchModel model, BatchPreparation prepare,
                                 BatcherOptions options)
    : runs_(*module.graph, BatchedCalls::of(module), std::move(model), std::move(prepare),
            std::move(options)),
      max_running_(options_.max_running != 0 ? options_.max_running
                                             : static_cast<std::size_t>(processors_allowed())) {}

SR_INLINE void BatchQueue::close() {
  {
    const std::scoped_lock lock(mutex_);
    is_closing_ = true;
    submitted_head_.notify_all();
  }
  for (std::thread& thread : threads_) {
    if (thread.get_id() == std::this_thread::get_id()) {
      thread.detach();
    } else {
      thread.join();
    }
  }
}

SR_INLINE c10::IValue BatchQueue::call(std::shared_ptr<SessionState> state, std::vector<c10::IValue> args,
                                       const KeywordArgs& kwargs, const CallOptions& options) {
  Request own;
  fill(own, std::move(state), std::move(args), kwargs, options);
  // Destroyed after the lock, since it waits for a callback that runs.
  const std::stop_callback wake(options.stop, [&] {
    const std::scoped_lock lock(mutex_);
    own.changed.notify_one();
  });
  Lock lock(mutex_);
  admit(own);
  while (!own.is_done) wait(lock, own);
  if (own.error) std::rethrow_exception(own.error);
  return std::move(own.result);
}

SR_INLINE c10::intrusive_ptr<c10::ivalue::Future> BatchQueue::submit(std::shared_ptr<SessionState> state,
                                                                     std::vector<c10::IValue> args,
                                                                     const KeywordArgs& kwargs,
                                                                     const CallOptions& options) {
  auto own = std::make_unique<Request>();
  fill(*own, std::move(state), std::move(args), kwargs, options);
  own->future = c10::make_intrusive<c10::ivalue::Future>(c10::AnyType::get());
  const c10::intrusive_ptr<c10::ivalue::Future> future = own->future;
  if (options.stop.stop_possible()) {
    own->on_stop.emplace(options.stop, [this] {
      const std::scoped_lock lock(mutex_);
      submitted_head_.notify_all();
    });
  }
  const std::scoped_lock lock(mutex_);
  start_threads();
  submitted_.reserve(submitted_.size() + 1);
  admit(*own);
  submitted_.push_back(std::move(own));
  return future;
}

SR_INLINE BatcherReport BatchQueue::report() const {
  const std::scoped_lock lock(mutex_);
  BatcherReport report = figures_;
  report.waiting = waiting_.size();
  report.running = running_;
  return report;
}

SR_INLINE void BatchQueue::fill(Request& request, std::shared_ptr<SessionState> state,
                                std::vector<c10::IValue> args, const KeywordArgs& kwargs,
                                const CallOptions& options) const {
  runs_.fill(request, std::move(args), &kwargs, std::move(state));
  request.options = options;
  request.arrived = Clock::now();
}

SR_INLINE void BatchQueue::admit(Request& request) {
  if (waiting_.size() >= options_.max_waiting) {
    ++figures_.refused;
    throw BusyError(
        std::to_string(waiting_.size()) +
        " requests wait for the batcher already (BatcherOptions::max_waiting). Call less, or use more "
        "processors.");
  }
  waiting_.push_back(&request);
  rows_waiting_ += request.rows;
  ++figures_.requests;
  const bool fills_a_batch = rows_waiting_ >= options_.max_rows;
  if (request.future != nullptr || fills_a_batch) wake_head();
}

SR_INLINE void BatchQueue::wait(Lock& lock, Request& request) {
  if (request.is_taken) return request.changed.wait(lock);
  if (request.options.can_be_cancelled()) {
    try {
      request.options.check();
    } catch (...) {
      remove(request);
      ++figures_.cancelled;
      wake_head();
      throw;
    }
  }
  Clock::time_point until = Clock::time_point::max();
  const bool may_lead = waiting_.front() == &request && running_ < max_running_;
  if (may_lead && is_due(request, until)) return lead(lock);
  until = std::min(until, request.options.deadline);
  if (until == Clock::time_point::max()) {
    request.changed.wait(lock);
  } else {
    request.changed.wait_until(lock, until);
  }
}

SR_INLINE bool BatchQueue::is_due(const Request& head, Clock::time_point& until) const {
  if (options_.max_wait.count() == 0 || rows_waiting_ >= options_.max_rows || !head.joins || is_closing_)
    return true;
  until = head.arrived + options_.max_wait;
  return Clock::now() >= until;
}

SR_INLINE void BatchQueue::lead(Lock& lock) {
  Batch taken = take_batch(), live;
  ++running_;
  wake_head();  // which may run beside this batch
  lock.unlock();
  for (Request* const request : taken) {
    try {
      request->options.check();
      live.push_back(request);
    } catch (...) {
      request->error = std::current_exception();
    }
  }
  const std::size_t cancelled = taken.size() - live.size();
  BatchTrace trace(live);
  const bool was_divided = !live.empty() && runs_.run(live, trace.options());
  trace.give();
  lock.lock();
  --running_;
  figures_.cancelled += cancelled;
  figures_.divided += was_divided ? 1 : 0;
  note(live);
  std::vector<std::unique_ptr<Request>> answered;
  for (Request* const request : taken) {
    request->is_done = true;
    if (request->future == nullptr) {
      request->changed.notify_one();
    } else {
      const auto owned = std::ranges::find(submitted_, request, &std::unique_ptr<Request>::get);
      answered.push_back(std::move(*owned));
      submitted_.erase(owned);
    }
  }
  if (is_closing_) submitted_head_.notify_all();
  wake_head();
  if (answered.empty()) return;
  lock.unlock();
  for (const std::unique_ptr<Request>& request : answered) complete(*request);
  answered.clear();
  lock.lock();
}

// The head of the queue, and those behind it that fit.
SR_INLINE Batch BatchQueue::take_batch() {
  const Clock::time_point now = Clock::now();
  Batch batch;
  std::int64_t rows = 0;
  std::erase_if(waiting_, [&](Request* request) {
    if (!fits(*request, batch, rows, options_.max_rows)) return false;
    request->is_taken = true;
    rows += request->rows;
    figures_.waiting_seconds += std::chrono::duration<double>(now - request->arrived).count();
    batch.push_back(request);
    return true;
  });
  rows_waiting_ -= rows;
  return batch;
}

SR_INLINE void BatchQueue::note(const Batch& batch) {
  if (batch.empty()) return;
  std::int64_t rows = 0;
  for (const Request* request : batch) {
    rows += request->rows;
    figures_.failed += request->error ? 1 : 0;
  }
  ++figures_.batches;
  figures_.rows += static_cast<std::uint64_t>(rows);
  const auto bits = std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(rows, 1)) - 1);
  ++figures_.batches_by_rows[std::min<std::size_t>(static_cast<std::size_t>(bits),
                                                   figures_.batches_by_rows.size() - 1)];
}

SR_INLINE void BatchQueue::remove(Request& request) {
  std::erase(waiting_, &request);
  rows_waiting_ -= request.rows;
}

SR_INLINE void BatchQueue::wake_head() {
  if (waiting_.empty() || running_ >= max_running_) return;
  Request& head = *waiting_.front();
  (head.future == nullptr ? head.changed : submitted_head_).notify_one();
}

// Completes the future of a request that was submitted. Does not hold the lock, since that runs callbacks.
// The figures count the request already.
SR_INLINE void BatchQueue::complete(Request& request) {
  // The caller may end the process when it knows the result. Tensors of Python need the interpreter until
  // then.
  request.use.reset();
  request.state.reset();
  request.args.clear();
  if (request.error) {
    request.future->setError(request.error);
  } else {
    request.future->markCompleted(std::move(request.result));
  }
}

SR_INLINE void BatchQueue::start_threads() {
  if (!threads_.empty()) return;
  for (std::size_t i = 0; i < max_running_; ++i)
    threads_.emplace_back([self = shared_from_this()] { self->serve(); });
}

// Answers submitted requests that were cancelled, or whose deadline has passed, while they wait.
SR_INLINE void BatchQueue::drop_ended(Lock& lock) {
  std::vector<std::unique_ptr<Request>> ended;
  const Clock::time_point now = Clock::now();
  for (std::size_t i = submitted_.size(); i-- > 0;) {
    Request& request = *submitted_[i];
    const bool has_ended = request.options.deadline <= now || request.options.stop.stop_requested();
    if (request.is_taken || !has_ended) continue;
    try {
      request.options.check();
    } catch (...) {
      request.error = std::current_exception();
      remove(request);
      ended.push_back(std::move(submitted_[i]));
      submitted_.erase(submitted_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  if (ended.empty()) return;
  figures_.cancelled += ended.size();
  wake_head();
  lock.unlock();
  for (const std::unique_ptr<Request>& request : ended) complete(*request);
  ended.clear();
  lock.lock();
}

SR_INLINE void BatchQueue::serve() {
  pthread_setname_np(pthread_self(), "sr batcher");
  Lock lock(mutex_);
  while (!is_closing_ || !submitted_.empty()) {
    drop_ended(lock);
    Clock::time_point until = Clock::time_point::max();
    const bool may_lead = !waiting_.empty() && waiting_.front()->future != nullptr && running_ < max_running_;
    if (may_lead && is_due(*waiting_.front(), until)) {
      lead(lock);
      continue;
    }
    for (const std::unique_ptr<Request>& request : submitted_) {
      if (!request->is_taken) until = std::min(until, request->options.deadline);
    }
    if (is_closing_ && submitted_.empty()) break;
    if (until == Clock::time_point::max()) {
      submitted_head_.wait(lock);
    } else {
      submitted_head_.wait_until(lock, until);
    }
  }
}

}  // namespace sr::detail

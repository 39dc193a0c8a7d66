// Launchers for forked bodies, and a hook that operators of tests call.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "support/custom_ops.hpp"

namespace sr::test {

// Keeps tasks until they are run explicitly.
class Held {
 public:
  auto launcher() {
    return [this](std::function<void()> task) { tasks_.push_back(std::move(task)); };
  }
  std::size_t size() const { return tasks_.size(); }
  void run_all() {
    for (; !tasks_.empty(); tasks_.pop_front()) tasks_.front()();
  }

 private:
  std::deque<std::function<void()>> tasks_;
};

// One thread, which runs all tasks and ends with this object.
class OneThread {
 public:
  auto launcher() {
    return [this](std::function<void()> task) {
      const std::scoped_lock lock(mutex_);
      tasks_.push_back(std::move(task));
      more_.notify_one();
    };
  }
  ~OneThread() {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
    more_.notify_one();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      more_.wait(lock, [this] { return ends_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<std::function<void()>> tasks_;
  bool ends_ = false;
  std::jthread thread_{[this] { run(); }};
};

// The function of sr_test::call while this object lives.
class OnCall {
 public:
  explicit OnCall(std::function<void(const at::Tensor&)> hook) { on_call() = std::move(hook); }
  OnCall(const OnCall&) = delete;
  OnCall& operator=(const OnCall&) = delete;
  ~OnCall() { on_call() = nullptr; }
};

}  // namespace sr::test

// Helpers for tests of batches: a model that blocks until a gate opens, and requests that queue behind its
// call.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sr/batcher.hpp>
#include <sr/sr.hpp>

#include "support/ir.hpp"

namespace sr::test::batcher_tests {

inline StaticModule perceptron() {
  at::manual_seed(5);
  return StaticModule(
      script("def forward(self, x):\n"
             "    h = torch.layer_norm(torch.relu(torch.linear(x, self.a)), [48])\n"
             "    return torch.softmax(torch.linear(h, self.b), -1)\n",
             {{"a", at::randn({48, 20})}, {"b", at::randn({7, 48})}}));
}

// A model whose calls wait until the gate is open, and which notes what it was given.
class Gate {
 public:
  explicit Gate(StaticModule module) : module_(std::move(module)) {}

  BatchModel model() {
    return [this](SessionState*, std::vector<c10::IValue> args, const CallOptions&) {
      std::unique_lock lock(mutex_);
      calls_.push_back(args);
      changed_.notify_all();
      changed_.wait(lock, [&] { return is_open_; });
      lock.unlock();
      return module_(std::move(args));
    };
  }
  void open() {
    const std::scoped_lock lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  void wait_for_calls(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return calls_.size() >= count; });
  }
  std::vector<std::vector<c10::IValue>> calls() const {
    const std::scoped_lock lock(mutex_);
    return calls_;
  }

 private:
  StaticModule module_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::vector<c10::IValue>> calls_;
  bool is_open_ = false;
};

inline void wait_until(const std::function<bool()>& holds) {
  while (!holds()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// Requests that wait behind a first one, which holds the only place, and what becomes of them.
class Held {
 public:
  Held(const StaticModule& module, BatcherOptions options, std::vector<c10::IValue> first)
      : gate_(module), batcher_(module, gate_.model(), one_at_a_time(std::move(options))) {
    add(std::move(first));
    gate_.wait_for_calls(1);
  }
  ~Held() { finish(); }

  void add(std::vector<c10::IValue> args, CallOptions options = {}) {
    const std::size_t index = threads_.size();
    results_.emplace_back();
    errors_.emplace_back();
    threads_.emplace_back([this, index, args = std::move(args), options = std::move(options)]() mutable {
      try {
        c10::IValue result = batcher_(std::move(args), {}, options);
        const std::scoped_lock lock(mutex_);
        results_[index] = std::move(result);
      } catch (const std::exception& error) {
        const std::scoped_lock lock(mutex_);
        errors_[index] = error.what();
      }
    });
    if (index == 0) return;
    const std::size_t waiting = ++waiting_;
    wait_until([&] { return batcher_.report().waiting == waiting; });
  }
  void finish() {
    gate_.open();
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }
  at::Tensor result(std::size_t index) { return results_.at(index)->toTensor(); }
  std::string error(std::size_t index) { return errors_.at(index); }
  bool has_result(std::size_t index) { return results_.at(index).has_value(); }
  Gate& gate() { return gate_; }
  Batcher& batcher() { return batcher_; }
  void forget_one() { --waiting_; }

 private:
  static BatcherOptions one_at_a_time(BatcherOptions options) {
    options.max_running = 1;
    return options;
  }

  Gate gate_;
  Batcher batcher_;
  std::mutex mutex_;
  std::deque<std::optional<c10::IValue>> results_;
  std::deque<std::string> errors_;
  std::deque<std::thread> threads_;
  std::size_t waiting_ = 0;
};

}  // namespace sr::test::batcher_tests

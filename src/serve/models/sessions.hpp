// The sessions of a model that keeps state, by the name that clients give them.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>

#include <sr/session.hpp>
#include <sr/static_module.hpp>

#include "../protocol/message.hpp"

namespace sr::serve {

// May be used from any number of threads.
class Sessions {
 public:
  Sessions(StaticModule module, std::size_t most, std::chrono::duration<double> idle)
      : module_(std::move(module)), most_(most), idle_(idle) {}

  // Returns the session that the request names, a new one with `sequence_start`. Throws RequestError if the
  // request names none, if there is no such session, and if there are too many.
  Session find(const Parameters& parameters);
  // After the request: drops the session with `sequence_end`.
  void release(const Parameters& parameters);
  // Drops sessions that no request has used for the time `idle`.
  void drop_idle();
  std::size_t count() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    Session session;
    Clock::time_point last;
  };

  void drop_idle_locked(Clock::time_point now);

  StaticModule module_;
  std::size_t most_;
  std::chrono::duration<double> idle_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace sr::serve

// Closes connections whose client takes too long, without a timer for each request.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <unordered_set>

namespace sr::serve {

class IdleConnections {
 public:
  using Clock = std::chrono::steady_clock;

  // A connection. Must be removed before it is destroyed.
  class Member {
   public:
    // Closes the connection, on whichever thread it belongs to.
    virtual void expire() = 0;

    void expire_after(Clock::duration time) {
      expires_at_.store((Clock::now() + time).time_since_epoch().count());
    }
    void expire_never() { expires_at_.store(kNever); }

   protected:
    ~Member() = default;

   private:
    friend class IdleConnections;
    static constexpr Clock::rep kNever = Clock::time_point::max().time_since_epoch().count();
    std::atomic<Clock::rep> expires_at_{kNever};
  };

  void add(Member& member) {
    const std::lock_guard lock(mutex_);
    members_.insert(&member);
  }
  void remove(Member& member) {
    const std::lock_guard lock(mutex_);
    members_.erase(&member);
  }
  std::size_t count() const {
    const std::lock_guard lock(mutex_);
    return members_.size();
  }
  // Expires those whose time has come.
  void sweep() {
    const Clock::rep now = Clock::now().time_since_epoch().count();
    const std::lock_guard lock(mutex_);
    for (Member* const member : members_) {
      if (member->expires_at_.load() < now) member->expire();
    }
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_set<Member*> members_;
};

}  // namespace sr::serve

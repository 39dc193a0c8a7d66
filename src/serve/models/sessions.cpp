#include "sessions.hpp"

#include <utility>

namespace sr::serve {

Session Sessions::find(const Parameters& parameters) {
  const std::string& id = parameters.sequence_id;
  if (id.empty()) {
    throw RequestError(Status::invalid,
                       "The model keeps state between requests, so each request names its session with the "
                       "parameter sequence_id, and the first one has sequence_start.");
  }
  const Clock::time_point now = Clock::now();
  const std::lock_guard lock(mutex_);
  const auto known = entries_.find(id);
  if (parameters.sequence_start) {
    if (known != entries_.end()) {
      known->second = {module_.session(), now};
      return known->second.session;
    }
    if (entries_.size() >= most_) drop_idle_locked(now);
    if (entries_.size() >= most_) {
      throw RequestError(Status::busy, "The model has " + std::to_string(most_) +
                                           " sessions, which is as many as it may have. End some with "
                                           "sequence_end.");
    }
    return entries_.emplace(id, Entry{module_.session(), now}).first->second.session;
  }
  if (known == entries_.end()) {
    throw RequestError(Status::not_found,
                       "There is no session '" + id +
                           "'. It has ended or was idle for too long, or its first request "
                           "had no sequence_start.");
  }
  known->second.last = now;
  return known->second.session;
}

void Sessions::release(const Parameters& parameters) {
  const std::lock_guard lock(mutex_);
  const auto known = entries_.find(parameters.sequence_id);
  if (known == entries_.end()) return;
  if (parameters.sequence_end) {
    entries_.erase(known);
  } else {
    known->second.last = Clock::now();
  }
}

void Sessions::drop_idle() {
  const std::lock_guard lock(mutex_);
  drop_idle_locked(Clock::now());
}

void Sessions::drop_idle_locked(Clock::time_point now) {
  std::erase_if(entries_, [&](const auto& entry) { return now - entry.second.last > idle_; });
}

std::size_t Sessions::count() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace sr::serve

// Counts the calls of fork() between the process that loaded sr and this one.
#pragma once

#include <pthread.h>

namespace sr::detail {

inline unsigned fork_count = 0;  // written in a child while it has one thread

// Registers the counter before main, or when the library is loaded, so that no fork is missed.
inline const int forks_are_counted = pthread_atfork(nullptr, nullptr, [] { ++fork_count; });

inline unsigned forks_so_far() {
  return fork_count;
}

}  // namespace sr::detail

// Counts how often this process was forked since the extension was loaded.
#pragma once

#include <pthread.h>

namespace sr::python {

namespace detail {

inline unsigned forks = 0;  // written in a child while it has one thread

}  // namespace detail

inline unsigned forks_so_far() {
  return detail::forks;
}

inline void watch_forks() {
  pthread_atfork(nullptr, nullptr, [] { ++detail::forks; });
}

}  // namespace sr::python

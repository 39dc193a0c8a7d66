// How many processors the machine has, and how many this process may use.
#pragma once

#include <algorithm>
#include <sched.h>
#include <thread>
#include <unistd.h>

namespace sr {

// Processors of the machine, including those on which this process may not run.
inline int processors_online() {
  return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
}

// Processors in the affinity mask of the calling thread, which taskset sets.
inline int processors_allowed() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  // The mask of a machine of more than 1024 processors does not fit.
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
    return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return std::max(1, CPU_COUNT(&allowed));
}

}  // namespace sr

// How many processors the machine has, and how many this process may use. A container may allow fewer.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <unistd.h>

namespace sr {

// Processors of the machine, including those on which this process may not run.
inline int processors_online() {
  return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
}

// What limits the processors of a process.
struct ProcessorLimits {
  // Processors' worth of time that the process and its neighbours in the same control groups may take
  // together, such as 0.5; infinite without a quota. Kubernetes sets it from the limit of a container.
  double quota = std::numeric_limits<double>::infinity();
  int cpuset = 0;    // processors that control groups allow; 0: they say nothing
  int affinity = 0;  // processors in the affinity mask of the calling thread, which taskset sets

  // The least of them; parts of a processor do not count, but one always remains.
  int allowed() const {
    int least = cpuset > 0 ? std::min(cpuset, affinity) : affinity;
    if (quota < least) least = static_cast<int>(std::floor(quota));
    return std::max(1, least);
  }
};

// Reads them from the control groups of this process, of version 1 or 2, and those above them. What cannot
// be read limits nothing. `root` is a directory to look for /proc and /sys in, for tests. Thread-safe.
ProcessorLimits read_processor_limits(const std::string& root = "");

// The processors that this process may use. Control groups are read by the first call, and again if
// `refresh`; the affinity mask of the calling thread is read each time. Thread-safe.
int processors_allowed(bool refresh = false);

}  // namespace sr

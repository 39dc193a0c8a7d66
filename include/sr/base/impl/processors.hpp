// Reads what limits the processors of this process: control groups of version 1 and 2, and the affinity mask.
#pragma once

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sched.h>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sr/base/build.hpp>
#include <sr/base/processors.hpp>

namespace sr {

namespace detail {

// A place where a hierarchy of control groups can be seen, see proc(5), mountinfo. Only the groups below
// `root` can.
struct CgroupMount {
  std::string root, point, type, options;
};

inline bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (list.substr(0, end) == word) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

// Spaces in paths are written as \040.
inline std::string without_escapes(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(digits, digits + 3, code, 8).ptr == digits + 3) {
      plain.push_back(static_cast<char>(code));
      i += 3;
    } else {
      plain.push_back(text[i]);
    }
  }
  return plain;
}

inline std::vector<CgroupMount> cgroup_mounts(const std::string& root) {
  std::vector<CgroupMount> mounts;
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t middle = line.find(" - ");
    if (middle == std::string::npos) continue;
    std::istringstream before(line.substr(0, middle)), after(line.substr(middle + 3));
    std::string skipped;
    CgroupMount mount;
    before >> skipped >> skipped >> skipped >> mount.root >> mount.point;
    after >> mount.type >> skipped >> mount.options;
    if (mount.type != "cgroup" && mount.type != "cgroup2") continue;
    mount.root = without_escapes(mount.root);
    mount.point = without_escapes(mount.point);
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

// Calls visit(directory) for the process's group with the controller, and those above it that can be seen.
template <class Visit>
void each_cgroup(const std::string& root, std::string_view controller, const Visit& visit) {
  const std::vector<CgroupMount> mounts = cgroup_mounts(root);
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // "4:cpu,cpuacct:/path"; version 2: "0::/path"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    const bool is_unified = controllers.empty();
    if (!is_unified && !has_word(controllers, controller)) continue;
    const auto mount = std::find_if(mounts.begin(), mounts.end(), [&](const CgroupMount& each) {
      return is_unified ? each.type == "cgroup2"
                        : each.type == "cgroup" && has_word(each.options, controller);
    });
    if (mount == mounts.end()) continue;
    std::string path = line.substr(second + 1);
    // A container may see its own group as the root of the hierarchy, but read the path that the host knows.
    if (mount->root != "/") path = path.starts_with(mount->root) ? path.substr(mount->root.size()) : "";
    if (path == "/" || path.find("..") != std::string::npos) path.clear();
    for (;;) {
      visit(root + mount->point + path, is_unified);
      if (path.empty()) break;
      path.resize(std::min(path.rfind('/'), path.size()));
    }
  }
}

inline std::string first_line(const std::string& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

// In processors; nothing if the group has no quota.
inline std::optional<double> quota_of(const std::string& group, bool is_unified) {
  std::istringstream text(is_unified ? first_line(group + "/cpu.max")
                                     : first_line(group + "/cpu.cfs_quota_us") + " " +
                                           first_line(group + "/cpu.cfs_period_us"));
  double quota = 0, period = 0;
  if (!(text >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;  // "max", -1
  return quota / period;
}

// Counts the processors of a list such as "0-3,7". Returns 0 if the text is not a list.
inline int count_of_list(std::string_view list) {
  int count = 0;
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at != end) {
    int first = 0;
    const auto low = std::from_chars(at, end, first);
    if (low.ec != std::errc()) return 0;
    int last = first;
    at = low.ptr;
    if (at != end && *at == '-') {
      const auto high = std::from_chars(at + 1, end, last);
      if (high.ec != std::errc() || last < first) return 0;
      at = high.ptr;
    }
    count += last - first + 1;
    if (at != end && *at != ',') return 0;
    if (at != end) ++at;
  }
  return count;
}

inline int cpuset_of(const std::string& group, bool is_unified) {
  if (is_unified) return count_of_list(first_line(group + "/cpuset.cpus.effective"));
  const int effective = count_of_list(first_line(group + "/cpuset.effective_cpus"));
  return effective != 0 ? effective : count_of_list(first_line(group + "/cpuset.cpus"));
}

inline int processors_in_affinity_mask() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  // The mask of a machine of more than 1024 processors does not fit.
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
    return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return std::max(1, CPU_COUNT(&allowed));
}

}  // namespace detail

SR_INLINE ProcessorLimits read_processor_limits(const std::string& root) {
  ProcessorLimits limits;
  limits.affinity = detail::processors_in_affinity_mask();
  detail::each_cgroup(root, "cpu", [&](const std::string& group, bool is_unified) {
    if (const auto quota = detail::quota_of(group, is_unified)) limits.quota = std::min(limits.quota, *quota);
  });
  detail::each_cgroup(root, "cpuset", [&](const std::string& group, bool is_unified) {
    const int count = detail::cpuset_of(group, is_unified);
    if (count != 0) limits.cpuset = limits.cpuset == 0 ? count : std::min(limits.cpuset, count);
  });
  return limits;
}

SR_INLINE int processors_allowed(bool refresh) {
  // The limit of control groups; 0 until it is read. Threads that read it at the same time find the same.
  static std::atomic<int> in_groups{0};
  int most = refresh ? 0 : in_groups.load(std::memory_order_relaxed);
  if (most == 0) {
    ProcessorLimits limits = read_processor_limits("");
    limits.affinity = std::numeric_limits<int>::max();
    most = limits.allowed();
    in_groups.store(most, std::memory_order_relaxed);
  }
  return std::min(most, detail::processors_in_affinity_mask());
}

}  // namespace sr

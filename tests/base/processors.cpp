// How many processors a process may use, read from control groups of both versions: from trees of files, and
// from real groups where this test may make them.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <sr/base/processors.hpp>

#include "support/catch.hpp"

namespace sr::test::executor_processors_tests {

namespace {

namespace fs = std::filesystem;

// A directory with files, which stands for the root of the file system.
class Tree {
 public:
  Tree() {
    std::string pattern = (fs::temp_directory_path() / "sr_cgroups_XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    root_ = pattern;
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree() { fs::remove_all(root_); }

  Tree& with(const std::string& path, const std::string& text) {
    fs::create_directories((root_ + path).substr(0, (root_ + path).rfind('/')));
    std::ofstream(root_ + path) << text;
    return *this;
  }
  ProcessorLimits limits() const { return read_processor_limits(root_); }

 private:
  std::string root_;
};

const char* const kUnified =
    "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
const std::string kGroup = "/sys/fs/cgroup/kubepods/burstable/pod1";

int affinity() {
  cpu_set_t mask;
  REQUIRE(sched_getaffinity(0, sizeof(mask), &mask) == 0);
  return CPU_COUNT(&mask);
}

}  // namespace

TEST_CASE("without control groups the affinity mask decides", "[executor]") {
  const ProcessorLimits limits = Tree().limits();
  CHECK(std::isinf(limits.quota));
  CHECK(limits.cpuset == 0);
  CHECK(limits.affinity == affinity());
  CHECK(limits.allowed() == affinity());
}

TEST_CASE("quotas of control groups of version 2", "[executor]") {
  Tree tree;
  tree.with("/proc/self/mountinfo", kUnified).with("/proc/self/cgroup", "0::/kubepods/burstable/pod1\n");
  CHECK(std::isinf(tree.limits().quota));
  tree.with(kGroup + "/cpu.max", "max 100000\n");
  CHECK(std::isinf(tree.limits().quota));
  tree.with(kGroup + "/cpu.max", "250000 100000\n");
  CHECK(tree.limits().quota == 2.5);
  CHECK(tree.limits().allowed() == std::min(2, affinity()));
  tree.with(kGroup + "/cpu.max", "20000 100000\n");  // part of a processor
  CHECK(tree.limits().quota == 0.2);
  CHECK(tree.limits().allowed() == 1);
  // The groups above limit it, too.
  tree.with(kGroup + "/cpu.max", "300000 100000\n").with("/sys/fs/cgroup/kubepods/cpu.max", "50000 50000\n");
  CHECK(tree.limits().quota == 1);
  tree.with(kGroup + "/cpuset.cpus.effective", "0-2,5\n");
  CHECK(tree.limits().cpuset == 4);
  tree.with("/sys/fs/cgroup/kubepods/cpuset.cpus.effective", "7");
  CHECK(tree.limits().cpuset == 1);
  for (const char* nonsense : {"", "many 100000", "-5 100000", "100000", "100000 0", "1e400 1", "\n"}) {
    CAPTURE(nonsense);
    tree.with("/sys/fs/cgroup/kubepods/cpu.max", nonsense);
    CHECK(tree.limits().quota == 3);
  }
  for (const char* nonsense : {"", "a", "0-", "3-1", "1,,2", "0-1x", "99999999999"}) {
    CAPTURE(nonsense);
    tree.with("/sys/fs/cgroup/kubepods/cpuset.cpus.effective", nonsense);
    CHECK(tree.limits().cpuset == 4);
  }
}

TEST_CASE("quotas of control groups of version 1", "[executor]") {
  Tree tree;
  tree.with("/proc/self/mountinfo",
            "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
            "34 31 0:31 / /sys/fs/cgroup/cpu\\040sets rw,relatime - cgroup cgroup rw,cpuset\n"
            "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n")
      .with("/proc/self/cgroup", "3:cpuset:/a\n2:cpu,cpuacct:/a/b\n1:name=systemd:/a\n0::/\n")
      .with("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n")
      .with("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
  CHECK(std::isinf(tree.limits().quota));
  tree.with("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "150000\n");
  CHECK(tree.limits().quota == 1.5);
  tree.with("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "5000\n")
      .with("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "10000\n");
  CHECK(tree.limits().quota == 0.5);
  tree.with("/sys/fs/cgroup/cpu sets/a/cpuset.cpus", "0-7\n");
  CHECK(tree.limits().cpuset == 8);
  tree.with("/sys/fs/cgroup/cpu sets/a/cpuset.effective_cpus", "0,2\n");
  CHECK(tree.limits().cpuset == 2);
}

TEST_CASE("a container that sees its own group as the root of the hierarchy", "[executor]") {
  Tree tree;
  tree.with("/proc/self/mountinfo",
            "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu ro,relatime - cgroup cgroup rw,cpu\n")
      .with("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n")
      .with("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
      .with("/sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us", "200000\n")
      .with("/sys/fs/cgroup/cpu/inner/cpu.cfs_period_us", "100000\n");
  for (const char* path : {"/docker/abc", "/docker/other", "/", "/../../elsewhere"}) {
    CAPTURE(path);
    tree.with("/proc/self/cgroup", "2:cpu:" + std::string(path) + "\n");
    CHECK(tree.limits().quota == 4);
  }
  tree.with("/proc/self/cgroup", "2:cpu:/docker/abc/inner\n");
  CHECK(tree.limits().quota == 2);
}

TEST_CASE("what cannot be read limits nothing", "[executor]") {
  Tree tree;
  tree.with("/proc/self/mountinfo", "nonsense\n - \n1 2 - cgroup\n32 31 0:29 / /x rw - cgroup2\n")
      .with("/proc/self/cgroup", "\n::\n0::\n:cpu\n5:cpu:/\n");
  CHECK(tree.limits().allowed() == affinity());
}

TEST_CASE("a quota that this process has", "[executor]") {
  const std::string group = "/sys/fs/cgroup/cpu/sr_test_" + std::to_string(getpid());
  std::error_code failed;
  if (!fs::create_directory(group, failed)) return;  // only where this test may make groups
  const std::string quota = group + "/cpu.cfs_quota_us", tasks = group + "/cgroup.procs";
  std::ofstream(quota) << 100000 << std::flush;
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::ofstream(tasks) << getpid() << std::flush;
    _exit(processors_allowed(/*refresh=*/true) * 16 + static_cast<int>(read_processor_limits().quota));
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  fs::remove(group, failed);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 17);
}

}  // namespace sr::test::executor_processors_tests

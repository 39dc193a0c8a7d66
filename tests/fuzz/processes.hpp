// Runs numbered checks in child processes: a crash or a hang is attributed to its check, and memory is
// freed with the process.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iostream>
#include <new>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace sr::fuzz {

struct Progress {
  std::uint64_t checked = 0, failed = 0;
  double seconds = 0;  // since the start

  double milliseconds_each() const {
    return 1000 * seconds / static_cast<double>(std::max<std::uint64_t>(1, checked));
  }
};

// What is counted beside, in shared memory: no pointers.
template <class Tally>
struct Checks {
  std::uint64_t first = 0, count = 0;
  int jobs = 1;               // processes at a time; 0: all in this process
  std::uint64_t chunk = 500;  // checks a process makes
  // Processor time after which SIGPROF ends a check, which does not depend on how busy the machine is. Twelve
  // times as long on the clock, and SIGALRM ends one that waits.
  unsigned seconds = 60;
  std::function<bool(std::uint64_t, Tally&)> passes = {};  // in the child
  std::function<void(std::uint64_t)> failed = {};          // here, some time after it
  std::function<void(std::uint64_t, int)> crashed = {};  // here: the check ended its process; the signal or 0
  std::function<void(const Progress&)> progress = {};    // every ten seconds
};

namespace detail {

// Shared by parent and child. Failures beyond the last place are only counted.
template <class Tally>
struct Chunk {
  std::uint64_t current = 0, next = 0, end = 0;  // `next`: where another child continues after a crash
  std::size_t failures = 0;
  std::array<std::uint64_t, 64> places = {};
  Progress progress;
  Tally tally;
};

template <class T>
T* share() {
  void* memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return new (memory) T();
}

// Gives the process so much time from now on; 0: as much as it takes.
inline void limit_time(unsigned seconds) {
  const itimerval processor_time{{0, 0}, {static_cast<time_t>(seconds), 0}};
  setitimer(ITIMER_PROF, &processor_time, nullptr);
  alarm(12 * seconds);
}

template <class Tally>
void check_chunk(const Checks<Tally>& checks, Chunk<Tally>& chunk) {
  while (chunk.next < chunk.end) {
    chunk.current = chunk.next++;
    limit_time(checks.seconds);
    const bool passes = checks.passes(chunk.current, chunk.tally);
    ++chunk.progress.checked;
    if (passes) continue;
    ++chunk.progress.failed;
    if (chunk.failures < chunk.places.size()) chunk.places[chunk.failures++] = chunk.current;
  }
  limit_time(0);
}

template <class Tally>
class Processes {
 public:
  Processes(const Checks<Tally>& checks, Tally& total)
      : checks_(checks), total_(total), next_(checks.first), end_(checks.first + checks.count) {}

  Progress run() {
    for (int i = 0; i < checks_.jobs; ++i) {
      workers_.push_back({share<Chunk<Tally>>()});
      begin_chunk(workers_.back());
    }
    auto said = started_;
    int status = 0;
    for (pid_t ended = 0; (ended = waitpid(-1, &status, 0)) > 0;) {
      for (Worker& worker : workers_) {
        if (worker.process == ended) take(worker, status);
      }
      if (checks_.progress && Clock::now() - said > std::chrono::seconds(10)) {
        said = Clock::now();
        checks_.progress(so_far());
      }
    }
    return so_far();
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Worker {
    Chunk<Tally>* chunk;
    pid_t process = 0;
  };

  void take(Worker& worker, int status) {
    if (WIFSIGNALED(status) || WEXITSTATUS(status) != 0) {
      const std::uint64_t crashed = worker.chunk->current;
      ++worker.chunk->progress.checked;
      ++worker.chunk->progress.failed;
      start(worker);  // continues with the next check
      checks_.crashed(crashed, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
      return;
    }
    const Chunk<Tally> done = *worker.chunk;
    begin_chunk(worker);
    progress_.checked += done.progress.checked;
    progress_.failed += done.progress.failed;
    total_ += done.tally;
    for (std::size_t i = 0; i < done.failures; ++i) checks_.failed(done.places[i]);
  }

  void begin_chunk(Worker& worker) {
    worker.process = 0;
    if (next_ >= end_) return;
    *worker.chunk = {};
    worker.chunk->next = next_;
    worker.chunk->end = next_ = std::min(end_, next_ + checks_.chunk);
    start(worker);
  }

  void start(Worker& worker) {
    std::cout.flush();
    worker.process = fork();
    if (worker.process < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
    if (worker.process != 0) return;
    check_chunk(checks_, *worker.chunk);
    _exit(0);
  }

  Progress so_far() const {
    Progress progress = progress_;
    progress.seconds = std::chrono::duration<double>(Clock::now() - started_).count();
    return progress;
  }

  const Checks<Tally>& checks_;
  Tally& total_;
  std::uint64_t next_, end_;
  std::vector<Worker> workers_;
  Progress progress_;
  const Clock::time_point started_ = Clock::now();
};

}  // namespace detail

// Makes all checks and adds to the tally what they counted. The processes are children of this one, which
// must have no others.
template <class Tally>
Progress run_in_processes(const Checks<Tally>& checks, Tally& total) {
  if (checks.jobs > 0) return detail::Processes<Tally>(checks, total).run();
  const auto started = std::chrono::steady_clock::now();
  detail::Chunk<Tally> chunk;
  chunk.next = checks.first;
  chunk.end = checks.first + checks.count;
  detail::check_chunk(checks, chunk);
  total += chunk.tally;
  for (std::size_t i = 0; i < chunk.failures; ++i) checks.failed(chunk.places[i]);
  chunk.progress.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return chunk.progress;
}

}  // namespace sr::fuzz

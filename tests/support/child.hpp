// Work in a child of fork().
#pragma once

#include <sys/wait.h>
#include <unistd.h>

namespace sr::test {

// True if `work` returns true in a child. A child that takes longer than a minute is killed.
template <class Work>
bool succeeds_in_child(const Work& work) {
  constexpr unsigned kSeconds = 60;
  const pid_t child = fork();
  if (child == 0) {
    alarm(kSeconds);
    _exit(work() ? 0 : 1);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace sr::test

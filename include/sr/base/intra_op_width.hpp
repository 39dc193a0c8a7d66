// How many threads one operator may use, for the thread that calls it.
#pragma once

#include <algorithm>
#include <chrono>
#include <dlfcn.h>
#include <thread>

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <sr/base/processors.hpp>

namespace sr {

// at::get_num_threads(). In a child of fork(), the first calls of several threads may throw if they coincide:
// LibTorch 2.13 then replaces its pool of threads without a lock (pthreadpool() in pthreadpool-cpp.cc). This
// waits for the new pool. Afterwards the thread's own operators do not ask for it.
inline int libtorch_threads() {
  for (int left = 1000;; --left) {
    try {
      return at::get_num_threads();
    } catch (const c10::Error&) {
      if (left == 0) throw;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
}

// The threads that a step of sr's own may use: those of the calling thread's setting, but no more than the
// process may use processors. More would wait for each other whenever a quota is used up.
inline int intra_op_threads() {
  const int threads = libtorch_threads();
  return threads == 1 ? 1 : std::min(threads, processors_allowed());
}

// Sets the number of threads for operators that the calling thread runs, and restores it at the end.
// at::set_num_threads would also change it for threads that start meanwhile; OpenMP and the BLAS keep a
// number for each thread, and only that is changed here. A LibTorch without them keeps the number it has.
class IntraOpWidth {
 public:
  // threads <= 0 keeps the thread's number.
  explicit IntraOpWidth(int threads) {
    if (threads <= 0) return;
    const int now = libtorch_threads();
    if (now == threads) return;
    before_ = now;
    blas_before_ = set(threads, threads);
  }
  IntraOpWidth(const IntraOpWidth&) = delete;
  IntraOpWidth& operator=(const IntraOpWidth&) = delete;
  ~IntraOpWidth() {
    if (before_ > 0) set(before_, blas_before_);
  }

 private:
  // Returns the number that the BLAS had; 0 if it follows OpenMP.
  static int set(int openmp, int blas) {
    static auto* const set_openmp =
        reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    static auto* const set_blas =
        reinterpret_cast<int (*)(int)>(dlsym(RTLD_DEFAULT, "MKL_Set_Num_Threads_Local"));
    if (set_openmp != nullptr) set_openmp(openmp);
    return set_blas != nullptr ? set_blas(blas) : 0;
  }

  int before_ = 0;
  int blas_before_ = 0;
};

}  // namespace sr

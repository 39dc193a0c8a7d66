#include <sched.h>

#include "operands.hpp"
#include "peaks.hpp"
#include "roofline.hpp"

namespace sr::bench {
namespace {

void stay_on(int processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  sched_setaffinity(0, sizeof(one), &one);
}

}  // namespace

// Other work on the same core, which a virtual machine does not report, was seen to slow copies in L1 down by
// half on one of two processors.
void stay_on_fastest_processor() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  constexpr std::size_t n = 2048;
  Operands x({n, n}, 1.0f, 2.0f);
  const Many copies[] = {[&](std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) peaks::copy(x[0], x[1], n);
  }};
  int fastest = -1;
  double least = 0;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &allowed)) continue;
    stay_on(processor);
    const double ns = median_of(time_in_rounds(copies, /*rounds=*/200, /*slice_seconds=*/1e-4)[0]);
    if (fastest >= 0 && ns >= least) continue;
    fastest = processor;
    least = ns;
  }
  stay_on(fastest);
}

}  // namespace sr::bench

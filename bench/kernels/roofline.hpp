// The table of bench_roofline: the work of a kernel, the machine's limit, and the measured time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "../rounds.hpp"

namespace sr::bench {

struct RooflineOptions {
  std::string filter, csv, markdown;
  int rounds = 30;
  double slice_ms = 0.5;
};

// The work of a call, according to its formula. A fused multiply-add is two operations; other arithmetic,
// comparisons and selections are one. Divisions and roots run on separate units and are counted separately.
// Bytes are those of the operands, each once. CPUs that add and multiply on different units can be faster
// than a count in multiply-adds allows.
struct Work {
  double operations = 0, divisions = 0, roots = 0;
  double byte_operations =
      0;  // of 8-bit integers, in `operations` as multiply-adds of floats in as much time
  double read = 0, written = 0;

  double bytes() const { return read + written; }
  double rated_operations() const { return byte_operations != 0 ? byte_operations : operations; }
};

// The bandwidth of a memory level, such as the L2 cache.
struct Bandwidth {
  std::string level;
  double capacity = 0;         // in bytes
  double load = 0, store = 0;  // in bytes per nanosecond (GB/s)
  double copy = 0;             // reads and writes together
};

inline constexpr double kExpOperations = 24;  // of an exponential in math.hpp

// Per nanosecond.
struct Peaks {
  double operations = 0, divisions = 0, roots = 0;
  std::array<Bandwidth, 4> levels;  // L1, L2, L3, memory
};
// The processor, so that peaks and kernels are measured on the same one.
void stay_on_fastest_processor();
Peaks measure_peaks(const RooflineOptions& options);

// The least time that the peaks allow, and the name of the peak that limits it.
struct Bound {
  double ns = 0;
  std::string by;
};
Bound bound_of(const Work& work, const Peaks& peaks);

// A function of LibTorch that computes the same.
struct Reference {
  std::string name;
  Many many;
};

struct Case {
  std::string kernel, size;
  double elements = 0;  // of the result; for reductions, of the operand
  Work work;
  Many many;
  std::vector<Reference> references;
  std::function<void()> check;  // throws std::runtime_error if a result is wrong
};

// `names` restricts the cases to some vector ops.
std::vector<Case> vector_op_cases(std::size_t n, const std::vector<std::string>& names = {});
std::vector<Case> row_cases();
std::vector<Case> copy_cases();
std::vector<Case> dot_cases();
Case product_case(std::size_t m, std::size_t n, std::size_t k);
Case bfloat16_case(std::size_t m, std::size_t n, std::size_t k);
Case float16_case(std::size_t m, std::size_t n, std::size_t k);
Case int8_case(std::size_t m, std::size_t n, std::size_t k);

struct Measured {
  std::string kernel, size;
  double elements = 0, ns = 0;
  Work work;
  Bound bound;
  struct Rival {
    std::string name;
    double ns = 0, ratio = 0;  // time relative to the kernel's: median of the rounds
  };
  std::vector<Rival> references;

  double share() const { return bound.ns / ns; }
  // The fastest reference, or null.
  const Rival* best() const;
};

void write_terminal(std::ostream& out, const Peaks& peaks, const std::vector<Measured>& all);
void write_markdown(std::ostream& out, const Peaks& peaks, const std::vector<Measured>& all,
                    const RooflineOptions& options);
void write_csv(std::ostream& out, const std::vector<Measured>& all);

}  // namespace sr::bench

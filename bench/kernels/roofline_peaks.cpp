// The roofs: peaks of this machine, and the limits that they set for a kernel.
#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>

#include "operands.hpp"
#include "peaks.hpp"
#include "roofline.hpp"

namespace sr::bench {
namespace {

template <class Value>
Value read_file(const std::string& path, Value otherwise) {
  std::ifstream(path) >> otherwise;
  return otherwise;
}

// The share of one processor in a shared cache; `otherwise` if the system does not report it.
double cache_bytes(int level, double otherwise) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    if (read_file(folder + "level", 0) != level) continue;
    if (read_file<std::string>(folder + "type", "") == "Instruction") continue;
    int processors = 0;
    for (const char digit : read_file<std::string>(folder + "shared_cpu_map", "1")) {
      if (std::isxdigit(static_cast<unsigned char>(digit)) != 0)
        processors += std::popcount(std::stoul(std::string(1, digit), nullptr, 16));
    }
    const double kilobytes = read_file(folder + "size", 0.0);
    if (kilobytes > 0) return kilobytes * 1024 / std::max(processors, 1);
  }
  return otherwise;
}

// A loop, and the peak that its rate measures.
struct Roof {
  Many many;
  double amount = 0;  // operations or bytes of a call
  double* rate = nullptr;
};

template <class Call>
Many repeat(Call call) {
  return [call](std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) call();
  };
}

void add_compute(std::vector<Roof>& roofs, Peaks& peaks) {
  constexpr std::size_t n = 1024;
  const auto x = std::make_shared<Operands>(std::vector{n, n}, 1.0f, 2.0f);
  roofs.push_back({[x](std::int64_t times) { peaks::multiply_add(times, (*x)[1]); },
                   static_cast<double>(peaks::operations_a_pass()), &peaks.operations});
  roofs.push_back({repeat([x] { peaks::divide((*x)[0], (*x)[1], n); }), n, &peaks.divisions});
  roofs.push_back({repeat([x] { peaks::take_root((*x)[0], (*x)[1], n); }), n, &peaks.roots});
}

// Measures the bandwidth of one memory level with loops that each touch about `bytes` bytes of memory.
void add_bandwidth(std::vector<Roof>& roofs, Bandwidth& level, double bytes) {
  const std::size_t half =
      static_cast<std::size_t>(bytes) / 2 / sizeof(float) / peaks::kMultiple * peaks::kMultiple;
  const std::size_t whole = 2 * half;
  const auto one = std::make_shared<Operands>(std::vector{whole, peaks::kMultiple}, 1.0f, 2.0f);
  const auto two = std::make_shared<Operands>(std::vector{half, half}, 1.0f, 2.0f);
  const double touched = static_cast<double>(whole * sizeof(float));
  roofs.push_back({repeat([one, whole] { peaks::load((*one)[0], whole, (*one)[1]); }), touched, &level.load});
  roofs.push_back({repeat([one, whole] { peaks::store(1.5f, (*one)[0], whole); }), touched, &level.store});
  roofs.push_back({repeat([two, half] { peaks::copy((*two)[0], (*two)[1], half); }), touched, &level.copy});
  // The C library has stores that bypass the caches, for copies that do not fit.
  roofs.push_back({repeat([two, half] { std::memcpy((*two)[1], (*two)[0], half * sizeof(float)); }), touched,
                   &level.copy});
}

}  // namespace

Peaks measure_peaks(const RooflineOptions& options) {
  Peaks peaks;
  const double first = cache_bytes(1, 32 << 10), second = cache_bytes(2, 1 << 20),
               third = std::max(cache_bytes(3, 0), 2 * second);
  peaks.levels = {Bandwidth{"L1", first},
                  {"L2", second},
                  {"L3", third},
                  {"memory", std::numeric_limits<double>::infinity()}};
  std::vector<Roof> roofs;
  add_compute(roofs, peaks);
  // Half of a cache, so that other data do not evict the loop's.
  add_bandwidth(roofs, peaks.levels[0], first / 2);
  add_bandwidth(roofs, peaks.levels[1], second / 2);
  add_bandwidth(roofs, peaks.levels[2], third / 2);
  // Far more than any cache, including other processors'.
  add_bandwidth(roofs, peaks.levels[3], third * 16);
  std::vector<Many> many;
  for (const Roof& roof : roofs) many.push_back(roof.many);
  const auto times = time_in_rounds(many, options.rounds, options.slice_ms * 1e-3);
  for (std::size_t i = 0; i < roofs.size(); ++i) {
    const double fastest = *std::ranges::min_element(times[i]);
    *roofs[i].rate = std::max(*roofs[i].rate, roofs[i].amount / fastest);
  }
  return peaks;
}

// A part of operands that do not fit into a cache can still be in it: each level serves as much as fits, and
// the next one the rest.
Bound bound_of(const Work& work, const Peaks& peaks) {
  double load = 0, store = 0, copy = 0, left = work.bytes(), below = 0;
  std::string outermost;
  for (const Bandwidth& level : peaks.levels) {
    const double here = std::min(left, level.capacity - below), share = here / work.bytes();
    load += share * work.read / level.load;
    store += share * work.written / level.store;
    copy += share * 2 * std::min(work.read, work.written) / level.copy;
    outermost = level.level;
    left -= here;
    below = level.capacity;
    if (left <= 0) break;
  }
  // Divisions and roots share one unit. Reading and writing take at least as long as a copy of the smaller of
  // the two.
  const Bound bounds[] = {
      {work.operations / peaks.operations, "arithmetic"},
      {work.divisions / peaks.divisions + work.roots / peaks.roots, work.roots == 0 ? "divisions" : "roots"},
      {load, outermost + " loads"},
      {store, outermost + " stores"},
      {copy, outermost + " copy"}};
  return *std::ranges::max_element(bounds, {}, &Bound::ns);
}

}  // namespace sr::bench

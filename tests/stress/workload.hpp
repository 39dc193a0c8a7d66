// Threads that call modules while other threads replace them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include <sr/runtime_pool.hpp>

#include "stress/programs.hpp"

namespace sr::stress {

struct Tally {
  std::atomic<std::uint64_t> calls = 0;
  std::atomic<std::uint64_t> thrown = 0;
  std::atomic<std::uint64_t> cancelled = 0;
  std::atomic<std::uint64_t> modules = 0;  // made
  std::atomic<std::uint64_t> wrong = 0;
};

// The programs must outlive it. Any number of threads call `run` at once, each with random numbers of its
// own.
class Workload {
 public:
  explicit Workload(const std::vector<Program>& programs);

  // Makes one call in a random form, or replaces a module. Writes what was wrong to standard error.
  void step(std::minstd_rand& random);

  const Tally& tally() const { return tally_; }

 private:
  static constexpr std::size_t kPlaces = 6;

  struct Entry {
    explicit Entry(const Program& from)
        : program(&from),
          module(from.module(), from.options),
          pool(module, {.max_runtimes = 5, .intra_op_threads = from.intra_op_threads}) {}
    const Program* program;
    StaticModule module;
    RuntimePool<> pool;
  };
  struct Place {
    std::mutex mutex;
    std::shared_ptr<const Entry> entry;
  };

  std::shared_ptr<const Entry> at(std::size_t place);
  void replace(std::size_t place, std::minstd_rand& random);
  static c10::IValue call(const Entry& entry, const Case& one, std::uint64_t form);
  void wrong(const Entry& entry, std::uint64_t form, const std::string& what);

  const std::vector<Program>& programs_;
  std::array<Place, kPlaces> places_;
  Tally tally_;
};

}  // namespace sr::stress

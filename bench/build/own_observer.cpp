// A runtime with a user's observer.
#include <cstddef>
#include <cstdint>

#include <sr/sr.hpp>

struct Counter {
  void begin(sr::Phase) {}
  void end(sr::Phase) {}
  void before(std::uint32_t, std::size_t, const sr::ProcessedNode&) { ++nodes; }
  void after(std::uint32_t, std::size_t, const sr::ProcessedNode&) {}
  std::size_t nodes = 0;
};

std::size_t nodes_run(const sr::StaticModule& module, const at::Tensor& x) {
  sr::StaticRuntime<sr::memory::LinearScan, Counter> runtime{module};
  runtime(x);
  return runtime.observer().nodes;
}

// A runtime with a user's planner.
#include <span>
#include <string_view>

#include <sr/sr.hpp>

struct Apart {
  static constexpr std::string_view name = "apart";
  static sr::memory::Layout plan(std::span<const sr::memory::Request> requests) {
    sr::memory::Layout layout;
    for (const sr::memory::Request& request : requests) {
      layout.offsets.push_back(layout.total);
      layout.total += (request.bytes + 63) / 64 * 64;
    }
    return layout;
  }
};

c10::IValue run(const sr::StaticModule& module, const at::Tensor& x) {
  sr::StaticRuntime<Apart> runtime{module};
  return runtime(x);
}

// A custom planner: a type with a name and a pure function. With the path of a TorchScript file as argument
// it runs the file, otherwise it lays out a small list.
#include <algorithm>
#include <cstddef>
#include <exception>
#include <iostream>
#include <span>
#include <string_view>
#include <vector>

#include <sr/memory/planner.hpp>
#include <sr/memory/validate.hpp>
#include <sr/sr.hpp>

// Places every value above all placed values that are alive at the same time.
struct OnTop {
  static constexpr std::string_view name = "on_top";

  static sr::memory::Layout plan(std::span<const sr::memory::Request> requests) {
    sr::memory::Layout layout;
    for (const auto& request : requests) {
      sr::memory::Bytes offset = 0;
      for (std::size_t i = 0; i < layout.offsets.size(); ++i) {
        const auto& other = requests[i];
        const bool meets = other.first < request.end && request.first < other.end;
        if (meets) offset = std::max(offset, layout.offsets[i] + other.bytes);
      }
      layout.offsets.push_back(sr::memory::align_up(offset, request.alignment));
      layout.total = std::max(layout.total, layout.offsets.back() + request.bytes);
    }
    return layout;
  }
};
static_assert(sr::memory::Planner<OnTop>);

int main(int argc, char** argv) try {
  // Three layers; each reads the previous one.
  const std::vector<sr::memory::Request> requests{{.bytes = 4000, .first = 0, .end = 2},
                                                  {.bytes = 2000, .first = 1, .end = 3},
                                                  {.bytes = 1000, .first = 2, .end = 4}};
  const sr::memory::Layout layout = OnTop::plan(requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    std::cout << "request " << i << ": " << requests[i].bytes << " bytes at " << layout.offsets[i] << '\n';
  }
  std::cout << layout.total << " bytes: " << sr::memory::validate(requests, layout).value_or("right") << '\n';

  if (argc < 2) return 0;
  sr::StaticRuntime<OnTop> runtime{sr::load(argv[1])};
  std::cout << runtime(at::ones({1, 8})) << '\n' << runtime.report();
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}

// The planners that make memory errors visible detect planted errors.
#include "support/guard_pages.hpp"

#include <csignal>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

#include <torch/script.h>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"

namespace sr::test::guard_pages_tests {

namespace {

// Ends every lifetime one step too early, like a lifetime analysis that overlooks a reader.
struct DiesTooEarly : GuardPages {
  struct Buffer : GuardPages::Buffer {
    void commit(std::span<const memory::Request> requests, const memory::Layout& layout) {
      GuardPages::Buffer::commit(requests, layout, 1);
    }
  };
};

// Reports four bytes less than it will write.
struct TooSmall : GuardPages {
  struct Buffer : GuardPages::Buffer {
    void commit(std::span<const memory::Request> requests, const memory::Layout& layout) {
      std::vector<memory::Request> smaller(requests.begin(), requests.end());
      for (memory::Request& request : smaller) request.bytes -= request.bytes == 0 ? 0 : 64;
      GuardPages::Buffer::commit(smaller, layout);
    }
  };
};

// The signal that ended the child; 0 if none did.
int signal_of(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);
    at::set_num_threads(1);
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

template <class Planner>
void run_three_times() {
  StaticRuntime<Planner> runtime{StaticModule(
      script("def forward(self, x):\n    y = x * 2\n    return torch.mm(torch.mm(y, y), y) + 1\n"))};
  const at::Tensor x = at::ones({8, 8});
  for (int i = 0; i < 3; ++i) runtime(x);
}

}  // namespace

TEST_CASE("guard pages do not disturb a right layout", "[oracle]") {
  CHECK(signal_of(&run_three_times<GuardPages>) == 0);
}

TEST_CASE("guard pages catch a read of a tensor that is dead", "[oracle]") {
  CHECK(signal_of(&run_three_times<DiesTooEarly>) == SIGSEGV);
}

TEST_CASE("guard pages catch a write behind a tensor", "[oracle]") {
  CHECK(signal_of(&run_three_times<TooSmall>) == SIGSEGV);
}

TEST_CASE("guard pages notice a write just before a tensor", "[oracle]") {
  Pages pages(100);
  pages.open();
  CHECK(pages.intact());
  std::memset(pages.begin(), 1, 100);
  CHECK(pages.intact());
  *(pages.begin() - 1) = std::byte{0};
  CHECK_FALSE(pages.intact());
}

}  // namespace sr::test::guard_pages_tests

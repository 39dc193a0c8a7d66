#include <array>
#include <thread>
#include <vector>

#include <sr/pool/index_stack.hpp>

#include "support/catch.hpp"

namespace {

struct Cell {
  std::atomic<std::uint32_t> next = 0;
  int owner = 0;  // written by whoever popped the cell
};
using Stack = sr::pool::IndexStack<Cell>;

}  // namespace

TEST_CASE("the cell pushed last is popped first", "[pool]") {
  std::array<Cell, 3> cells;
  Stack stack(cells.data());
  CHECK(stack.pop() == Stack::kNone);
  for (const std::uint32_t cell : {2U, 0U, 1U}) CHECK(stack.push(cell) == Stack::Pushed::yes);
  CHECK(stack.pop() == 1);
  CHECK(stack.push(1) == Stack::Pushed::yes);
  for (const std::uint32_t cell : {1U, 0U, 2U}) CHECK(stack.pop() == cell);
  CHECK(stack.pop() == Stack::kNone);
}

TEST_CASE("only an empty stack is marked, and a marked one takes nothing", "[pool]") {
  std::array<Cell, 2> cells;
  Stack stack(cells.data());
  CHECK(stack.push(0) == Stack::Pushed::yes);
  CHECK_FALSE(stack.mark_waited_for());
  CHECK(stack.pop() == 0);
  CHECK(stack.mark_waited_for());
  CHECK(stack.mark_waited_for());
  CHECK(stack.push(0) == Stack::Pushed::waited_for);
  CHECK(stack.pop() == Stack::kNone);
  stack.unmark();
  CHECK(stack.push(0) == Stack::Pushed::yes);
  stack.unmark();
  CHECK(stack.pop() == 0);
}

TEST_CASE("closing hands over what there is and takes no more", "[pool]") {
  std::array<Cell, 3> cells;
  Stack stack(cells.data());
  CHECK(stack.push(0) == Stack::Pushed::yes);
  CHECK(stack.push(2) == Stack::Pushed::yes);
  const std::uint32_t first = stack.close();
  CHECK(first == 2);
  CHECK(cells[2].next == 0);
  CHECK(cells[0].next == Stack::kNone);
  CHECK(stack.push(1) == Stack::Pushed::closed);
  CHECK(stack.pop() == Stack::kNone);
  CHECK(stack.close() == Stack::kNone);
}

TEST_CASE("threads never pop the same cell", "[pool]") {
  std::array<Cell, 5> cells;
  Stack stack(cells.data());
  for (std::uint32_t cell = 0; cell < cells.size(); ++cell) stack.push(cell);
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 1; thread <= 4; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < 20'000; ++i) {
          const std::uint32_t cell = stack.pop();
          if (cell == Stack::kNone) continue;
          cells[cell].owner = thread;
          wrong += cells[cell].owner == thread ? 0 : 1;
          if (stack.push(cell) != Stack::Pushed::yes) ++wrong;
        }
      });
    }
  }
  CHECK(wrong == 0);
  int left = 0;
  while (stack.pop() != Stack::kNone) ++left;
  CHECK(left == 5);
}

#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <sr/pool/cells.hpp>

#include "support/catch.hpp"

namespace {

using Cells = sr::pool::Cells<int>;
using State = Cells::State;
using Released = Cells::Released;

}  // namespace

TEST_CASE("cells are taken from the first on, and idle ones before vacant ones", "[pool]") {
  Cells cells(3);
  CHECK(cells.take() == 0);
  CHECK(cells.take() == 1);
  CHECK(cells.out() == 2);
  CHECK(cells.release(0, State::vacant) == Released::yes);
  CHECK(cells.release(1, State::idle) == Released::yes);
  CHECK(cells.take() == 1);
  CHECK(cells.take() == 0);
  CHECK(cells.take() == 2);
  CHECK(cells.take() == Cells::kNone);
}

TEST_CASE("a thread takes the cell it gave back last, whatever others did meanwhile", "[pool]") {
  Cells cells(4), others(4);
  for (std::uint32_t i = 0; i < 4; ++i) REQUIRE(cells.take() == i);
  for (std::uint32_t i : {0U, 1U, 3U, 2U}) REQUIRE(cells.release(i, State::idle) == Released::yes);
  std::uint32_t taken_by_another = Cells::kNone;
  std::jthread([&] {
    taken_by_another = cells.take();
    cells.release(taken_by_another, State::idle);
  }).join();
  CHECK(taken_by_another == 0);  // the place of a new thread
  CHECK(others.take() == 0);     // places are remembered for each table
  CHECK(cells.take() == 2);
  CHECK(cells.take() == 0);
}

TEST_CASE("tables that threads remember in one place do not take each other's cells", "[pool]") {
  // More threads than there are places.
  std::vector<std::unique_ptr<Cells>> tables;
  for (std::uint32_t i = 0; i < 40; ++i) tables.push_back(std::make_unique<Cells>(i % 7 + 1));
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t i = 0; i < tables.size(); ++i) {
      std::vector<std::uint32_t> taken;
      for (std::uint32_t k = 0; k < i % 7 + 1; ++k) taken.push_back(tables[i]->take());
      CHECK(tables[i]->take() == Cells::kNone);
      for (const std::uint32_t cell : taken) REQUIRE(tables[i]->release(cell, State::idle) == Released::yes);
    }
  }
}

TEST_CASE("cells that are wanted are not released until that is taken back", "[pool]") {
  Cells cells(2);
  REQUIRE(cells.take() == 0);
  CHECK(cells.take_or_mark() == 1);  // vacant, so no caller waits
  CHECK(cells.release(1, State::idle) == Released::yes);
  CHECK(cells.take_or_mark() == 1);
  CHECK(cells.take_or_mark() == Cells::kNone);
  CHECK(cells.out() == 2);
  CHECK(cells.release(0, State::idle) == Released::wanted);
  CHECK(cells.release(1, State::vacant) == Released::wanted);
  CHECK(cells.take() == Cells::kNone);
  cells.unmark();
  CHECK(cells.release(0, State::idle) == Released::yes);
  CHECK(cells.take() == 0);
}

TEST_CASE("closed cells are released no more; those that are idle are the closer's", "[pool]") {
  Cells cells(4);
  for (std::uint32_t i = 0; i < 3; ++i) REQUIRE(cells.take() == i);
  REQUIRE(cells.release(1, State::idle) == Released::yes);
  REQUIRE(cells.release(2, State::vacant) == Released::yes);
  std::vector<std::uint32_t> idle;
  cells.close([&](std::uint32_t cell) { idle.push_back(cell); });
  CHECK(idle == std::vector<std::uint32_t>{1});
  CHECK(cells.release(0, State::idle) == Released::closed);
}

// One thread at a time writes the contents of a cell; ThreadSanitizer would report a race.
TEST_CASE("each cell is of one thread at a time", "[pool][threads]") {
  constexpr std::uint32_t kCells = 3;
  Cells cells(kCells);
  std::vector<int> uses(kCells, 0);
  std::atomic<int> taken = 0;
  {
    std::vector<std::jthread> threads;
    for (unsigned thread = 0; thread < 6; ++thread) {
      threads.emplace_back([&, thread] {
        std::minstd_rand random(thread + 1);
        for (int i = 0; i < 20'000; ++i) {
          const std::uint32_t cell = cells.take();
          if (cell == Cells::kNone) continue;
          ++uses[cell];
          ++taken;
          cells.release(cell, random() % 8 == 0 ? State::vacant : State::idle);
          if (random() % 256 == 0)
            cells.take_idle([&](std::uint32_t idle) {
              ++uses[idle];
              ++taken;
              cells.release(idle, State::vacant);
            });
        }
      });
    }
  }
  CHECK(cells.out() == 0);
  int sum = 0;
  for (const int one : uses) sum += one;
  CHECK(sum == taken);
}

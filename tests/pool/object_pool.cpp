#include <random>
#include <thread>
#include <vector>

#include <sr/pool/object_pool.hpp>

#include "support/catch.hpp"

using namespace std::chrono_literals;

namespace {

// Counts its instances. Two threads that use one at a time are a data race.
struct Object {
  explicit Object(std::atomic<int>& objects) : alive(&objects) { ++*alive; }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  ~Object() { --*alive; }

  std::atomic<int>* alive;
  std::uint64_t uses = 0;
};
using Pool = sr::pool::ObjectPool<Object>;

Pool::Make maker(std::atomic<int>& alive) {
  return [&alive] { return std::make_unique<Object>(alive); };
}

auto soon() {
  return Pool::Clock::now() + 10ms;
}

void wait_until_waiting(const Pool& pool, std::uint64_t callers) {
  while (pool.metrics().waiting.now != callers) std::this_thread::yield();
}

}  // namespace

TEST_CASE("the object returned last is leased first, and no more are made than needed", "[pool]") {
  std::atomic<int> alive = 0;
  const Pool pool(8, maker(alive));
  CHECK(alive == 0);
  Object* last = nullptr;
  {
    const auto first = pool.lease();
    const auto second = pool.lease();
    CHECK(&*first != &*second);
    CHECK(pool.metrics().made == 2);
    CHECK(pool.metrics().leased == 2);
    last = &*first;  // destroyed, and so returned, after the second one
  }
  for (int i = 0; i < 5; ++i) CHECK(&*pool.lease() == last);
  CHECK(alive == 2);
  CHECK(pool.metrics().leased == 0);
  CHECK(pool.metrics().most == 8);
  CHECK(pool.metrics().waiting.waits == 0);
}

TEST_CASE("threads that alternate keep their objects", "[pool][threads]") {
  std::atomic<int> alive = 0;
  const Pool pool(8, maker(alive));
  std::optional<Pool::Lease> mine = pool.lease();
  Object* const first = &**mine;
  std::atomic<int> turn = 0;
  std::vector<Object*> had;  // of the other thread; read after it has ended
  std::jthread other([&] {
    had.push_back(&*pool.lease());
    for (turn = 1; turn == 1;) std::this_thread::yield();
    for (int i = 0; i < 3; ++i) had.push_back(&*pool.lease());
  });
  while (turn == 0) std::this_thread::yield();
  mine.reset();
  turn = 2;
  other.join();
  for (int i = 0; i < 3; ++i) CHECK(&*pool.lease() == first);
  CHECK(had == std::vector<Object*>(4, had[0]));
  CHECK(had[0] != first);
  CHECK(alive == 2);
}

TEST_CASE("a lease can be moved, and is returned once", "[pool]") {
  std::atomic<int> alive = 0;
  const Pool pool(1, maker(alive));
  auto first = pool.lease();
  auto second = std::move(first);
  CHECK_FALSE(pool.lease_until(soon()));
  { const auto third = std::move(second); }
  auto fourth = pool.lease_until(soon());
  REQUIRE(fourth);
  (*fourth)->uses = 3;
  CHECK((**fourth).uses == 3);
}

TEST_CASE("callers wait while all objects are leased, at most until their deadline", "[pool]") {
  std::atomic<int> alive = 0;
  const Pool pool(2, maker(alive));
  std::optional<Pool::Lease> first = pool.lease();
  const auto second = pool.lease();
  CHECK_FALSE(pool.lease_until(soon()));
  CHECK_FALSE(pool.lease_until(Pool::Clock::now()));
  CHECK(pool.metrics().waiting.timeouts == 2);
  CHECK(pool.metrics().waiting.longest >= 10ms);
  Object* got = nullptr;
  std::jthread waiter([&] { got = &*pool.lease(); });
  wait_until_waiting(pool, 1);
  Object* const returned = &**first;
  first.reset();
  waiter.join();
  CHECK(got == returned);
  CHECK(pool.metrics().waiting.waits == 3);
  CHECK(pool.metrics().waiting.now == 0);
  CHECK(alive == 2);
}

TEST_CASE("waiting callers are served in order", "[pool]") {
  std::atomic<int> alive = 0;
  const Pool pool(1, maker(alive));
  std::optional<Pool::Lease> held = pool.lease();
  std::vector<int> order;  // guarded by the lease
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 5; ++i) {
      threads.emplace_back([&, i] {
        const auto leased = pool.lease();
        order.push_back(i);
      });
      wait_until_waiting(pool, static_cast<std::uint64_t>(i) + 1);
    }
    std::atomic<bool> gave_up = false;
    std::jthread([&] { gave_up = !pool.lease_until(soon()); }).join();
    CHECK(gave_up);
    held.reset();
  }
  CHECK(order == std::vector<int>{0, 1, 2, 3, 4});
}

TEST_CASE("an exception while making reaches its caller, and the next caller makes the object",
          "[pool][errors]") {
  std::atomic<int> alive = 0;
  std::atomic<int> attempts = 0;
  const Pool pool(1, [&]() -> std::unique_ptr<Object> {
    if (++attempts % 2 == 1) throw std::runtime_error("no");
    return std::make_unique<Object>(alive);
  });
  CHECK_THROWS_WITH(pool.lease(), "no");
  CHECK(pool.metrics().made == 0);
  CHECK_NOTHROW(pool.lease());
  CHECK(attempts == 2);
  CHECK_THROWS_AS(Pool(0, maker(alive)), std::invalid_argument);
  CHECK_THROWS_AS(Pool(sr::pool::kMostObjects + 1, maker(alive)), std::invalid_argument);
  CHECK_NOTHROW(Pool(sr::pool::kMostObjects, maker(alive)));
}

TEST_CASE("a waiting caller makes the object that another could not make", "[pool][errors]") {
  std::atomic<int> alive = 0;
  std::atomic<bool> begun = false, told = false;
  const Pool* shared = nullptr;
  const Pool pool(1, [&]() -> std::unique_ptr<Object> {
    if (begun.exchange(true)) return std::make_unique<Object>(alive);
    wait_until_waiting(*shared, 1);
    throw std::runtime_error("no");
  });
  shared = &pool;
  std::jthread first([&] {
    try {
      const auto leased = pool.lease();
    } catch (const std::runtime_error&) {
      told = true;
    }
  });
  while (!begun) std::this_thread::yield();
  CHECK_NOTHROW(pool.lease());
  first.join();
  CHECK(told);
}

TEST_CASE("trimming destroys idle objects only", "[pool]") {
  std::atomic<int> alive = 0;
  const Pool pool(4, maker(alive));
  const auto kept = pool.lease();
  { const auto a = pool.lease(), b = pool.lease(); }
  CHECK(alive == 3);
  pool.trim();
  CHECK(alive == 1);
  CHECK(pool.metrics().made == 1);
  const auto a = pool.lease(), b = pool.lease(), c = pool.lease();
  CHECK(alive == 4);
  CHECK_FALSE(pool.lease_until(soon()));
}

TEST_CASE("leases may outlive their pool", "[pool]") {
  std::atomic<int> alive = 0;
  std::optional<Pool> pool(std::in_place, 4, maker(alive));
  std::optional<Pool::Lease> kept = pool->lease();
  { const auto idle = pool->lease(); }
  Pool moved = std::move(*pool);
  pool.reset();
  CHECK(alive == 2);
  { const Pool gone = std::move(moved); }
  CHECK(alive == 1);
  (*kept)->uses = 1;
  kept.reset();
  CHECK(alive == 0);
}

TEST_CASE("pools destroyed while their leases come back", "[pool][threads]") {
  std::atomic<int> alive = 0;
  for (int round = 0; round < 300; ++round) {
    std::optional<Pool> pool(std::in_place, 3, maker(alive));
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([leased = pool->lease()]() mutable {
        ++leased->uses;
        const auto returned = std::move(leased);
      });
    }
    pool.reset();
  }
  CHECK(alive == 0);
}

TEST_CASE("threads that lease, throw, give up, trim and ask for figures", "[pool][threads]") {
  std::atomic<int> alive = 0;
  std::atomic<std::uint64_t> leases = 0;
  std::uint64_t uses = 0;
  {
    std::atomic<std::uint64_t> destroyed_uses = 0;
    std::atomic<unsigned> makes = 0;
    struct Counted : Object {
      Counted(std::atomic<int>& objects, std::atomic<std::uint64_t>& total) : Object(objects), sum(&total) {}
      ~Counted() { *sum += uses; }
      std::atomic<std::uint64_t>* sum;
    };
    {
      const sr::pool::ObjectPool<Counted> pool(3, [&] {
        if (++makes % 5 == 0) throw std::runtime_error("no");
        return std::make_unique<Counted>(alive, destroyed_uses);
      });
      std::vector<std::jthread> threads;
      for (unsigned thread = 0; thread < 8; ++thread) {
        threads.emplace_back([&, thread] {
          std::minstd_rand random(thread + 1);
          for (int i = 0; i < 2'000; ++i) {
            try {
              auto leased = random() % 4 == 0 ? pool.lease_until(Pool::Clock::now() + 5us)
                                              : std::optional(pool.lease());
              if (!leased) continue;
              ++(*leased)->uses;
              ++leases;
              if (random() % 8 == 0) std::this_thread::yield();
            } catch (const std::runtime_error&) {
            }
            if (random() % 64 == 0) pool.trim();
            if (random() % 64 == 0) static_cast<void>(pool.metrics());
          }
        });
      }
    }
    uses = destroyed_uses;
  }
  CHECK(uses == leases);
  CHECK(alive == 0);
}

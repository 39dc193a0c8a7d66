// Objects that are expensive to make, lent to one thread at a time.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <sr/pool/index_stack.hpp>
#include <sr/pool/waiting_line.hpp>

namespace sr::pool {

inline constexpr std::size_t kMostObjects = 65'533;

struct PoolFigures {
  std::size_t most = 0;    // objects there may be
  std::size_t made = 0;    // objects there are
  std::size_t leased = 0;  // of them in use; a moment's figure while others lease and return
  WaitingFigures waiting;
};

// Lends the object returned last, whose memory is in the caches, first: so no more objects are made than
// there are users at once. Leasing and returning take no lock unless all `most` objects are out; then callers
// wait in the order they came. Everything may be called from any number of threads at once, except the
// destructor.
//
// Leases may outlive the pool: the last one frees what is left.
template <class T>
class ObjectPool {
  struct Core;

 public:
  using Make = std::function<std::unique_ptr<T>()>;
  using Clock = WaitingLine::Clock;

  // An object for as long as this lives; movable, from thread to thread too.
  class Lease {
   public:
    Lease(Lease&& other) noexcept : core_(std::exchange(other.core_, nullptr)), cell_(other.cell_) {}
    Lease& operator=(Lease&& other) noexcept {
      std::swap(core_, other.core_);
      std::swap(cell_, other.cell_);
      return *this;
    }
    ~Lease() {
      if (core_ != nullptr) core_->give_back(cell_);
    }

    T& operator*() const { return *core_->cells[cell_].object; }
    T* operator->() const { return core_->cells[cell_].object; }

   private:
    friend class ObjectPool;
    Lease(Core* core, std::uint32_t cell) : core_(core), cell_(cell) {}

    Core* core_;
    std::uint32_t cell_;
  };

  // `make` is called by whoever leases when nothing is idle and fewer than `most` were made, by several
  // threads at once; what it throws reaches that caller. Throws std::invalid_argument unless 1 <= most <=
  // kMostObjects.
  ObjectPool(std::size_t most, Make make) : core_(new Core(checked(most), std::move(make))) {}

  // Waits while all are out, at most until the deadline; nothing when it passed.
  std::optional<Lease> lease_until(Clock::time_point deadline) const {
    const std::uint32_t cell = core_->acquire(deadline);
    if (cell == kNone) return std::nullopt;
    return Lease(core_.get(), cell);
  }
  Lease lease() const { return Lease(core_.get(), core_->acquire(WaitingLine::kForever)); }

  // Destroys the objects that are idle.
  void trim() const {
    for (std::uint32_t cell = core_->idle.pop(); cell != kNone; cell = core_->idle.pop()) {
      core_->destroy(cell);
      core_->vacate(cell);
    }
  }

  PoolFigures figures() const {
    PoolFigures figures{core_->most, core_->users.load() - 1, 0, {}};
    for (std::size_t i = 0; i < std::min<std::size_t>(core_->untouched.load(), core_->most); ++i) {
      figures.leased += core_->cells[i].out.load(std::memory_order_relaxed) ? 1U : 0U;
    }
    const std::scoped_lock lock(core_->line.mutex());
    figures.waiting = core_->line.figures();
    return figures;
  }

 private:
  struct alignas(64) Cell {  // of one thread at a time while it is out
    std::atomic<std::uint32_t> next = 0;
    std::atomic<bool> out = false;
    T* object = nullptr;
  };
  using Stack = IndexStack<Cell>;
  static constexpr std::uint32_t kNone = Stack::kNone;

  // Lives as long as the pool or one of its objects.
  struct Core {
    Core(std::uint32_t most_objects, Make make_object)
        : most(most_objects),
          make(std::move(make_object)),
          cells(std::make_unique<Cell[]>(most_objects)),
          idle(cells.get()),
          vacant(cells.get()) {}

    std::uint32_t acquire(Clock::time_point deadline) {
      std::uint32_t cell = take();
      if (cell == kNone) cell = wait(deadline);
      if (cell == kNone) return kNone;
      if (cells[cell].object == nullptr) fill(cell);
      cells[cell].out.store(true, std::memory_order_relaxed);
      return cell;
    }

    // While someone waits nothing is idle or vacant: what comes back is handed on, and none overtakes.
    std::uint32_t wait(Clock::time_point deadline) {
      std::unique_lock lock(line.mutex());
      if (line.empty()) {
        do {
          if (const std::uint32_t cell = take(); cell != kNone) return cell;
        } while (!idle.mark_waited_for());
      }
      const std::uint32_t cell = line.wait(lock, deadline);
      if (line.empty()) idle.unmark();
      return cell;
    }

    // A cell with an object, or one that has room for it.
    std::uint32_t take() {
      if (const std::uint32_t cell = idle.pop(); cell != kNone) return cell;
      if (const std::uint32_t cell = vacant.pop(); cell != kNone) return cell;
      std::uint32_t cell = untouched.load();
      while (cell < most && !untouched.compare_exchange_weak(cell, cell + 1)) {
      }
      return cell < most ? cell : kNone;
    }

    void fill(std::uint32_t cell) {
      try {
        cells[cell].object = make().release();
        ++users;
      } catch (...) {
        vacate(cell);
        throw;
      }
    }

    void give_back(std::uint32_t cell) {
      cells[cell].out.store(false, std::memory_order_relaxed);
      for (;;) {
        // After a push the cell, and with it the core, may be gone: nothing of them is touched any more.
        switch (idle.push(cell)) {
          case Stack::Pushed::yes:
            return;
          case Stack::Pushed::closed:
            return destroy(cell);
          case Stack::Pushed::waited_for:
            if (hand_on(cell)) return;
        }
      }
    }

    bool hand_on(std::uint32_t cell) {
      const std::scoped_lock lock(line.mutex());
      const bool served = line.serve(cell);
      if (line.empty()) idle.unmark();
      return served;
    }

    // For whoever makes the next object.
    void vacate(std::uint32_t cell) {
      const std::scoped_lock lock(line.mutex());
      if (!line.serve(cell)) vacant.push(cell);
      if (line.empty()) idle.unmark();
    }

    // The core may be gone afterwards, but not while the pool is there.
    void destroy(std::uint32_t cell) {
      delete std::exchange(cells[cell].object, nullptr);
      leave();
    }

    void close() {
      for (std::uint32_t cell = idle.close(); cell != kNone;) {
        const std::uint32_t below = cells[cell].next.load(std::memory_order_relaxed);
        destroy(cell);
        cell = below;
      }
      leave();
    }

    void leave() {
      if (--users == 0) delete this;
    }

    const std::uint32_t most;
    const Make make;
    const std::unique_ptr<Cell[]> cells;
    Stack idle;
    Stack vacant;
    std::atomic<std::uint32_t> untouched = 0;  // cells from here on never held anything
    WaitingLine line{kNone};
    std::atomic<std::size_t> users = 1;  // the pool, and every object
  };

  static std::uint32_t checked(std::size_t most) {
    static_assert(kMostObjects == Stack::kMost);
    if (most == 0 || most > kMostObjects) {
      throw std::invalid_argument("a pool holds 1 to " + std::to_string(kMostObjects) + " objects, not " +
                                  std::to_string(most));
    }
    return static_cast<std::uint32_t>(most);
  }

  struct Close {
    void operator()(Core* core) const { core->close(); }
  };
  std::unique_ptr<Core, Close> core_;
};

}  // namespace sr::pool

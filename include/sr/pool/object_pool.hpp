// A pool of objects that are expensive to make, each leased to one thread at a time.
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

#include <sr/pool/cells.hpp>
#include <sr/pool/waiting_line.hpp>

namespace sr::pool {

inline constexpr std::size_t kMostObjects = 65'533;

struct PoolMetrics {
  std::size_t most = 0;    // objects there may be
  std::size_t made = 0;    // objects there are
  std::size_t leased = 0;  // of them in use; a moment's figure while others lease and return
  WaitingFigures waiting;
};

// A thread gets the object that it returned last, whose memory is in its caches, or else any idle one: no
// more objects are made than are used at once. Leasing and returning take no lock unless all `most` objects
// are leased; then callers wait in the order of their arrival. All functions but the destructor may be called
// from any number of threads at once.
//
// Leases may outlive the pool: the last one frees the rest.
template <class T>
class ObjectPool {
  struct Core;

 public:
  using Make = std::function<std::unique_ptr<T>()>;
  using Clock = WaitingLine::Clock;

  // The use of an object for as long as the lease exists. May be moved, also to another thread.
  class Lease {
   public:
    Lease(Lease&& other) noexcept : core_(std::exchange(other.core_, nullptr)), cell_(other.cell_) {}
    Lease& operator=(Lease&& other) noexcept {
      std::swap(core_, other.core_);
      std::swap(cell_, other.cell_);
      return *this;
    }
    ~Lease() {
      if (core_ != nullptr) core_->release(cell_, State::idle);
    }

    T& operator*() const { return *core_->cells.object(cell_); }
    T* operator->() const { return core_->cells.object(cell_); }

   private:
    friend class ObjectPool;
    Lease(Core* core, std::uint32_t cell) : core_(core), cell_(cell) {}

    Core* core_;
    std::uint32_t cell_;
  };

  // A thread that leases calls `make` when nothing is idle and fewer than `most` objects were made; several
  // threads may call it at once. What it throws reaches that thread. Throws std::invalid_argument unless 1 <=
  // most <= kMostObjects.
  ObjectPool(std::size_t most, Make make) : core_(new Core(checked(most), std::move(make))) {}

  // Waits while all objects are leased. Returns nothing if the deadline passes first.
  std::optional<Lease> lease_until(Clock::time_point deadline) const {
    const std::uint32_t cell = core_->acquire(deadline);
    if (cell == kNone) return std::nullopt;
    return Lease(core_.get(), cell);
  }
  Lease lease() const { return Lease(core_.get(), core_->acquire(WaitingLine::kForever)); }

  // Destroys the objects that are idle.
  void trim() const {
    core_->cells.take_idle([&](std::uint32_t cell) {
      core_->destroy(cell);
      core_->release(cell, State::vacant);
    });
  }

  PoolMetrics metrics() const {
    PoolMetrics figures{core_->cells.most(), core_->users.load() - 1, core_->cells.out(), {}};
    const std::scoped_lock lock(core_->line.mutex());
    figures.waiting = core_->line.figures();
    return figures;
  }

 private:
  using State = typename Cells<T>::State;
  using Released = typename Cells<T>::Released;
  static constexpr std::uint32_t kNone = Cells<T>::kNone;

  // Exists as long as the pool or one of its leases.
  struct Core {
    Core(std::uint32_t most, Make make_object) : make(std::move(make_object)), cells(most) {}

    std::uint32_t acquire(Clock::time_point deadline) {
      std::uint32_t cell = cells.take();
      if (cell == kNone) cell = wait(deadline);
      if (cell != kNone && cells.object(cell) == nullptr) fill(cell);
      return cell;
    }

    // While a thread waits, every cell is leased and wanted: a returned object is handed to the first thread
    // in the line, and no other can take it.
    std::uint32_t wait(Clock::time_point deadline) {
      std::unique_lock lock(line.mutex());
      if (line.empty()) {
        if (const std::uint32_t cell = cells.take_or_mark(); cell != kNone) return cell;
      }
      const std::uint32_t cell = line.wait(lock, deadline);
      if (line.empty()) cells.unmark();
      return cell;
    }

    void fill(std::uint32_t cell) {
      try {
        cells.object(cell) = make().release();
        ++users;
      } catch (...) {
        release(cell, State::vacant);  // for whoever makes the next one
        throw;
      }
    }

    // Unless the cell is vacant, the core may no longer exist afterwards.
    void release(std::uint32_t cell, State to) {
      for (;;) {
        switch (cells.release(cell, to)) {
          case Released::yes:
            return;
          case Released::closed:
            return destroy(cell);
          case Released::wanted:
            if (hand_on(cell)) return;
        }
      }
    }

    bool hand_on(std::uint32_t cell) {
      const std::scoped_lock lock(line.mutex());
      const bool served = line.serve(cell);
      if (line.empty()) cells.unmark();
      return served;
    }

    // The core may no longer exist afterwards, unless the pool still does.
    void destroy(std::uint32_t cell) {
      delete std::exchange(cells.object(cell), nullptr);
      leave();
    }

    void close() {
      cells.close([&](std::uint32_t cell) { destroy(cell); });
      leave();
    }

    void leave() {
      if (--users == 0) delete this;
    }

    const Make make;
    Cells<T> cells;
    WaitingLine line{kNone};
    std::atomic<std::size_t> users = 1;  // the pool, and every object
  };

  static std::uint32_t checked(std::size_t most) {
    static_assert(kMostObjects == Cells<T>::kMost);
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

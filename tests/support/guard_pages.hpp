// Planners that make memory errors visible, also those inside LibTorch, which no sanitizer looks into.
//   GuardPages  every managed tensor ends where its own pages end; the next page, and the tensor's pages
//   while it is
//               not alive, cannot be touched. Any stale or far access is a SIGSEGV.
//   Poison      real reuse of bytes, filled with NaN at birth and at lifetime_end.
#pragma once

#include <cstring>
#include <new>
#include <span>
#include <stdexcept>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <sr/memory/linear_scan.hpp>
#include <sr/memory/no_reuse.hpp>
#include <sr/memory/placement.hpp>
#include <sr/memory/planner.hpp>

namespace sr::test {

// Pages of one tensor between two inaccessible pages.
class Pages {
 public:
  static constexpr unsigned char kCanary = 0xCB;

  explicit Pages(std::size_t bytes) : bytes_(bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t rounded = memory::align_up(bytes, 16);  // the largest element type
    inner_ = memory::align_up(rounded, page);
    base_ = static_cast<std::byte*>(
        mmap(nullptr, inner_ + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED) throw std::bad_alloc();
    pages_ = base_ + page;
    begin_ = pages_ + inner_ - rounded;
    open();
    std::memset(pages_, kCanary, inner_);
    close();
  }
  Pages(Pages&& other) noexcept { swap(other); }
  Pages& operator=(Pages&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Pages() {
    if (base_ != nullptr) munmap(base_, inner_ + 2 * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  }

  std::byte* begin() const { return begin_; }
  void open() { mprotect(pages_, inner_, PROT_READ | PROT_WRITE); }
  void close() { mprotect(pages_, inner_, PROT_NONE); }
  // The tensor's pages must be accessible.
  bool intact() const {
    const auto canary = [](const std::byte byte) { return byte == std::byte{kCanary}; };
    return std::all_of(pages_, begin_, canary) && std::all_of(begin_ + bytes_, pages_ + inner_, canary);
  }

 private:
  void swap(Pages& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(inner_, other.inner_);
    std::swap(base_, other.base_);
    std::swap(pages_, other.pages_);
    std::swap(begin_, other.begin_);
  }

  std::size_t bytes_ = 0, inner_ = 0;
  std::byte* base_ = nullptr;
  std::byte* pages_ = nullptr;
  std::byte* begin_ = nullptr;
};

struct GuardPages {
  static constexpr std::string_view name = "guard_pages";

  // No reuse, except for outputs that may overwrite their input: those always do.
  static memory::Layout plan(std::span<const memory::Request> requests) {
    memory::Layout layout = memory::NoReuse::plan(requests);
    const std::vector<std::uint32_t> inputs = memory::dying_inputs(requests);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (inputs[i] != memory::kNoRequest) layout.offsets[i] = layout.offsets[inputs[i]];
    }
    return layout;
  }

  class Buffer {
   public:
    // `shortened` ends lifetimes that many steps too early, to test that the pages detect it.
    void commit(std::span<const memory::Request> requests, const memory::Layout& layout,
                memory::StepIndex shortened = 0) {
      for (Pages& pages : pages_) retired_.push_back(std::move(pages));
      pages_.clear();
      tenants_.assign(requests.size(), Tenant{});
      std::vector<std::pair<memory::Bytes, std::size_t>> homes;  // offset, pages
      for (std::size_t i = 0; i < requests.size(); ++i) {
        if (requests[i].bytes == 0) continue;
        tenants_[i].first = requests[i].first;
        tenants_[i].end = requests[i].end - shortened;
        for (const auto& [offset, home] : homes) {
          if (offset == layout.offsets[i]) tenants_[i].home = home;
        }
        if (tenants_[i].home == kHomeless) {
          tenants_[i].home = pages_.size();
          homes.emplace_back(layout.offsets[i], pages_.size());
          pages_.emplace_back(requests[i].bytes);
        }
      }
      capacity_ = layout.total;
    }
    std::byte* address(std::size_t index) const { return pages_[tenants_[index].home].begin(); }
    memory::Bytes capacity() const { return capacity_; }

    void begin_run() {
      for (Pages& pages : pages_) pages.close();
    }
    void begin_step(memory::StepIndex step) {
      for (const Tenant& tenant : tenants_) {
        if (tenant.home != kHomeless && tenant.end == step) pages_[tenant.home].close();
      }
      for (const Tenant& tenant : tenants_) {
        if (tenant.home != kHomeless && tenant.first <= step && step < tenant.end) pages_[tenant.home].open();
      }
    }
    void end_run() {
      for (Pages& pages : pages_) {
        pages.open();
        intact_ &= pages.intact();
        pages.close();
      }
    }
    bool intact() const { return intact_; }

   private:
    static constexpr std::size_t kHomeless = ~std::size_t{0};
    struct Tenant {
      std::size_t home = kHomeless;
      memory::StepIndex first = 0, end = 0;
    };

    std::vector<Pages> pages_;
    std::vector<Pages> retired_;  // never used again, so that stale pointers are detected
    std::vector<Tenant> tenants_;
    memory::Bytes capacity_ = 0;
    bool intact_ = true;
  };
};
static_assert(memory::Planner<GuardPages>);

struct Poison {
  static constexpr std::string_view name = "poison";
  static memory::Layout plan(std::span<const memory::Request> requests) {
    return memory::LinearScan::plan(requests);
  }

  class Buffer {
   public:
    void commit(std::span<const memory::Request> requests, const memory::Layout& layout) {
      bytes_.assign(layout.total + memory::kAlignment, std::byte{0xFF});
      requests_.assign(requests.begin(), requests.end());
      offsets_ = layout.offsets;
      heir_.assign(requests.size(), false);
      parent_.assign(requests.size(), false);
      for (std::size_t i = 0; i < requests.size(); ++i) {
        const std::uint32_t input = requests[i].may_reuse_input;
        if (input == memory::kNoRequest || requests[i].bytes == 0 || offsets_[i] != offsets_[input]) continue;
        heir_[i] = true;
        parent_[input] = true;
      }
    }
    std::byte* address(std::size_t index) const {
      const auto start = memory::align_up(reinterpret_cast<std::size_t>(bytes_.data()));
      return reinterpret_cast<std::byte*>(start) + offsets_[index];
    }
    memory::Bytes capacity() const { return bytes_.size(); }

    void begin_step(memory::StepIndex step) {
      for (std::size_t i = 0; i < requests_.size(); ++i) {
        if (requests_[i].end == step && !parent_[i]) fill(i);
      }
      for (std::size_t i = 0; i < requests_.size(); ++i) {
        if (requests_[i].first == step && !heir_[i]) fill(i);
      }
    }
    void end_run() { std::ranges::fill(bytes_, std::byte{0xFF}); }

   private:
    void fill(std::size_t i) { std::memset(address(i), 0xFF, requests_[i].bytes); }

    std::vector<std::byte> bytes_;
    std::vector<memory::Request> requests_;
    std::vector<memory::Bytes> offsets_;
    std::vector<bool> heir_, parent_;  // written onto an input; input written over
  };
};
static_assert(memory::Planner<Poison>);

}  // namespace sr::test

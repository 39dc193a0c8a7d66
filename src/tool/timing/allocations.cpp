// Replaces the global operator new and delete of the whole process, LibTorch included. Outside of a counted
// call they cost one thread-local test more than the originals, for every runner alike.
#include "allocations.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <new>
#include <unwind.h>

// The linker defines these: the begin and end of this program's code, also if it is position independent.
extern "C" const char __executable_start;
extern "C" const char etext;

namespace sr::tool {
namespace {

enum class Owner : std::uint8_t { own, library };

// Records the allocations of one call and which of them still exist. Must not allocate.
class AllocationRecorder {
 public:
  void add(const void* memory, const void* caller) {
    const Owner owner = owner_of(caller);
    ++(owner == Owner::own ? own : library);
    if (owner == Owner::own) count_place(caller, 1);
    if (used < alive.size()) alive[used++] = {memory, caller, owner};
  }

  void remove(const void* memory) {
    // Most recent first: short-lived memory is found at once.
    for (std::size_t i = used; i-- > 0;) {
      if (alive[i].memory != memory) continue;
      if (dropping_result) move_to_results(alive[i]);
      alive[i] = alive[--used];
      return;
    }
  }

  // Tensor data is released by free(), which is not ours: found by its address in the result.
  void take_data(const void* memory) {
    for (std::size_t i = 0; i < used; ++i) {
      if (alive[i].memory != memory) continue;
      move_to_results(alive[i]);
      alive[i] = alive[--used];
      return;
    }
  }

  std::size_t own = 0, library = 0, results = 0;
  bool counting = false;         // false: only removals are looked at
  bool dropping_result = false;  // what is removed now belonged to the result

  struct Place {
    const void* caller;
    int count;  // of what is not the result
  };
  std::array<Place, 64> places{};
  std::size_t place_count = 0;

 private:
  struct Alive {
    const void* memory;
    const void* caller;
    Owner owner;
  };

  void move_to_results(const Alive& made) {
    --(made.owner == Owner::own ? own : library);
    if (made.owner == Owner::own) count_place(made.caller, -1);
    ++results;
  }

  void count_place(const void* caller, int change) {
    for (std::size_t i = 0; i < place_count; ++i) {
      if (places[i].caller != caller) continue;
      places[i].count += change;
      return;
    }
    if (place_count < places.size()) places[place_count++] = {caller, change};
  }

  static bool in_program(const void* address) { return address >= &__executable_start && address < &etext; }

  // Functions that this program and LibTorch both instantiate (std::vector<IValue>::...) are exported, and
  // calls of LibTorch may arrive in our copy: those are judged by who called them.
  static bool is_shared(const void* address) {
    Dl_info info;
    return dladdr(address, &info) != 0 && info.dli_sname != nullptr;
  }

  static Owner owner_of(const void* caller) {
    if (!in_program(caller)) return Owner::library;
    if (!is_shared(caller)) return Owner::own;
    Walk walk{caller, false, Owner::own};
    _Unwind_Backtrace(&AllocationRecorder::look_at_frame, &walk);
    return walk.owner;
  }

  struct Walk {
    const void* caller;
    bool reached;
    Owner owner;
  };

  static _Unwind_Reason_Code look_at_frame(_Unwind_Context* context, void* data) {
    Walk& walk = *static_cast<Walk*>(data);
    const void* address = reinterpret_cast<const void*>(_Unwind_GetIP(context));
    if (!walk.reached) {
      walk.reached = address == walk.caller;
      return _URC_NO_REASON;
    }
    if (in_program(address) && is_shared(address)) return _URC_NO_REASON;
    walk.owner = in_program(address) ? Owner::own : Owner::library;
    return _URC_END_OF_STACK;
  }

  std::array<Alive, 1 << 14> alive{};
  std::size_t used = 0;
};

constinit thread_local AllocationRecorder* recorder = nullptr;

void note(const void* memory, const void* caller) noexcept {
  if (recorder == nullptr || !recorder->counting || memory == nullptr) return;
  AllocationRecorder* active = std::exchange(recorder, nullptr);  // looking up a caller may allocate
  active->add(memory, caller);
  recorder = active;
}

void* allocate(std::size_t bytes, std::size_t alignment, const void* caller) {
  if (bytes == 0) bytes = 1;
  for (;;) {
    void* memory = alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__
                       ? std::malloc(bytes)
                       : std::aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1));
    if (memory != nullptr) {
      note(memory, caller);
      return memory;
    }
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void release(void* memory) noexcept {
  if (recorder != nullptr && memory != nullptr) recorder->remove(memory);
  std::free(memory);
}

void take_tensor_data(const c10::IValue& value, AllocationRecorder& into) {
  c10::IValue::HashAliasedIValues parts;
  value.getSubValues(parts);
  for (const c10::IValue& part : parts) {
    if (part.isTensor() && part.toTensor().defined() && part.toTensor().has_storage()) {
      into.take_data(part.toTensor().storage().data());
    }
  }
}

std::string place_in_program(const void* address) {
  const auto offset = static_cast<const char*>(address) - &__executable_start;
  return c10::str("+0x", std::hex, offset);
}

}  // namespace

AllocationCounts count_allocations(std::size_t calls, const std::function<void(std::size_t)>& prepare,
                                   const std::function<c10::IValue(std::size_t)>& call) {
  AllocationCounts counts;
  for (std::size_t i = 0; i < calls; ++i) {
    const auto active = std::make_unique<AllocationRecorder>();
    prepare(i);
    const struct Stop {
      ~Stop() { recorder = nullptr; }
    } stop;
    active->counting = true;
    recorder = active.get();
    c10::IValue result = call(i);
    active->counting = false;
    recorder = nullptr;
    take_tensor_data(result, *active);
    active->dropping_result = true;
    recorder = active.get();
    result = c10::IValue();
    recorder = nullptr;
    counts.own += static_cast<double>(active->own);
    counts.library += static_cast<double>(active->library);
    counts.results += static_cast<double>(active->results);
    for (std::size_t p = 0; p < active->place_count; ++p) {
      if (active->places[p].count <= 0) continue;
      const std::string place = place_in_program(active->places[p].caller);
      if (std::ranges::find(counts.own_places, place) == counts.own_places.end())
        counts.own_places.push_back(place);
    }
  }
  const auto average = [&](double& sum) { sum /= static_cast<double>(std::max<std::size_t>(calls, 1)); };
  average(counts.own);
  average(counts.library);
  average(counts.results);
  return counts;
}

}  // namespace sr::tool

// The return address of each of these is the code that allocates: they must not be inlined into it.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return sr::tool::allocate(bytes, 1, __builtin_return_address(0));
}
[[gnu::noinline]] void* operator new[](std::size_t bytes) {
  return sr::tool::allocate(bytes, 1, __builtin_return_address(0));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return sr::tool::allocate(bytes, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
[[gnu::noinline]] void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return sr::tool::allocate(bytes, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept try {
  return sr::tool::allocate(bytes, 1, __builtin_return_address(0));
} catch (const std::bad_alloc&) {
  return nullptr;
}
[[gnu::noinline]] void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept try {
  return sr::tool::allocate(bytes, 1, __builtin_return_address(0));
} catch (const std::bad_alloc&) {
  return nullptr;
}
void operator delete(void* memory) noexcept {
  sr::tool::release(memory);
}
void operator delete[](void* memory) noexcept {
  sr::tool::release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  sr::tool::release(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  sr::tool::release(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  sr::tool::release(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  sr::tool::release(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  sr::tool::release(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  sr::tool::release(memory);
}

// LibTorch's CPU allocator. The next definition is the C library's, or a sanitizer's.
extern "C" int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) noexcept {
  using Function = int (*)(void**, std::size_t, std::size_t);
  static const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "posix_memalign"));
  const int failed = next(memory, alignment, bytes);
  if (failed == 0) sr::tool::note(*memory, __builtin_return_address(0));
  return failed;
}

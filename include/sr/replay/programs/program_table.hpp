// The programs of one runtime, found by the arguments of a call, and the memory on which they run. They are
// bounded by the bytes that they take; the least recently used go first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/executor/heap_buffer.hpp>
#include <sr/memory/planner_ops.hpp>
#include <sr/module/shared_programs.hpp>
#include <sr/replay/programs/program.hpp>
#include <sr/replay/programs/program_instances.hpp>
#include <sr/replay/trace/signature.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// A call looks a program up in this order: lookup_predicted, lookup_linear if there are few programs,
// otherwise lookup_hashed and lookup_family.
class ProgramTable {
 public:
  // At least kLeastPrograms are kept, even if they take more than `most_bytes`.
  ProgramTable(const memory::PlannerOps& planner, std::size_t most_bytes)
      : make_buffer_(planner.make_buffer),
        is_shared_(planner.make_buffer == nullptr),
        most_bytes_(most_bytes) {}

  // True if all programs share one block of memory. Otherwise the planner brings its own buffers.
  bool is_shared() const { return is_shared_; }

  // Returns the program that followed the last one before, if it serves these arguments, whose addresses are
  // then in its table of bases. Returns null otherwise. Inlined, since its code is as short as that of a
  // call.
  [[gnu::always_inline]] Program* lookup_predicted(std::span<const c10::IValue> args) {
    if (last_ == nullptr) return nullptr;
    Entry& expected = *last_->next;
    return match(*expected.program, args) ? use(expected) : nullptr;
  }

  // Compares the programs one by one, which is faster than describing the call if there are few. A program of
  // a family is given the sizes of the call by instantiate(program, words). Returns null if no program fits,
  // or if there are many programs. Throws what lookup_family throws.
  template <class Instantiate>
  Program* lookup_linear(std::span<const c10::IValue> args, const Instantiate& instantiate) {
    if (exact_.size() > kFew || families_.size() > kFew) return nullptr;
    for (const auto& [hash, entry] : exact_) {
      if (match(*entry->program, args)) return follow(*entry);
    }
    for (Entry* const entry : families_) {
      Program& program = *entry->program;
      const SignatureWords* const words = program.family->read(args, program.bases.data());
      if (words == nullptr) continue;
      if (!program.fits_views(args)) continue;
      const bool fits = is_same_call(*words, program.signature) && program.environment.holds(program.asked);
      if (fits || instantiate_for(*entry, *words, instantiate)) return follow(*entry);
    }
    return nullptr;
  }

  // Finds the program of the call that `words` describe, by the hash of its signature. Returns null if there
  // is none.
  Program* lookup_hashed(std::span<const c10::IValue> args, const SignatureWords& words) {
    const auto [first, end] = exact_.equal_range(hash_of(words));
    for (auto known = first; known != end; ++known) {
      if (match(*known->second->program, args)) return follow(*known->second);
    }
    for (Entry* const entry : families_) {
      if (match(*entry->program, args)) return follow(*entry);
    }
    return nullptr;
  }

  // Returns the program of a family, with the sizes of the call that `words` describe; instantiate(program,
  // words) gives it these. Returns null if no family covers the call. Throws what the allocator throws; later
  // calls may then need less memory.
  template <class Instantiate>
  Program* lookup_family(std::span<const c10::IValue> args, const SignatureWords& words,
                         const Instantiate& instantiate) {
    for (Entry* const entry : families_) {
      if (instantiate_for(*entry, words, instantiate))
        return match(*entry->program, args) ? follow(*entry) : nullptr;
    }
    return nullptr;
  }

  // Replaces the least recently used programs if there is no room. Throws what the allocator throws.
  Program& add(std::unique_ptr<Program> program) {
    auto added = std::make_unique<Entry>();
    Entry& entry = *added;
    entry.next = &entry;
    if (!is_shared_) entry.buffer = make_buffer_();
    entry.program = std::move(program);
    entry.program->last_used = ++clock_;
    entry.bytes = bytes_of(*entry.program);
    bind_added(entry);
    entries_.push_back(std::move(added));
    bytes_ += entry.bytes;
    if (entry.program->family != nullptr) {
      families_.push_back(&entry);
    } else {
      exact_.emplace(hash_of(entry.program->signature), &entry);
    }
    while (bytes_ > most_bytes_ && entries_.size() > kLeastPrograms) {
      ++evictions_;
      const auto oldest = std::ranges::min_element(
          entries_, {}, [](const std::unique_ptr<Entry>& each) { return each->program->last_used; });
      remove(*(*oldest)->program);
    }
    return *entry.program;
  }

  void remove(const Program& program) {
    const auto removed =
        std::ranges::find(entries_, &program, [](const auto& entry) { return entry->program.get(); });
    Entry* const entry = removed->get();
    for (const std::unique_ptr<Entry>& each : entries_) {
      if (each->next == entry) each->next = each.get();
    }
    if (last_ == entry) last_ = nullptr;
    std::erase(families_, entry);
    std::erase_if(exact_, [&](const auto& known) { return known.second == entry; });
    bytes_ -= entry->bytes;
    entries_.erase(removed);
  }

  // True if another program of usual size would displace one.
  bool is_full() const {
    return entries_.size() >= kLeastPrograms && bytes_ + bytes_ / entries_.size() > most_bytes_;
  }
  std::size_t bytes() const { return bytes_; }
  std::size_t size() const { return entries_.size(); }
  std::uint32_t evictions() const { return evictions_; }
  std::size_t shared_bytes() const { return shared_.capacity(); }

  // The buffer of the program that was found last.
  memory::AnyBuffer& buffer() { return *last_->buffer; }

  void forget_times() {
    for (const auto& entry : entries_) {
      entry->program->step_seconds.clear();
      entry->program->timed_replays = entry->program->untimed_replays = 0;
    }
  }

  // Fills the shared memory with NaN, to find steps that read what no step of the call has written.
  void poison() {
    if (shared_.capacity() != 0) std::memset(shared_.data(), 0xFF, shared_.capacity());
  }

  template <class Visit>
  void each_program(const Visit& visit) const {
    for (const auto& entry : entries_) visit(*entry->program);
  }
  template <class Visit>
  void each_buffer(const Visit& visit) const {
    for (const auto& entry : entries_) {
      if (entry->buffer != nullptr) visit(*entry->buffer);
    }
  }

 private:
  static constexpr std::size_t kFew = 4;

  struct Entry {
    std::unique_ptr<Program> program;
    std::unique_ptr<memory::AnyBuffer> buffer;  // null: the shared one
    std::size_t bytes = 0;                      // that the program takes
    Entry* next = nullptr;  // the program of the call that followed last time; before that, this one
  };

  static bool match(Program& program, std::span<const c10::IValue> args) {
    return matches(args, program.signature, program.environment, program.bases.data()) &&
           program.fits_views(args);
  }

  template <class Instantiate>
  bool instantiate_for(Entry& entry, const SignatureWords& words, const Instantiate& instantiate) {
    Program& program = *entry.program;
    if (!program.environment.holds(program.asked) || !instantiate(program, words)) return false;
    try {
      bind(entry);
    } catch (const std::exception&) {  // the layout may have room for larger calls, or be of one
      program.forget_layout();
      if (!instantiate(program, words)) return false;
      bind(entry);
    }
    program.serve(words);
    return true;
  }

  Program* follow(Entry& entry) {
    if (last_ != nullptr) last_->next = &entry;
    return use(entry);
  }

  [[gnu::always_inline]] Program* use(Entry& entry) {
    last_ = &entry;
    Program& program = *entry.program;
    program.last_used = ++clock_;
    if (is_shared_ && program.bound_to != generation_) bind_shared(program);
    return &program;
  }

  // A program of a family may be larger here than the calls to come need.
  void bind_added(Entry& entry) {
    try {
      bind(entry);
    } catch (const std::exception&) {
      if (entry.program->family == nullptr) throw;
      entry.program->forget_layout();
      entry.program->serve_nothing();
    }
  }

  void bind(Entry& entry) {
    Program& program = *entry.program;
    if (is_shared_) return bind_shared(program);
    entry.buffer->commit(program.requests, program.layout);
    for (std::size_t i = 0; i < program.placed.size(); ++i) {
      program.bases[program.placed[i]] = program.requests[i].bytes == 0 ? nullptr : entry.buffer->address(i);
    }
  }

  [[gnu::noinline]] void bind_shared(Program& program) {
    if (shared_.reserve(program.layout.total)) ++generation_;
    std::byte* const start = shared_.data();
    for (std::size_t i = 0; i < program.placed.size(); ++i)
      program.bases[program.placed[i]] = start + program.layout.offsets[i];
    program.bound_to = generation_;
  }

  std::unique_ptr<memory::AnyBuffer> (*make_buffer_)();
  bool is_shared_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::unordered_multimap<std::uint64_t, Entry*> exact_;  // of one signature each, by its hash
  std::vector<Entry*> families_;
  std::size_t most_bytes_, bytes_ = 0;  // that programs take
  Entry* last_ = nullptr;               // of the last call that had a program
  std::uint64_t clock_ = 0;
  std::uint32_t evictions_ = 0;
  memory::HeapBuffer shared_;  // of all programs, unless the planner brings its own buffers
  std::uint64_t generation_ = 1;
};

}  // namespace sr::replay

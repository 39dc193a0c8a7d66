// The programs of one runtime, found by the arguments of a call, and the memory on which they run. The least
// recently used program is replaced.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/executor/heap_buffer.hpp>
#include <sr/memory/planner_ops.hpp>
#include <sr/replay/program.hpp>
#include <sr/replay/trace/signature.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

class ProgramTable {
 public:
  explicit ProgramTable(const memory::PlannerOps& planner)
      : make_buffer_(planner.make_buffer), is_shared_(planner.make_buffer == nullptr) {}

  // Whether all programs share one block of memory. Otherwise the planner brings buffers of its own.
  bool is_shared() const { return is_shared_; }

  // The program for these arguments, with their addresses in its table of bases, if it is the one that
  // followed last time; else null. Inlined, since its code is as short as that of a call.
  [[gnu::always_inline]] Program* find_expected(std::span<const c10::IValue> args) {
    if (last_ == nullptr) return nullptr;
    Entry& expected = *last_->next;
    return match(*expected.program, args) ? use(expected) : nullptr;
  }

  // The same for a call that does not come in the order of earlier ones. Null if there is no program.
  [[gnu::noinline]] Program* search(std::span<const c10::IValue> args) {
    for (const std::unique_ptr<Entry>& entry : entries_) {
      if (!match(*entry->program, args)) continue;
      if (last_ != nullptr) last_->next = entry.get();
      return use(*entry);
    }
    return nullptr;
  }

  // Replaces a program if there are `most` already. Throws what the allocator throws.
  void add(std::unique_ptr<Program> program, std::size_t most) {
    auto entry = std::make_unique<Entry>();
    entry->next = entry.get();
    program->last_used = ++clock_;
    if (!is_shared_) entry->buffer = make_buffer_();
    entry->program = std::move(program);
    bind(*entry);
    if (entries_.size() >= most) {
      const auto oldest = std::ranges::min_element(
          entries_, {}, [](const std::unique_ptr<Entry>& each) { return each->program->last_used; });
      ++evictions_;
      for (const std::unique_ptr<Entry>& each : entries_) {
        if (each->next == oldest->get()) each->next = entry.get();
      }
      *oldest = std::move(entry);
      last_ = nullptr;
    } else {
      entries_.push_back(std::move(entry));
    }
  }

  void remove(const Program& program) {
    std::erase_if(entries_,
                  [&](const std::unique_ptr<Entry>& entry) { return entry->program.get() == &program; });
    last_ = nullptr;
    for (const std::unique_ptr<Entry>& entry : entries_) entry->next = entry.get();
  }

  // The program of a family that `adopt(program)` has adapted to the call, whose signature is `words`; null
  // if there is none.
  template <class Adopt>
  Program* adapt(std::span<const c10::IValue> args, const SignatureWords& words, const Adopt& adopt) {
    for (const std::unique_ptr<Entry>& entry : entries_) {
      Program& program = *entry->program;
      if (program.family == nullptr || !program.environment.holds(program.asked) || !adopt(program)) continue;
      bind(*entry);
      program.serve(words);
      if (!match(program, args)) return nullptr;
      if (last_ != nullptr) last_->next = entry.get();
      return use(*entry);
    }
    return nullptr;
  }

  std::size_t size() const { return entries_.size(); }
  std::uint32_t evictions() const { return evictions_; }
  std::size_t shared_bytes() const { return shared_.capacity(); }

  // The buffer of the program that was found last.
  memory::AnyBuffer& buffer() { return *last_->buffer; }

  void forget_times() {
    for (const auto& entry : entries_) {
      entry->program->step_seconds.clear();
      entry->program->timed_replays = 0;
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
  struct Entry {
    std::unique_ptr<Program> program;
    std::unique_ptr<memory::AnyBuffer> buffer;  // null: the shared one
    Entry* next = nullptr;  // the program of the call that followed last time; before that, this one
  };

  static bool match(Program& program, std::span<const c10::IValue> args) {
    return matches(args, program.signature, program.environment, program.bases.data());
  }

  [[gnu::always_inline]] Program* use(Entry& entry) {
    last_ = &entry;
    Program& program = *entry.program;
    program.last_used = ++clock_;
    if (is_shared_ && program.bound_to != generation_) bind_shared(program);
    return &program;
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
  Entry* last_ = nullptr;  // of the last call that had a program
  std::uint64_t clock_ = 0;
  std::uint32_t evictions_ = 0;
  memory::HeapBuffer shared_;  // of all programs, unless the planner brings buffers of its own
  std::uint64_t generation_ = 1;
};

}  // namespace sr::replay

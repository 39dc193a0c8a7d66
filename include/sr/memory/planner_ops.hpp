// A planner as a table of functions, which is all that the runtime, compiled once, knows of the policy type.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include <sr/memory/planner.hpp>
#include <sr/memory/request.hpp>

namespace sr::memory {

// The memory that a layout places tensors in.
class AnyBuffer {
 public:
  virtual ~AnyBuffer() = default;
  // Makes room for the layout. Throws what the allocator throws, and then keeps the old memory.
  virtual void commit(std::span<const Request> requests, const Layout& layout) = 0;
  // The address of the request with that index, valid until the next commit.
  virtual std::byte* address(std::size_t index) const = 0;
  // Called around each run, and before each step.
  virtual void begin_run() {}
  virtual void begin_step(StepIndex) {}
  virtual void end_run() {}
  // The planner's own Buffer, for tests that know its type.
  virtual const void* object() const = 0;
};

// The nested type Buffer of a planner. Its hooks begin_run(), begin_step(StepIndex) and end_run() are
// optional.
template <class Buffer>
class BufferOf final : public AnyBuffer {
 public:
  void commit(std::span<const Request> requests, const Layout& layout) override {
    buffer_.commit(requests, layout);
  }
  std::byte* address(std::size_t index) const override { return buffer_.address(index); }
  void begin_run() override {
    if constexpr (requires { buffer_.begin_run(); }) buffer_.begin_run();
  }
  void begin_step(StepIndex step) override {
    if constexpr (requires { buffer_.begin_step(step); }) buffer_.begin_step(step);
  }
  void end_run() override {
    if constexpr (requires { buffer_.end_run(); }) buffer_.end_run();
  }
  const void* object() const override { return &buffer_; }

 private:
  Buffer buffer_;
};

// One constant for each planner; its address identifies the planner.
struct PlannerOps {
  std::string_view name;
  Layout (*plan)(std::span<const Request> requests);
  Layout (*plan_for_long)(std::span<const Request> requests);
  std::unique_ptr<AnyBuffer> (*make_buffer)();  // null: a block of the heap
};

template <Planner P>
struct OpsOf {
  static Layout plan(std::span<const Request> requests) { return P::plan(requests); }
  static Layout plan_for_long(std::span<const Request> requests) {
    return memory::plan_for_long<P>(requests);
  }
  static constexpr auto buffer_maker() -> std::unique_ptr<AnyBuffer> (*)() {
    static_assert(
        !requires { typename P::Slab; },
        "the memory of a planner is its nested type `Buffer`, which was called `Slab` before");
    if constexpr (requires { typename P::Buffer; }) {
      return []() -> std::unique_ptr<AnyBuffer> { return std::make_unique<BufferOf<typename P::Buffer>>(); };
    } else {
      return nullptr;
    }
  }
};

template <Planner P>
inline constexpr PlannerOps kPlannerOps{P::name, &OpsOf<P>::plan, &OpsOf<P>::plan_for_long,
                                        OpsOf<P>::buffer_maker()};

}  // namespace sr::memory

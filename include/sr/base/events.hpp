// Events that runtimes report while they serve calls: plans are recorded, refused or dropped.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace sr {

struct Event {
  enum class Kind : std::uint8_t {
    recorded,        // a call was recorded, and calls like it are replayed from now on
    bailed_out,      // a call cannot be recorded: calls like it stay on the general path
    deoptimized,     // the input data took another path, or a checked replay was wrong: the plan was dropped
    weights_changed  // plans were dropped, since they hold values of the old weights
  };
  Kind kind;
  std::string message;  // one or more sentences
};

// Holds the function that receives events; empty by default. Copies share the function. A runtime calls it on
// the thread of the call that causes the event, so it must be thread-safe. It must not call the module. Its
// exceptions are ignored.
class EventHandler {
 public:
  EventHandler() = default;
  template <class Handle>
  requires(std::is_invocable_v<Handle&, const Event&> &&
           !std::is_same_v<std::remove_cvref_t<Handle>, EventHandler>)
      EventHandler(Handle handle)  // NOLINT(google-explicit-constructor): a lambda is a handler
      : handle_(std::make_shared<const std::function<void(const Event&)>>(std::move(handle))) {}

  // Calls message() for the text, but only if there is a function.
  template <class Message>
  void tell(Event::Kind kind, const Message& message) const noexcept {
    if (handle_ == nullptr) return;
    try {
      (*handle_)({kind, message()});
    } catch (...) {  // the call goes on
      return;
    }
  }

  friend bool operator==(const EventHandler&, const EventHandler&) = default;

 private:
  std::shared_ptr<const std::function<void(const Event&)>> handle_;
};

}  // namespace sr

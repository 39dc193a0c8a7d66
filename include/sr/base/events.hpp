// What runtimes tell while they serve calls: plans that are made, refused or dropped.
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
    bailed_out,      // a call was recorded in vain: calls like it keep to the general path
    deoptimized,     // data led a replay elsewhere, or a checked replay was wrong: its plan was given up
    weights_changed  // plans were dropped, since they hold values of the old weights
  };
  Kind kind;
  std::string message;  // one or more sentences
};

// A function that is told of events; none by default. Copies share the function, which must allow calls from
// several threads at once: a runtime calls it on the thread of the call in question. It must not call the
// module. What it throws is dropped.
class EventHandler {
 public:
  EventHandler() = default;
  template <class Handle>
  requires(std::is_invocable_v<Handle&, const Event&> &&
           !std::is_same_v<std::remove_cvref_t<Handle>, EventHandler>)
      EventHandler(Handle handle)  // NOLINT(google-explicit-constructor): a lambda is a handler
      : handle_(std::make_shared<const std::function<void(const Event&)>>(std::move(handle))) {}

  // `message` makes the text, which costs nothing while there is no function.
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

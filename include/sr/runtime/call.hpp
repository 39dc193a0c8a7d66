// One call of a runtime, as the ways that answer it read it.
#pragma once

#include <cstdint>
#include <span>

#include <ATen/core/ivalue.h>

#include <sr/base/call_options.hpp>
#include <sr/module/session_state.hpp>

namespace sr::detail {

enum class CallMode : std::uint8_t {
  usual,    // replays a program, or records one if the signature has come often enough
  record,   // records a program the first time that the signature comes; not counted as a call without a plan
  general,  // runs the graph; for a call whose replay ended half way
};

// The caller owns everything that a call points to.
struct Call {
  std::span<c10::IValue> args;           // the call moves from them where it has to keep them
  const KeywordArgs* kwargs = nullptr;   // null if there are none
  const CallOptions* options = nullptr;  // null if the caller gave none
  CallMode mode = CallMode::usual;
  SessionState* state = nullptr;  // null means the state of the runtime, if the module has any
  bool holds_state = false;       // the caller holds a StateUse of `state`
};

}  // namespace sr::detail

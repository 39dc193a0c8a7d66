// Turns exceptions into the status codes of sr.h, and keeps their sentences.
#pragma once

#include <string>
#include <type_traits>

#include <sr/error.hpp>

#include "sr.h"

namespace sr::c {

// Keeps the sentence for sr_last_error. Returns `status`.
sr_status fail(sr_status status, const char* sentence) noexcept;
// Does the same for the exception that is being handled.
sr_status fail_with_current_exception() noexcept;

// Calls run(). Returns SR_OK, or the status for what it throws.
template <class Run>
sr_status guarded(const Run& run) noexcept {
  try {
    run();
    return SR_OK;
  } catch (...) {
    return fail_with_current_exception();
  }
}

// Throws ArgumentError if the pointer is null. `name` is that of the parameter.
template <class Pointer>
void require(const Pointer* pointer, const char* name) {
  if (pointer == nullptr) throw ArgumentError("The parameter `" + std::string(name) + "` is null.", name);
}

// Copies options of the caller, whose header may be older and the structure shorter. Null stands for zeros.
template <class Options>
Options known_part(const Options* given) {
  static_assert(std::is_trivially_copyable_v<Options>);
  Options options{};
  if (given == nullptr) return options;
  if (given->size < sizeof(size_t) || given->size > sizeof(Options)) {
    throw ArgumentError("The options have the size " + std::to_string(given->size) +
                        ", but this library knows those of up to " + std::to_string(sizeof(Options)) +
                        " bytes. Set `size` to the size of the structure.");
  }
  __builtin_memcpy(&options, given, given->size);
  return options;
}

}  // namespace sr::c

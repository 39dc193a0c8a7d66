#include "failures.hpp"

#include <exception>
#include <new>
#include <string>

#include <c10/util/Exception.h>

namespace sr::c {
namespace {

// Returns the sentence of this thread. Null if there is no memory for one.
std::string* sentence_of_thread() noexcept {
  try {
    static thread_local std::string sentence;
    return &sentence;
  } catch (...) {
    return nullptr;
  }
}

}  // namespace

sr_status fail(sr_status status, const char* sentence) noexcept {
  std::string* const kept = sentence_of_thread();
  if (kept == nullptr) return status;
  try {
    *kept = sentence;
  } catch (...) {  // short enough to need no memory
    *kept = "Out of memory.";
  }
  return status;
}

sr_status fail_with_current_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return fail(static_cast<sr_status>(error.code()), error.what());
  } catch (const c10::OutOfMemoryError& error) {
    return fail(SR_OUT_OF_MEMORY, error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return fail(SR_OUT_OF_MEMORY, "There is not enough memory.");
  } catch (const c10::Error& error) {
    return fail(SR_OPERATOR, error.what_without_backtrace());
  } catch (const std::exception& error) {
    return fail(SR_OPERATOR, error.what());
  } catch (...) {
    return fail(SR_OPERATOR, "An operator threw an exception of an unknown type.");
  }
}

}  // namespace sr::c

const char* sr_last_error(void) {
  const std::string* const sentence = sr::c::sentence_of_thread();
  return sentence == nullptr ? "Out of memory." : sentence->c_str();
}

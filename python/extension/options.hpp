// Options from Python's keywords, and their defaults.
#pragma once

#include <chrono>
#include <optional>
#include <pybind11/stl.h>
#include <string>
#include <type_traits>

#include <torch/csrc/jit/python/pybind_utils.h>

#include <sr/base/error.hpp>
#include <sr/base/options.hpp>

#include "events.hpp"

namespace sr::python {

namespace py = pybind11;

template <class Field>
void assign(Field& field, const py::handle& value) {
  field = py::cast<Field>(value);
}
inline void assign(Numerics& field, const py::handle& value) {
  const std::string text = py::str(value);
  if (text != "fast" && text != "exact")
    throw ArgumentError("The option `numerics` is '" + text + "'; expected 'fast' or 'exact'.");
  field = text == "fast" ? Numerics::fast : Numerics::exact;
}

// Python knows the names of options; see checked() in python/sr/_options.py.
inline StaticModuleOptions make_options(const py::kwargs& given) {
  StaticModuleOptions options;
  options.on_event = &log_event;
  visit_options(options, [&](const char* name, auto& field) {
    if (!given.contains(name)) return;
    const py::object value = given[name];
    try {
      assign(field, value);
    } catch (const py::cast_error&) {
      throw ArgumentError("The option `" + std::string(name) + "` has a value of the wrong type: " +
                          std::string(py::repr(value)).substr(0, 80) + ".");
    }
  });
  return options;
}

inline py::dict option_defaults() {
  py::dict defaults;
  const StaticModuleOptions options;
  visit_options(options, [&](const char* name, const auto& field) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field)>, Numerics>) {
      defaults[name] = field == Numerics::fast ? "fast" : "exact";
    } else {
      defaults[name] = field;
    }
  });
  return defaults;
}

// Returns the largest duration for None.
inline std::chrono::nanoseconds waiting_time(std::optional<double> seconds) {
  using std::chrono::nanoseconds;
  if (!seconds) return nanoseconds::max();
  if (!(*seconds >= 0)) {
    throw ArgumentError("The option `timeout` is " + std::to_string(*seconds) +
                        "; expected seconds, 0 or more, or None.");
  }
  const std::chrono::duration<double, std::nano> time(std::chrono::duration<double>{*seconds});
  return time.count() < 9e18 ? std::chrono::duration_cast<nanoseconds>(time) : nanoseconds::max();
}

}  // namespace sr::python

// Declares the methods of the Python class sr.Session, which is a Caller that holds a sr::Session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <pybind11/pybind11.h>
#include <string>
#include <vector>

namespace sr::python {

// Makes `self` a new session of the module `other`, or a copy of the session `other`.
void begin_session(pybind11::handle self, pybind11::handle other);
void reset_session(pybind11::handle self);
// Returns copies of the variables by name.
pybind11::dict state_of_session(pybind11::handle self);
// Throws ArgumentError as Session::load does.
void load_session(pybind11::handle self, const pybind11::dict& state, bool strict);

// Calls sr::run_sessions. `inputs` has a tuple of arguments for each session.
pybind11::list run_sessions(const pybind11::list& sessions, const pybind11::list& inputs, std::int64_t dim,
                            const std::vector<std::size_t>& shared,
                            const std::map<std::string, std::int64_t>& state_dims, std::int64_t max_rows,
                            bool equal_rows);

}  // namespace sr::python

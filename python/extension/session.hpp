// The methods of sr.Session, which is a Caller with a sr::Session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <pybind11/pybind11.h>
#include <string>
#include <vector>

namespace sr::python {

// `other` is a module, whose new session `self` becomes, or a session that it becomes a copy of.
void begin_session(pybind11::handle self, pybind11::handle other);
void reset_session(pybind11::handle self);
// Values by name.
pybind11::dict state_of_session(pybind11::handle self);
// Throws ArgumentError as Session::load does.
void load_session(pybind11::handle self, const pybind11::dict& state, bool strict);

// Calls of several sessions at once, see sr::run_sessions. `inputs`: a tuple of arguments for each.
pybind11::list run_sessions(const pybind11::list& sessions, const pybind11::list& inputs, std::int64_t dim,
                            const std::vector<std::size_t>& shared,
                            const std::map<std::string, std::int64_t>& state_dims, std::int64_t max_rows,
                            bool equal_rows);

}  // namespace sr::python

// Declares the methods of the Python class sr.Session, which is a Caller that holds a sr::Session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <pybind11/pybind11.h>
#include <string>
#include <vector>

#include <sr/runtime/carried_state.hpp>
#include <sr/session.hpp>

#include "call_spec.hpp"

namespace sr::python {

// Returns the session of a Caller. Throws Python's TypeError if it is a module.
const Session& session_of(pybind11::handle self);

// Makes `self` a new session of the module `other`, or a copy of the session `other`. `carried` is as in
// StaticModule::session, and empty if the model keeps its state itself; `call_spec` says how calls of a
// session that carries arguments nest the others, and is null if they nest nothing. Throws ArgumentError.
void begin_session(pybind11::handle self, pybind11::handle other,
                   const std::optional<CarriedResults>& carried,
                   const std::shared_ptr<const CallSpec>& call_spec);
// Makes `self` a session that runs the method `name` on the state of `session`; `module` is that method as a
// module.
void begin_method(pybind11::handle self, pybind11::handle session, pybind11::handle module,
                  const std::string& name);
void reset_session(pybind11::handle self);
// Returns copies of the variables of a session, or of the module's own calls, by name.
pybind11::dict state_of_session(pybind11::handle self);
// Throws ArgumentError as Session::load does.
void load_session(pybind11::handle self, const pybind11::dict& state, bool strict);

// Calls sr::run_sessions. `inputs` has a tuple of arguments for each session.
pybind11::list run_sessions(const pybind11::list& sessions, const pybind11::list& inputs, std::int64_t dim,
                            const std::vector<std::size_t>& shared,
                            const std::map<std::string, std::int64_t>& state_dims, std::int64_t max_rows,
                            bool equal_rows);

}  // namespace sr::python

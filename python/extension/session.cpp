#include "session.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <torch/csrc/jit/python/pybind_utils.h>

#include <sr/error.hpp>
#include <sr/session.hpp>
#include <sr/session_batch.hpp>

#include "caller.hpp"
#include "running.hpp"
#include "values.hpp"

namespace py = pybind11;

namespace sr::python {

const Session& session_of(py::handle self) {
  const Callee& callee = callee_of(self);
  if (callee.session == nullptr) throw py::type_error("This is a module and not a session of one.");
  return *callee.session;
}

namespace {

// The session, or that of the module's own calls.
Session with_own_state(const Callee& callee) {
  return callee.session == nullptr ? Session::own(callee.prepared->module) : *callee.session;
}

// Throws ArgumentError if the value is not of the variable's type.
c10::IValue value_of(const std::string& name, py::handle given, const c10::TypePtr& type) {
  try {
    return torch::jit::toIValue(given, type);
  } catch (const py::cast_error&) {
  } catch (const c10::Error&) {
  }
  throw ArgumentError("The value given for '" + name + "' is of type " +
                          py::cast<std::string>(py::type::handle_of(given).attr("__name__")) + ", expected " +
                          type->repr_str() + ".",
                      name);
}

}  // namespace

void begin_session(py::handle self, py::handle other, const std::optional<CarriedResults>& carried,
                   const std::shared_ptr<const CallSpec>& call_spec) {
  const Callee& from = callee_of(other);
  auto session = without_gil([&] {
    if (from.session != nullptr) return std::make_unique<const Session>(from.session->clone());
    const StaticModule& module = from.prepared->module;
    return std::make_unique<const Session>(carried ? module.session(*carried) : module.session());
  });
  std::shared_ptr<const Signature> signature =
      carried ? std::make_shared<Signature>(session->schema(), call_spec) : from.signature;
  set_callee(self, std::make_unique<Callee>(from, std::move(session), std::move(signature)));
}

void begin_method(py::handle self, py::handle session, py::handle module, const std::string& name) {
  const Callee& method = callee_of(module);
  auto own = std::make_unique<const Session>(session_of(session).method(name));
  set_callee(self, std::make_unique<Callee>(method, std::move(own), method.signature));
}

void reset_session(py::handle self) {
  const Session& session = session_of(self);
  without_gil([&] { session.reset(); });
}

py::dict state_of_session(py::handle self) {
  const Session session = with_own_state(callee_of(self));
  const NamedState state = without_gil([&] { return session.state(); });
  py::dict values;
  for (const auto& [name, value] : state) values[py::str(name)] = torch::jit::toPyObject(value);
  return values;
}

void load_session(py::handle self, const py::dict& given, bool strict) {
  const Session session = with_own_state(callee_of(self));
  NamedState state;
  const std::vector<Session::Variable> variables = session.variables();
  for (const auto& [name, value] : snapshot(given)) {
    const auto text = py::cast<std::string>(name);
    const auto known = std::ranges::find(variables, text, &Session::Variable::name);
    state.emplace(text, known == variables.end() ? c10::IValue() : value_of(text, value, known->type));
  }
  without_gil([&] { session.load(state, strict); });
}

py::list run_sessions(const py::list& sessions, const py::list& inputs, std::int64_t dim,
                      const std::vector<std::size_t>& shared,
                      const std::map<std::string, std::int64_t>& state_dims, std::int64_t max_rows,
                      bool equal_rows) {
  std::vector<const Session*> called;  // which the list keeps alive: only the caller's wrapper has it
  std::vector<std::vector<c10::IValue>> arguments;
  for (const py::handle session : sessions) called.push_back(&session_of(session));
  if (called.size() != inputs.size()) {
    throw ArgumentError("run_sessions was given the arguments of " + std::to_string(inputs.size()) +
                        " calls for " + std::to_string(called.size()) + " sessions.");
  }
  const py::dict none;
  for (std::size_t i = 0; i < called.size(); ++i) {
    const Signature& signature = *callee_of(sessions[i]).signature;
    arguments.push_back(signature.bind(py::cast<py::tuple>(inputs[i]), none));
  }
  BatcherOptions options;
  options.dim = dim;
  options.shared = shared;
  options.state_dims = state_dims;
  options.max_rows = max_rows;
  options.equal_rows = equal_rows;
  if (called.empty()) return py::list();
  const std::shared_ptr<Engine>& engine = callee_of(sessions[0]).engine;
  std::vector<c10::IValue> results = without_gil([&] {
    return sr::detail::run_sessions(called, std::move(arguments), options, batch_model(engine),
                                    batch_preparation(engine));
  });
  py::list made;
  for (std::size_t i = 0; i < results.size(); ++i)
    made.append(callee_of(sessions[i]).signature->result(std::move(results[i])));
  return made;
}

}  // namespace sr::python

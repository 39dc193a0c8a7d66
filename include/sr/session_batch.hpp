// Steps of several sessions in one call.
#pragma once

#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/batching/options.hpp>
#include <sr/session.hpp>

namespace sr {

// Calls each session with the arguments at its position, and returns the results in order. Calls whose
// arguments and states differ only in the number of rows are joined into one: it gathers the rows of the
// states, and scatters the new ones. The model must compute each row independently of the others; a number in
// its state may be the number of rows. Calls that cannot be joined (another counter, other sizes) run
// separately, and so do the calls of a joined call that throws. If a call throws, the others still run, and
// then the first exception is thrown. Of `options`, those of waiting and of threads have no meaning here.
//
// Throws ArgumentError if a session is given twice, belongs to another module or carries other arguments.
// Throws BusyError before any call runs if a session is in use, StateError, ArgumentError, UnsupportedOpError
// if a result cannot be divided, and what operators throw.
std::vector<c10::IValue> run_sessions(const std::vector<Session>& sessions,
                                      std::vector<std::vector<c10::IValue>> arguments,
                                      const BatcherOptions& options = {});
namespace detail {

// Does what sr::run_sessions does, without copying sessions. `model` calls the module of the sessions, and
// `prepare` may be empty. No pointer may be null.
std::vector<c10::IValue> run_sessions(const std::vector<const Session*>& sessions,
                                      std::vector<std::vector<c10::IValue>> arguments,
                                      const BatcherOptions& options, const BatchModel& model,
                                      const BatchPreparation& prepare);

}  // namespace detail

}  // namespace sr

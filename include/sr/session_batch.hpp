// Steps of several sessions in one call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/session.hpp>

namespace sr {

struct SessionBatchOptions {
  // Where the rows of arguments and results lie, and which arguments have none: as in BatcherOptions.
  std::int64_t dim = -1;
  std::vector<std::size_t> shared;
  // The dimension of the rows in variables, by name. Other variables have them where arguments do.
  std::map<std::string, std::int64_t> state_dims;
  std::int64_t max_rows = 64;  // rows of one joined call, at most
  // The bits of a session's results do not depend on the sessions beside it, nor on their number; see
  // BatcherOptions.
  bool equal_rows = false;
};

// Calls each session with the arguments at its position, and returns the results in order. Calls whose
// arguments and states differ only in the number of rows are joined into one: it gathers the rows of the
// states, and scatters the new ones. The model must compute each row independently of the others. Calls that
// cannot be joined (another counter, other sizes) run separately, and so do the calls of a joined call that
// throws. If a call throws, the others still run, and then the first exception is thrown.
//
// Throws ArgumentError if a session is given twice or belongs to another module. Throws BusyError before any
// call runs if a session is in use, StateError, ArgumentError, and what operators throw.
std::vector<c10::IValue> run_sessions(const std::vector<Session>& sessions,
                                      const std::vector<std::vector<c10::IValue>>& arguments,
                                      const SessionBatchOptions& options = {});

}  // namespace sr

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
  // Where the rows of variables lie, by name; where they are not named, as those of arguments.
  std::map<std::string, std::int64_t> state_dims;
  std::int64_t max_rows = 64;  // of one call
  // The bits of a session's results do not depend on the sessions beside it, nor on their number; see
  // BatcherOptions.
  bool equal_rows = false;
};

// Makes one call for each session, of the arguments at its position, and returns the results in order. Calls
// whose arguments and states differ only in the number of rows are joined into one: rows of states are
// gathered, and scattered again. The model must compute each row by itself. Calls that cannot be joined
// (another counter, other sizes) are made one by one, and so are those of a joined call that throws; the
// first exception is then thrown when all others are made.
//
// All sessions are of one module and different, else throws ArgumentError. Throws BusyError, before any call
// is made, if a session is in use, StateError, ArgumentError, and what operators throw.
std::vector<c10::IValue> run_sessions(const std::vector<Session>& sessions,
                                      const std::vector<std::vector<c10::IValue>>& arguments,
                                      const SessionBatchOptions& options = {});

}  // namespace sr

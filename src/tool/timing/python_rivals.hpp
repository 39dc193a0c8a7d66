// Other runtimes that a Python of this machine has: timed there, beside sr (python/sr/rivals.py).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "../inputs/inputs.hpp"

namespace sr::tool {

struct PythonRow {
  std::string runner;
  std::optional<double> seconds;  // of a call from Python
  double difference = 0;          // the largest, to the results of sr
  std::string error;              // why there are no seconds
};

// Runs `python -m sr.rivals`: the Python that the variable SR_PYTHON names, else python3. The first row is
// that of sr. Throws LoadError if that Python does not run it, with what it said.
std::vector<PythonRow> time_in_python(const std::string& model, const std::vector<ArgumentList>& sets,
                                      const std::vector<std::string>& names, int threads, double seconds);

void print_python_rows(std::ostream& out, const std::vector<PythonRow>& rows);
nlohmann::ordered_json json_of(const std::vector<PythonRow>& rows);

}  // namespace sr::tool

// Where and when something was measured, for the records.
#pragma once

#include <chrono>
#include <ctime>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>

#include <ATen/Version.h>
#include <torch/version.h>

#include "../cpu_model.hpp"

namespace sr::tool {

inline nlohmann::ordered_json run_context(const std::string& sr_version, const std::string& command) {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::ostringstream date;
  date << std::put_time(std::gmtime(&now), "%FT%TZ");
  return {{"cpu", cpu_model()},
          {"cores", std::thread::hardware_concurrency()},
          {"isa", at::get_cpu_capability()},
          {"torch", TORCH_VERSION},
          {"sr", sr_version},
          {"date", date.str()},
          {"command", command}};
}

}  // namespace sr::tool

#include "log.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>

#include "http/infer_body.hpp"

namespace sr::serve {

void log_event(std::string_view event,
               std::initializer_list<std::pair<std::string_view, std::string>> fields) {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto millis =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  std::array<char, 32> time{};
  std::strftime(time.data(), time.size(), "%Y-%m-%dT%H:%M:%S", &utc);
  std::string line = "{\"time\":\"" + std::string(time.data()) + '.' +
                     std::to_string(1000 + millis).substr(1) + "Z\",\"event\":" + json_string(event);
  for (const auto& [name, value] : fields)
    (((line += ',') += json_string(name)) += ':') += json_string(value);
  line += "}\n";
  std::fwrite(line.data(), 1, line.size(), stderr);  // one call, so that lines of threads do not mix
}

}  // namespace sr::serve

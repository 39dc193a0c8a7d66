#include "request_spans.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string_view>
#include <utility>

#include "../http/infer_body.hpp"

namespace sr::serve {
namespace {

using Clock = CallTrace::Clock;

std::string new_span_id() {
  static thread_local std::mt19937_64 random{(std::uint64_t{std::random_device{}()} << 32) ^
                                             std::random_device{}()};
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx",
                static_cast<unsigned long long>(random() | 1));  // zero stands for no span
  return digits.data();
}

std::string text_attribute(std::string_view key, std::string_view value) {
  return R"({"key":")" + std::string(key) + R"(","value":{"stringValue":)" + json_string(value) + "}}";
}
std::string number_attribute(std::string_view key, std::int64_t value) {
  return R"({"key":")" + std::string(key) + R"(","value":{"intValue":")" + std::to_string(value) + "\"}}";
}

// Writes spans of one trace. Times are those of the steady clock, and are written as times of day.
class Spans {
 public:
  explicit Spans(const std::string& trace_id)
      : trace_id_(trace_id),
        offset_(std::chrono::system_clock::now().time_since_epoch() - Clock::now().time_since_epoch()) {}

  // Adds a span and returns its id. OpenTelemetry numbers the kinds: 1 is an internal span, 2 is a server's.
  std::string add(const std::string& parent, std::string_view name, int kind, Clock::time_point begin,
                  Clock::time_point end, const std::string& attributes = {},
                  const Failure* failure = nullptr) {
    std::string id = new_span_id();
    if (!json_.empty()) json_ += ',';
    json_ += R"({"traceId":")" + trace_id_ + R"(","spanId":")" + id + R"(","parentSpanId":")" + parent +
             R"(","name":)" + json_string(name) + R"(,"kind":)" + std::to_string(kind) +
             R"(,"startTimeUnixNano":")" + nanoseconds(begin) + R"(","endTimeUnixNano":")" +
             nanoseconds(end) + R"(","attributes":[)" + attributes + ']';
    if (failure != nullptr)
      json_ += R"(,"status":{"code":2,"message":)" + json_string(failure->message) + '}';
    json_ += '}';
    return id;
  }
  std::string json() && { return std::move(json_); }

 private:
  std::string nanoseconds(Clock::time_point time) const {
    return std::to_string(
        std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch() + offset_).count());
  }

  std::string trace_id_, json_;
  std::chrono::nanoseconds offset_;
};

}  // namespace

std::string TracedRequest::spans(const Failure* failure) const {
  Spans spans(context.trace_id);
  const std::string request =
      spans.add(context.parent_id, "sr.request", 2, begin, Clock::now(),
                text_attribute("sr.model", model) + ',' + text_attribute("sr.version", version), failure);
  if (trace.ended == Clock::time_point()) return std::move(spans).json();
  if (trace.began > trace.arrived) spans.add(request, "sr.queue", 1, trace.arrived, trace.began);
  const std::string batch = spans.add(
      request, "sr.batch", 1, trace.began, trace.ended,
      number_attribute("sr.requests", static_cast<std::int64_t>(trace.requests)) + ',' +
          number_attribute("sr.rows", trace.rows) + ',' + text_attribute("sr.path", name_of(trace.path)));
  for (const CallTrace::Step& step : trace.steps) spans.add(batch, step.name, 1, step.begin, step.end);
  return std::move(spans).json();
}

}  // namespace sr::serve

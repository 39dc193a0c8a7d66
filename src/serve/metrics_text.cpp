// Prometheus' text format. Names and meanings are those of sr.metrics in Python where both have a figure.
#include <array>
#include <charconv>
#include <cmath>

#include "models/model_store.hpp"
#include "server_state.hpp"

namespace sr::serve {
namespace {

class MetricsText {
 public:
  std::string finish() { return std::move(text_); }

  void begin(const char* name, const char* type, const char* help) {
    name_ = name;
    ((text_ += "# HELP ") += name_) += ' ';
    ((text_ += help) += "\n# TYPE ") += name_;
    ((text_ += ' ') += type) += '\n';
  }
  void add(const ModelConfig& model, double value, const std::string& labels = {}, const char* suffix = "") {
    (text_ += name_) += suffix;
    text_ +=
        "{model=\"" + escaped(model.name) + "\",version=\"" + escaped(model.version) + '"' + labels + "} ";
    append(value);
    text_ += '\n';
  }
  void add_plain(double value) {
    (text_ += name_) += ' ';
    append(value);
    text_ += '\n';
  }
  static std::string label(const char* name, double value) {
    MetricsText text;
    text.append(value);
    return std::string(",") + name + "=\"" + text.text_ + '"';
  }
  static std::string label(const char* name, std::string_view value) {
    return std::string(",") + name + "=\"" + escaped(value) + '"';
  }

 private:
  void append(double value) {
    if (std::isinf(value)) {
      text_ += "+Inf";
      return;
    }
    std::array<char, 32> digits{};
    text_.append(digits.begin(), std::to_chars(digits.begin(), digits.end(), value).ptr);
  }
  static std::string escaped(std::string_view value) {
    std::string text;
    for (const char c : value) {
      if (c == '\\' || c == '"') text += '\\';
      text += c == '\n' ? ' ' : c;
    }
    return text;
  }

  std::string text_, name_;
};

void add_seconds(MetricsText& text, const ModelConfig& model, const Latencies& latencies) {
  for (std::size_t bucket = 12; bucket < Latencies::kBuckets - 1; bucket += 4)  // octaves
    text.add(model, static_cast<double>(latencies.count_to(bucket)),
             MetricsText::label("le", Latencies::end_of(bucket)), "_bucket");
  const auto count = static_cast<double>(latencies.count());
  text.add(model, count, MetricsText::label("le", INFINITY), "_bucket");
  text.add(model, latencies.seconds, {}, "_sum");
  text.add(model, count, {}, "_count");
}

void add_rows(MetricsText& text, const ModelConfig& model, const BatcherReport& report) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i + 1 < report.batches_by_rows.size(); ++i) {
    count += report.batches_by_rows[i];
    text.add(model, static_cast<double>(count), MetricsText::label("le", std::ldexp(1, static_cast<int>(i))),
             "_bucket");
  }
  text.add(model, static_cast<double>(report.batches), MetricsText::label("le", INFINITY), "_bucket");
  text.add(model, static_cast<double>(report.rows), {}, "_sum");
  text.add(model, static_cast<double>(report.batches), {}, "_count");
}

}  // namespace

std::string metrics_text(const ServerState& state) {
  const auto models = state.models->all();
  const auto of_calls = [](const ServedModel& model) { return model.module().metrics(); };
  MetricsText text;
  text.begin("sr_requests_total", "counter", "Requests, by outcome");
  for (const auto& model : models) {
    const RequestCounts counts = model->counts();
    for (std::size_t i = 0; i < counts.by_status.size(); ++i)
      text.add(model->config(), static_cast<double>(counts.by_status[i]),
               MetricsText::label("outcome", name_of(static_cast<Status>(i))));
  }
  text.begin("sr_request_seconds", "histogram",
             "Time of answered requests, from the parsed request to the result");
  for (const auto& model : models) add_seconds(text, model->config(), model->counts().latencies);
  text.begin("sr_replayed_calls_total", "counter", "Calls of the model that a plan answered");
  for (const auto& model : models) text.add(model->config(), static_cast<double>(of_calls(*model).replayed));
  text.begin("sr_general_calls_total", "counter", "Calls of the model that no plan answered, by reason");
  for (const auto& model : models) {
    for (const auto& [reason, count] : of_calls(*model).misses)
      text.add(model->config(), static_cast<double>(count), MetricsText::label("reason", reason));
  }
  text.begin("sr_batch_rows", "histogram", "Rows of a batch");
  for (const auto& model : models) {
    if (const auto report = model->batches()) add_rows(text, model->config(), *report);
  }
  text.begin("sr_batch_waiting_seconds_total", "counter", "Time that requests waited for their batch");
  for (const auto& model : models) {
    if (const auto report = model->batches()) text.add(model->config(), report->waiting_seconds);
  }
  text.begin("sr_sessions", "gauge", "Sessions that clients have");
  for (const auto& model : models) {
    if (const auto count = model->sessions()) text.add(model->config(), static_cast<double>(*count));
  }
  text.begin("sr_active_requests", "gauge", "Requests that are not answered yet");
  text.add_plain(state.active.load());
  return text.finish();
}

}  // namespace sr::serve

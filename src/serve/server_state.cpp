#include "server_state.hpp"

#include <charconv>
#include <chrono>
#include <cstdint>

#include "models/model_store.hpp"
#include "tracing/request_spans.hpp"
#include "tracing/span_file.hpp"

namespace sr::serve {

void ServerState::authorize(std::string_view header) const {
  if (token.empty()) return;
  constexpr std::string_view kScheme = "Bearer ";
  const bool has_scheme = header.starts_with(kScheme);
  const std::string_view given = has_scheme ? header.substr(kScheme.size()) : std::string_view();
  std::size_t differences = given.size() ^ token.size();
  for (std::size_t i = 0; i < given.size(); ++i)
    differences |= static_cast<unsigned char>(given[i] ^ token[i % token.size()]);
  if (differences != 0) {
    throw RequestError(
        Status::unauthorized,
        "The request needs the header 'Authorization: Bearer TOKEN' with the token of the server.");
  }
}

void ServerState::require_model(const std::string& name, const std::string& version) const {
  model(name, version);
}
ModelMetadata ServerState::metadata(const std::string& name, const std::string& version) const {
  return model(name, version)->metadata();
}
std::vector<std::pair<std::string, std::string>> ServerState::index() const {
  std::vector<std::pair<std::string, std::string>> index;
  for (const auto& model : models->all()) index.emplace_back(model->config().name, model->config().version);
  return index;
}
std::vector<std::string> ServerState::versions(const std::string& name) const {
  return models->versions(name);
}

void ServerState::infer(InferRequest request, Deadline deadline, std::stop_token stop, InferDone done) const {
  std::shared_ptr<ServedModel> found;
  try {
    found = model(request.model, request.version);
  } catch (const RequestError& error) {
    return done(Failure{error.status(), error.what()});
  }
  CallOptions options;
  options.deadline = deadline;
  options.stop = std::move(stop);
  auto context = spans == nullptr ? std::nullopt : sampled_context(request.traceparent);
  if (!context) return found->infer(std::move(request), std::move(options), std::move(done));
  auto traced = std::make_shared<TracedRequest>(
      TracedRequest{std::move(*context), found->config().name, found->config().version, {}});
  traced->trace.with_steps = true;
  options.trace = &traced->trace;
  found->infer(std::move(request), std::move(options),
               [this, traced, done = std::move(done)](std::variant<InferResponse, Failure> outcome) {
                 spans->write(traced->spans(std::get_if<Failure>(&outcome)));
                 done(std::move(outcome));
               });
}

void ServerState::note_unread(const std::string& name, const std::string& version, Status status) const {
  try {
    model(name, version)->count(status);
  } catch (const RequestError&) {  // there is no such model to count it for
  }
}

std::shared_ptr<ServedModel> ServerState::model(const std::string& name, const std::string& version) const {
  if (draining) throw RequestError(Status::unavailable, "The server ends and takes no more requests.");
  if (!ready) throw RequestError(Status::unavailable, "The server is loading its models.");
  return models->find(name, version);
}

Deadline deadline_of(std::string_view timeout) {
  const auto now = std::chrono::steady_clock::now();
  std::int64_t count = 0;
  const char* const end = timeout.data() + timeout.size();
  const auto [stop, error] = std::from_chars(timeout.data(), end, count);
  if (error == std::errc{} && stop + 1 == end && timeout.size() <= 9 && count >= 0) {
    switch (*stop) {
      case 'H':
        return now + std::chrono::hours(count);
      case 'M':
        return now + std::chrono::minutes(count);
      case 'S':
        return now + std::chrono::seconds(count);
      case 'm':
        return now + std::chrono::milliseconds(count);
      case 'u':
        return now + std::chrono::microseconds(count);
      case 'n':
        return now + std::chrono::nanoseconds(count);
      default:
        break;
    }
  }
  throw RequestError(Status::invalid,
                     "The header grpc-timeout is '" + std::string(timeout) +
                         "', but it is a number of up to eight digits and a unit: 250m are 250 "
                         "milliseconds.");
}

}  // namespace sr::serve

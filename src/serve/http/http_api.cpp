#include "http_api.hpp"

#include <charconv>
#include <span>
#include <utility>
#include <vector>

#include <sr/version.hpp>

#include "infer_body.hpp"

namespace sr::serve {
namespace {

// The parts of a path between its slashes, decoded. Throws RequestError for a wrong escape.
std::vector<std::string> parts_of(std::string_view target) {
  target = target.substr(0, target.find('?'));
  std::vector<std::string> parts;
  parts.reserve(8);
  parts.emplace_back();
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] == '/') {
      if (!parts.back().empty()) parts.emplace_back();
    } else if (target[i] == '%') {
      unsigned value = 0;
      const char* const digits = target.data() + i + 1;
      if (i + 2 >= target.size() || std::from_chars(digits, digits + 2, value, 16).ptr != digits + 2)
        throw RequestError(Status::invalid, "The path has a '%' without two hexadecimal digits.");
      parts.back() += static_cast<char>(value);
      i += 2;
    } else {
      parts.back() += target[i];
    }
  }
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

std::string json_of(const std::vector<TensorMetadata>& tensors) {
  std::string json = "[";
  for (const TensorMetadata& tensor : tensors) {
    if (json.size() > 1) json += ',';
    json += "{\"name\":" + json_string(tensor.name) + ",\"datatype\":" + json_string(tensor.datatype) +
            ",\"shape\":[";
    for (std::size_t d = 0; d < tensor.shape.size(); ++d)
      json += (d == 0 ? "" : ",") + std::to_string(tensor.shape[d]);
    json += "]}";
  }
  return json + ']';
}

std::string json_of(const std::vector<std::string>& texts) {
  std::string json = "[";
  for (const std::string& text : texts) (json += json.size() > 1 ? "," : "") += json_string(text);
  return json + ']';
}

HttpResponse metadata(const ServerState& state, const std::string& name, const std::string& version) {
  const ModelMetadata metadata = state.metadata(name, version);
  return {200, "{\"name\":" + json_string(metadata.name) + ",\"versions\":" + json_of(state.versions(name)) +
                   ",\"platform\":\"" + std::string(kPlatform) + "\",\"inputs\":" + json_of(metadata.inputs) +
                   ",\"outputs\":" + json_of(metadata.outputs) + '}'};
}

HttpResponse index(const ServerState& state) {
  std::string json = "[";
  for (const auto& [name, version] : state.index()) {
    if (json.size() > 1) json += ',';
    json += "{\"name\":" + json_string(name) + ",\"version\":" + json_string(version) +
            ",\"state\":\"READY\",\"reason\":\"\"}";
  }
  return {200, json + ']'};
}

std::size_t json_bytes_of(const HttpRequest& request) {
  if (request.json_bytes.empty()) return request.body->size();
  std::size_t bytes = 0;
  const char* const end = request.json_bytes.data() + request.json_bytes.size();
  if (std::from_chars(request.json_bytes.data(), end, bytes).ptr != end || bytes > request.body->size()) {
    throw RequestError(Status::invalid, "The header Inference-Header-Content-Length is '" +
                                            std::string(request.json_bytes) + "', but the body has " +
                                            std::to_string(request.body->size()) + " bytes.");
  }
  return bytes;
}

HttpResponse response_of(const std::variant<InferResponse, Failure>& outcome, const InferBody& body) try {
  if (const auto* const failure = std::get_if<Failure>(&outcome)) return error_response(*failure);
  HttpResponse response;
  response.body = write_infer_body(std::get<InferResponse>(outcome), body, response.json_bytes);
  if (response.json_bytes != 0) response.type = "application/octet-stream";
  return response;
} catch (const std::exception&) {  // there is no memory for the body
  return error_response(failure_of(std::current_exception()));
}

// Leaves `done` as it is if it throws.
void infer(const ServerState& state, const std::string& model, const std::string& version,
           const HttpRequest& request, std::stop_token stop, HttpDone& done) {
  auto body = std::make_shared<InferBody>();
  Deadline deadline = Deadline::max();
  try {
    if (!request.encoding.empty() && request.encoding != "identity") {
      throw RequestError(Status::invalid, "The body has the Content-Encoding '" +
                                              std::string(request.encoding) + "', but it has to have none.");
    }
    if (!request.timeout.empty()) deadline = deadline_of(request.timeout);
    *body = parse_infer_body(request.body, json_bytes_of(request));
  } catch (const RequestError& error) {
    state.note_unread(model, version, error.status());
    throw;
  }
  InferRequest infer = std::move(body->request);
  infer.model = model;
  infer.version = version;
  infer.traceparent = request.traceparent;
  state.infer(std::move(infer), deadline, std::move(stop),
              [body, done = std::move(done)](const std::variant<InferResponse, Failure>& outcome) {
                done(response_of(outcome, *body));
              });
}

HttpResponse not_found(const HttpRequest& request) {
  return error_response(
      {Status::not_found, "There is nothing at " + std::string(request.target) +
                              ". The paths are those of the Open Inference Protocol, such as "
                              "/v2/models/NAME/infer."});
}

HttpResponse when_ready(bool is_ready, const char* why) {
  if (is_ready) return {200, R"({"ready":true})"};
  return error_response({Status::unavailable, why});
}

// Answers, or returns false if there is no such path. `parts` is the path behind /v2.
bool route(const ServerState& state, const HttpRequest& request, std::span<const std::string> parts,
           std::stop_token stop, HttpDone& done) {
  const bool gets = request.method == "GET" || request.method == "HEAD";
  const auto answer = [&](bool is_right_method, const char* method, const auto& make) {
    if (is_right_method) {
      done(make());
    } else {
      HttpResponse response =
          error_response({Status::invalid, std::string(request.method) + " is not the method of " +
                                               std::string(request.target) + ", which is " + method + "."});
      response.status = 405;
      response.allow = method;
      done(std::move(response));
    }
    return true;
  };
  if (parts.empty()) {
    return answer(gets, "GET", [] {
      const std::vector<std::string> extensions(kExtensions.begin(), kExtensions.end());
      return HttpResponse{200, "{\"name\":\"sr\",\"version\":" + json_string(SR_VERSION) +
                                   ",\"extensions\":" + json_of(extensions) + '}'};
    });
  }
  if (parts.size() == 2 && parts[0] == "health" && parts[1] == "live")
    return answer(gets, "GET", [] { return HttpResponse{200, R"({"live":true})"}; });
  if (parts.size() == 2 && parts[0] == "health" && parts[1] == "ready")
    return answer(gets, "GET", [&] {
      return when_ready(state.is_ready(),
                        state.draining ? "The server ends." : "The server is loading its models.");
    });
  if (parts.size() == 2 && parts[0] == "repository" && parts[1] == "index")
    return answer(request.method == "POST", "POST", [&] { return index(state); });
  if (parts.size() < 2 || parts[0] != "models") return false;
  std::size_t at = 2;
  std::string version;
  if (parts.size() >= 4 && parts[2] == "versions") {
    version = parts[3];
    at = 4;
  }
  const std::string verb = at < parts.size() ? parts[at] : "";
  if (at + 1 < parts.size()) return false;
  if (verb.empty()) return answer(gets, "GET", [&] { return metadata(state, parts[1], version); });
  if (verb == "ready") {
    return answer(gets, "GET", [&] {
      state.require_model(parts[1], version);
      return HttpResponse{200, "{\"name\":" + json_string(parts[1]) + ",\"ready\":true}"};
    });
  }
  if (verb != "infer") return false;
  if (request.method != "POST") return answer(false, "POST", [] { return HttpResponse(); });
  infer(state, parts[1], version, request, std::move(stop), done);
  return true;
}

}  // namespace

unsigned http_code(Status status) {
  switch (status) {
    case Status::ok:
      return 200;
    case Status::invalid:
      return 400;
    case Status::unauthorized:
      return 401;
    case Status::not_found:
      return 404;
    case Status::busy:
      return 429;
    case Status::cancelled:
      return 499;
    case Status::failed:
      return 500;
    case Status::unsupported:
      return 501;
    case Status::unavailable:
      return 503;
    case Status::deadline:
      return 504;
  }
  return 500;
}

HttpResponse error_response(const Failure& failure) {
  return {http_code(failure.status), "{\"error\":" + json_string(failure.message) + '}'};
}

void handle(const ServerState& state, const HttpRequest& request, std::stop_token stop, HttpDone done) {
  try {
    const std::vector<std::string> parts = parts_of(request.target);
    const bool is_probe = parts.size() == 3 && parts[0] == "v2" && parts[1] == "health";
    if (!is_probe) state.authorize(request.authorization);
    if (parts.size() == 1 && parts[0] == "metrics" && request.method == "GET")
      return done({200, metrics_text(state), "text/plain; version=0.0.4"});
    if (parts.empty() || parts[0] != "v2" ||
        !route(state, request, std::span(parts).subspan(1), std::move(stop), done))
      done(not_found(request));
  } catch (...) {
    done(error_response(failure_of(std::current_exception())));
  }
}

}  // namespace sr::serve

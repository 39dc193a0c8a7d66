// What all connections of the server share, without LibTorch.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/message.hpp"

namespace sr::serve {

class ModelStore;
class ServedModel;
class SpanFile;

using Deadline = std::chrono::steady_clock::time_point;

struct ServerState {
  ModelStore* models = nullptr;
  SpanFile* spans = nullptr;       // of the requests whose clients trace them; null: none are written
  std::string token;               // that requests must have; empty: none
  std::atomic<bool> ready{false};  // all models are loaded and warm
  std::atomic<bool> draining{false};
  std::atomic<int> active{0};  // requests that have arrived and whose answers are not written

  bool is_ready() const { return ready && !draining; }

  // Throws RequestError if the value of the header `authorization` does not have the token. Takes the same
  // time wherever the two differ.
  void authorize(std::string_view header) const;

  // The next ones throw RequestError for a model or version that is not there, and while the server loads or
  // drains. An empty version stands for the current one.
  void require_model(const std::string& name, const std::string& version) const;
  ModelMetadata metadata(const std::string& name, const std::string& version) const;
  // All names and versions that answer.
  std::vector<std::pair<std::string, std::string>> index() const;
  std::vector<std::string> versions(const std::string& name) const;

  // Calls `done` with the answer or the failure, here or on another thread.
  void infer(InferRequest request, Deadline deadline, std::stop_token stop, InferDone done) const;
  // Counts a request of the model that could not be read.
  void note_unread(const std::string& name, const std::string& version, Status status) const;

 private:
  std::shared_ptr<ServedModel> model(const std::string& name, const std::string& version) const;
};

// The deadline of a header grpc-timeout: up to eight digits and one of H, M, S, m, u, n (gRPC over HTTP/2).
// Throws RequestError.
Deadline deadline_of(std::string_view timeout);

// All figures in the text format of Prometheus.
std::string metrics_text(const ServerState& state);

}  // namespace sr::serve

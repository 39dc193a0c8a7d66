#include "grpc_server.hpp"

#include <atomic>
#include <deque>
#include <grpcpp/grpcpp.h>
#include <mutex>
#include <stop_token>
#include <utility>
#include <variant>

#include <sr/version.hpp>

#include "grpc_messages.hpp"
#include "open_inference.grpc.pb.h"

namespace sr::serve {
namespace {

using inference::ModelInferRequest;
using inference::ModelInferResponse;
using inference::ModelStreamInferResponse;

grpc::Status grpc_status(const Failure& failure) {
  const auto code = [&] {
    switch (failure.status) {
      case Status::ok:
        return grpc::StatusCode::OK;
      case Status::invalid:
        return grpc::StatusCode::INVALID_ARGUMENT;
      case Status::unauthorized:
        return grpc::StatusCode::UNAUTHENTICATED;
      case Status::not_found:
        return grpc::StatusCode::NOT_FOUND;
      case Status::busy:
        return grpc::StatusCode::RESOURCE_EXHAUSTED;
      case Status::cancelled:
        return grpc::StatusCode::CANCELLED;
      case Status::failed:
        return grpc::StatusCode::INTERNAL;
      case Status::unsupported:
        return grpc::StatusCode::UNIMPLEMENTED;
      case Status::unavailable:
        return grpc::StatusCode::UNAVAILABLE;
      case Status::deadline:
        return grpc::StatusCode::DEADLINE_EXCEEDED;
    }
    return grpc::StatusCode::UNKNOWN;
  }();
  return {code, failure.message};
}

// Returns the value of the client metadata `name`, or an empty text if the client has sent none.
std::string_view metadata_of(const grpc::CallbackServerContext& context, const char* name) {
  const auto found = context.client_metadata().find(name);
  if (found == context.client_metadata().end()) return {};
  return {found->second.data(), found->second.size()};
}

void authorize(const ServerState& state, const grpc::CallbackServerContext& context) {
  state.authorize(metadata_of(context, "authorization"));
}

// Finishes a call that has not the token, and returns false.
template <class Reactor>
bool authorize(const ServerState& state, const grpc::CallbackServerContext& context, Reactor& reactor) {
  try {
    authorize(state, context);
    return true;
  } catch (const RequestError& error) {
    reactor.Finish(grpc_status({error.status(), error.what()}));
    return false;
  }
}

Deadline deadline_of(const grpc::CallbackServerContext& context) {
  const auto left = context.deadline() - std::chrono::system_clock::now();
  if (left > std::chrono::hours(24 * 365)) return Deadline::max();
  return Deadline::clock::now() + std::chrono::duration_cast<Deadline::duration>(left);
}

void infer(const ServerState& state, const grpc::CallbackServerContext& context,
           const ModelInferRequest& message, std::stop_token stop, InferDone done) {
  InferRequest request;
  try {
    // gRPC keeps the message until the call has ended, which is after `done`.
    request = read_message(message, std::make_shared<int>());
    request.traceparent = metadata_of(context, "traceparent");
  } catch (const RequestError& error) {
    state.note_unread(message.model_name(), message.model_version(), error.status());
    return done(Failure{error.status(), error.what()});
  }
  state.infer(std::move(request), deadline_of(context), std::move(stop), std::move(done));
}

// Counts a request as active while it exists.
class ActiveRequest {
 public:
  explicit ActiveRequest(ServerState& state) : state_(state) { ++state_.active; }
  ActiveRequest(const ActiveRequest&) = delete;
  ActiveRequest& operator=(const ActiveRequest&) = delete;
  ~ActiveRequest() { --state_.active; }

 private:
  ServerState& state_;
};

// Answers one request, and ends itself.
class UnaryInfer final : public grpc::ServerUnaryReactor {
 public:
  UnaryInfer(ServerState& state, grpc::CallbackServerContext& context, const ModelInferRequest& message,
             ModelInferResponse& response)
      : state_(state), active_(state) {
    if (!authorize(state_, context, *this)) return;
    infer(state_, context, message, stop_.get_token(),
          [this, &response](const std::variant<InferResponse, Failure>& outcome) {
            if (const auto* const failure = std::get_if<Failure>(&outcome))
              return Finish(grpc_status(*failure));
            write_message(std::get<InferResponse>(outcome), response);
            Finish(grpc::Status::OK);
          });
  }

  void OnCancel() override { stop_.request_stop(); }
  void OnDone() override { delete this; }

 private:
  ServerState& state_;
  ActiveRequest active_;
  std::stop_source stop_;
};

// Answers the requests of a stream one after the other.
class StreamInfer final : public grpc::ServerBidiReactor<ModelInferRequest, ModelStreamInferResponse> {
 public:
  StreamInfer(ServerState& state, grpc::CallbackServerContext& context)
      : state_(state), active_(state), context_(context) {
    if (authorize(state_, context, *this)) StartRead(&message_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);  // the client sends no more
    response_.Clear();
    infer(state_, context_, message_, stop_.get_token(),
          [this](const std::variant<InferResponse, Failure>& outcome) {
            if (const auto* const failure = std::get_if<Failure>(&outcome)) {
              response_.set_error_message(failure->message);
              response_.mutable_infer_response()->set_id(message_.id());
            } else {
              write_message(std::get<InferResponse>(outcome), *response_.mutable_infer_response());
            }
            StartWrite(&response_);
          });
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    StartRead(&message_);
  }
  void OnCancel() override { stop_.request_stop(); }
  void OnDone() override { delete this; }

 private:
  ServerState& state_;
  ActiveRequest active_;
  grpc::CallbackServerContext& context_;
  std::stop_source stop_;
  ModelInferRequest message_;
  ModelStreamInferResponse response_;
};

}  // namespace

class GrpcServer::Service final : public inference::GRPCInferenceService::CallbackService {
 public:
  explicit Service(ServerState& state) : state_(state) {}

 private:
  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;

  // Calls answer() and finishes with what it throws.
  template <class Answer>
  Reactor* answered(Context* context, bool is_probe, const Answer& answer) const {
    Reactor* const reactor = context->DefaultReactor();
    try {
      if (!is_probe) authorize(state_, *context);
      answer();
      reactor->Finish(grpc::Status::OK);
    } catch (...) {
      reactor->Finish(grpc_status(failure_of(std::current_exception())));
    }
    return reactor;
  }

  Reactor* ServerLive(Context* context, const inference::ServerLiveRequest*,
                      inference::ServerLiveResponse* response) override {
    return answered(context, true, [&] { response->set_live(true); });
  }
  Reactor* ServerReady(Context* context, const inference::ServerReadyRequest*,
                       inference::ServerReadyResponse* response) override {
    return answered(context, true, [&] { response->set_ready(state_.is_ready()); });
  }
  Reactor* ModelReady(Context* context, const inference::ModelReadyRequest* request,
                      inference::ModelReadyResponse* response) override {
    return answered(context, false, [&] {
      const auto index = state_.is_ready() ? state_.index() : decltype(state_.index())();
      response->set_ready(std::ranges::any_of(index, [&](const auto& model) {
        return model.first == request->name() &&
               (request->version().empty() || model.second == request->version());
      }));
    });
  }
  Reactor* ServerMetadata(Context* context, const inference::ServerMetadataRequest*,
                          inference::ServerMetadataResponse* response) override {
    return answered(context, false, [&] {
      response->set_name("sr");
      response->set_version(SR_VERSION);
      for (const std::string_view extension : kExtensions)
        response->add_extensions(extension.data(), extension.size());
    });
  }
  Reactor* ModelMetadata(Context* context, const inference::ModelMetadataRequest* request,
                         inference::ModelMetadataResponse* response) override {
    return answered(context, false, [&] {
      write_message(state_.metadata(request->name(), request->version()), *response);
      for (const std::string& version : state_.versions(request->name())) response->add_versions(version);
    });
  }
  Reactor* RepositoryIndex(Context* context, const inference::RepositoryIndexRequest*,
                           inference::RepositoryIndexResponse* response) override {
    return answered(context, false, [&] {
      for (const auto& [name, version] : state_.index()) {
        auto& entry = *response->add_models();
        entry.set_name(name);
        entry.set_version(version);
        entry.set_state("READY");
      }
    });
  }
  Reactor* ModelInfer(Context* context, const ModelInferRequest* request,
                      ModelInferResponse* response) override {
    return new UnaryInfer(state_, *context, *request, *response);
  }
  grpc::ServerBidiReactor<ModelInferRequest, ModelStreamInferResponse>* ModelStreamInfer(
      Context* context) override {
    return new StreamInfer(state_, *context);
  }

  ServerState& state_;
};

struct GrpcServer::Running {
  explicit Running(ServerState& state) : service(state) {}
  Service service;
  int port = 0;
  std::unique_ptr<grpc::Server> server;
};

GrpcServer::GrpcServer(ServerState& state, const GrpcOptions& options)
    : running_(std::make_unique<Running>(state)) {
  std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
  if (!options.certificate.empty()) {
    grpc::SslServerCredentialsOptions tls;
    tls.pem_key_cert_pairs.push_back({options.key, options.certificate});
    credentials = grpc::SslServerCredentials(tls);
  }
  grpc::ServerBuilder builder;
  builder.AddListeningPort(options.address, credentials, &running_->port);
  builder.RegisterService(&running_->service);
  builder.SetMaxReceiveMessageSize(static_cast<int>(std::min<std::size_t>(options.max_body, INT_MAX)));
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a second server must fail
  running_->server = builder.BuildAndStart();
  if (running_->server == nullptr || running_->port == 0)
    throw std::runtime_error("The server cannot listen for gRPC at " + options.address +
                             ". Is the port in use?");
}

GrpcServer::~GrpcServer() {
  shut_down(std::chrono::system_clock::now());
}

int GrpcServer::port() const {
  return running_->port;
}

void GrpcServer::shut_down(std::chrono::system_clock::time_point deadline) {
  if (running_->server == nullptr) return;
  running_->server->Shutdown(deadline);
  running_->server->Wait();
  running_->server.reset();
}

}  // namespace sr::serve

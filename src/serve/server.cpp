// The life of `sr serve`: loads, listens, watches signals and files, drains.
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>
#include <utility>
#include <vector>

#include <sr/base/processors.hpp>
#include <sr/error.hpp>

#include "grpc/grpc_server.hpp"
#include "http/http_server.hpp"
#include "log.hpp"
#include "models/model_store.hpp"
#include "options.hpp"
#include "server_state.hpp"
#include "tracing/span_file.hpp"

namespace sr::serve {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

std::string read_text(const std::string& path, const char* what) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.good() && !file.eof()) throw LoadError(std::string(what) + ", " + path + ", cannot be read.");
  if (text.empty()) throw LoadError(std::string(what) + ", " + path + ", cannot be read or is empty.");
  return text;
}

std::string token_of(const ServeOptions& options) {
  if (options.token_file.empty()) return {};
  std::string token = read_text(options.token_file, "The file of the token");
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  if (token.empty()) throw LoadError("The file of the token, " + options.token_file + ", has no token.");
  return token;
}

std::vector<ModelConfig> configs_of(const ServeOptions& options) {
  std::vector<ModelConfig> configs;
  if (!options.folder.empty()) configs = read_folder(options.folder);
  for (const std::string& model : options.models) {
    configs.push_back(config_of(model));
    configs.back().batches = options.batching;
  }
  return configs;
}

void log_model(const char* event, const ModelConfig& model, const std::string& sentence) {
  log_event(event,
            {{"model", model.name}, {"version", model.version}, {"file", model.file}, {"message", sentence}});
}

class Server {
 public:
  explicit Server(const ServeOptions& options)
      : options_(options),
        threads_(options.threads > 0 ? options.threads : processors_allowed()),
        workers_(static_cast<std::size_t>(threads_)),
        models_([this] { return configs_of(options_); }, workers_, &log_model),
        context_(threads_),
        ends_(context_, SIGTERM, SIGINT),
        reloads_(context_, SIGHUP),
        look_(context_) {
    state_.models = &models_;
    state_.token = token_of(options);
    if (!options.traces.empty()) state_.spans = &spans_.emplace(options.traces);
  }

  int run() {
    listen();
    std::vector<std::jthread> threads;
    ends_.async_wait([this](boost::system::error_code error, int) {
      if (!error) drain();
    });
    wait_for_reload();
    for (int i = 1; i < threads_; ++i) threads.emplace_back([this] { run_events(); });
    // Health is answered while models are loaded.
    std::jthread loading([this] { load(); });
    run_events();
    loading.join();
    threads.clear();
    workers_.join();
    if (failed_) std::rethrow_exception(failed_);
    log_event("ended");
    return 0;
  }

 private:
  // Waking a thread takes longer than a small model. With --spin, the thread polls for a while before it
  // sleeps. Only one of several threads can poll the context, so that the others would poll in vain.
  void run_events() {
    if (options_.spin == 0 || threads_ > 1) {
      context_.run();
      return;
    }
    const auto spin = std::chrono::duration<double, std::micro>(options_.spin);
    while (!context_.stopped()) {
      context_.run_one();
      Clock::time_point last = Clock::now();
      while (Clock::now() - last < spin) {
        if (context_.poll() != 0) last = Clock::now();
      }
    }
  }

  void load() {
    try {
      models_.load();
      state_.ready = true;
      log_event("ready");
      asio::post(context_, [this] { look_later(); });
    } catch (...) {
      failed_ = std::current_exception();
      asio::post(context_, [this] { drain(); });
    }
  }

  void listen() {
    std::shared_ptr<asio::ssl::context> tls;
    GrpcOptions grpc{options_.host + ':' + std::to_string(options_.grpc_port), {}, {}, options_.max_body};
    if (!options_.certificate.empty()) {
      grpc.certificate = read_text(options_.certificate, "The certificate");
      grpc.key = read_text(options_.key, "The key of the certificate");
      tls = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
      tls->set_options(asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1);
      tls->use_certificate_chain(asio::buffer(grpc.certificate));
      tls->use_private_key(asio::buffer(grpc.key), asio::ssl::context::pem);
    }
    HttpLimits limits;
    limits.max_body = options_.max_body;
    limits.max_connections = options_.max_connections;
    limits.idle = std::chrono::duration<double>(options_.idle_timeout);
    if (options_.http_port >= 0) {
      listeners_.push_back(listen_http(context_, state_, limits, options_.host, options_.http_port, tls));
      log_event("listening", {{"protocol", tls ? "https" : "http"},
                              {"address", options_.host + ':' + std::to_string(listeners_.back()->port())}});
    }
    if (!options_.unix_socket.empty()) {
      listeners_.push_back(listen_http_unix(context_, state_, limits, options_.unix_socket));
      log_event("listening", {{"protocol", "http"}, {"address", "unix:" + options_.unix_socket}});
    }
    if (options_.grpc_port >= 0) {
      grpc_.emplace(state_, grpc);
      log_event("listening",
                {{"protocol", "grpc"}, {"address", options_.host + ':' + std::to_string(grpc_->port())}});
    }
  }

  void wait_for_reload() {
    reloads_.async_wait([this](boost::system::error_code error, int) {
      if (error) return;
      reload(/*again=*/true);
      wait_for_reload();
    });
  }
  void look_later() {
    look_.expires_after(std::chrono::seconds(1));
    look_.async_wait([this](boost::system::error_code error) {
      if (error) return;
      reload(/*again=*/false);
      for (const auto& model : models_.all()) model->drop_idle_sessions();
      look_later();
    });
  }
  // Reloads on a separate thread, so that the event loop stays free. Does nothing while another reload runs.
  void reload(bool again) {
    if (!state_.ready || state_.draining || reloads_running_.exchange(true)) return;
    if (reloading_.joinable()) reloading_.join();
    reloading_ = std::jthread([this, again] {
      try {
        models_.reload(again);
      } catch (const std::exception& error) {
        log_event("refused", {{"message", error.what()}});
      }
      reloads_running_ = false;
    });
  }

  // Stops listening, lets requests end, then ends the run of the context.
  void drain() {
    log_event("draining", {{"requests", std::to_string(state_.active.load())}});
    state_.draining = true;
    reloads_.cancel();
    look_.cancel();
    ends_.cancel();
    for (const auto& listener : listeners_) listener->close();
    until_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(options_.drain_timeout));
    wait_for_requests();
  }
  void wait_for_requests() {
    if (state_.active == 0 || Clock::now() >= until_) {
      if (grpc_) grpc_->shut_down(std::chrono::system_clock::now() + std::chrono::seconds(1));
      return context_.stop();
    }
    look_.expires_after(std::chrono::milliseconds(5));
    look_.async_wait([this](boost::system::error_code) { wait_for_requests(); });
  }

  ServeOptions options_;
  int threads_;
  asio::thread_pool workers_;
  ModelStore models_;
  std::optional<SpanFile> spans_;
  ServerState state_;
  asio::io_context context_;
  asio::signal_set ends_, reloads_;
  asio::steady_timer look_;
  std::vector<std::shared_ptr<Listener>> listeners_;
  std::optional<GrpcServer> grpc_;
  std::exception_ptr failed_;
  Clock::time_point until_;
  std::atomic<bool> reloads_running_{false};
  std::jthread reloading_;
};

}  // namespace

int serve(const ServeOptions& options) {
  if (options.models.empty() && options.folder.empty())
    throw ArgumentError("There is nothing to serve: give a model, or --models with a folder.");
  if (options.certificate.empty() != options.key.empty())
    throw ArgumentError("TLS needs both --certificate and --key.");
  std::signal(SIGPIPE, SIG_IGN);
  configs_of(options);  // wrong configurations are told before anything listens
  return Server(options).run();
}

}  // namespace sr::serve

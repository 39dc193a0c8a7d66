// Sends requests of the Open Inference Protocol repeatedly and prints the latencies as JSON. It is written in
// C++, so that the client adds little to them. serve.py runs it. With --serve-echo it is a server that sends
// each message back. No server on the same machine can have a lower latency.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <fstream>
#include <grpcpp/grpcpp.h>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <thread>
#include <vector>

#include "open_inference.grpc.pb.h"

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Clock = std::chrono::steady_clock;

struct Request {
  std::string target, model, body;  // the path, the model's name for gRPC, and the bytes
  std::size_t json_bytes = 0;       // that come before the tensors' bytes; 0 if all of the body is JSON
};

struct Options {
  std::string http, unix_socket, grpc, echo;  // one of them: "host:port", a path, "host:port", "host:port"
  std::string type = "application/json";
  std::vector<Request> requests;  // connection i sends request i modulo their number
  int connections = 1;
  double seconds = 1, rate = 0;  // of each connection; 0: the next request follows the answer
};

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("The file " + path + " cannot be read.");
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class Socket>
class HttpCaller {
 public:
  HttpCaller(const Request& request, const std::string& type, Socket socket) : socket_(std::move(socket)) {
    request_ = {http::verb::post, request.target, 11, request.body};
    request_.set(http::field::host, "localhost");
    request_.set(http::field::content_type, type);
    if (request.json_bytes != 0)
      request_.set("Inference-Header-Content-Length", std::to_string(request.json_bytes));
    request_.prepare_payload();
  }
  void call() {
    http::write(socket_, request_);
    http::response<http::string_body> response;
    http::read(socket_, buffer_, response);
    if (response.result_int() != 200) throw std::runtime_error("The server answers: " + response.body());
  }

 private:
  Socket socket_;
  beast::flat_buffer buffer_;
  http::request<http::string_body> request_;
};

// The body is JSON with the inputs, and the bytes behind it.
class GrpcCaller {
 public:
  GrpcCaller(const std::string& address, const Request& request)
      : stub_(inference::GRPCInferenceService::NewStub(
            grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))) {
    const auto json = nlohmann::json::parse(
        request.body.begin(), request.body.begin() + static_cast<std::ptrdiff_t>(request.json_bytes));
    request_.set_model_name(request.model);
    std::size_t at = request.json_bytes;
    for (const auto& input : json["inputs"]) {
      auto& tensor = *request_.add_inputs();
      tensor.set_name(input["name"]);
      tensor.set_datatype(input["datatype"]);
      for (const std::int64_t size : input["shape"]) tensor.add_shape(size);
      const std::size_t bytes = input["parameters"]["binary_data_size"];
      request_.add_raw_input_contents(request.body.substr(at, bytes));
      at += bytes;
    }
  }
  void call() {
    grpc::ClientContext context;
    inference::ModelInferResponse response;
    const grpc::Status status = stub_->ModelInfer(&context, request_, &response);
    if (!status.ok()) throw std::runtime_error("The server answers: " + status.error_message());
  }

 private:
  std::unique_ptr<inference::GRPCInferenceService::Stub> stub_;
  inference::ModelInferRequest request_;
};

class EchoCaller {
 public:
  EchoCaller(const Request& request, asio::ip::tcp::socket socket)
      : socket_(std::move(socket)), sent_(request.body), received_(request.body.size(), '\0') {}
  void call() {
    asio::write(socket_, asio::buffer(sent_));
    asio::read(socket_, asio::buffer(received_));
  }

 private:
  asio::ip::tcp::socket socket_;
  std::string sent_, received_;
};

// Never returns.
void serve_echo(unsigned short port) {
  asio::io_context context;
  asio::ip::tcp::acceptor acceptor(context, {asio::ip::make_address("127.0.0.1"), port});
  for (;;) {
    asio::ip::tcp::socket accepted = acceptor.accept();
    accepted.set_option(asio::ip::tcp::no_delay(true));
    std::thread([socket = std::move(accepted)]() mutable {
      std::vector<char> bytes(65536);
      boost::system::error_code error;
      for (;;) {
        const std::size_t count = socket.read_some(asio::buffer(bytes), error);
        if (error) return;
        asio::write(socket, asio::buffer(bytes.data(), count), error);
      }
    }).detach();
  }
}

// Calls until the end, from all connections; returns the latencies in microseconds.
template <class MakeCaller>
std::vector<double> run(const Options& options, const MakeCaller& make_caller) {
  std::vector<std::vector<double>> of_threads(static_cast<std::size_t>(options.connections));
  std::vector<std::thread> threads;
  std::atomic<bool> failed{false};
  for (std::size_t i = 0; i < of_threads.size(); ++i) {
    threads.emplace_back([&, i] {
      std::vector<double>& latencies = of_threads[i];
      ::prctl(PR_SET_TIMERSLACK, 1);  // nanosecond; 50 us by default, which sleep_until would add
      try {
        auto caller = make_caller(options.requests[i % options.requests.size()]);
        for (int call = 0; call < 3; ++call) caller.call();
        Clock::time_point next = Clock::now();
        const auto end = next + std::chrono::duration_cast<Clock::duration>(
                                    std::chrono::duration<double>(options.seconds));
        while (Clock::now() < end) {
          if (options.rate > 0) {
            next +=
                std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(1 / options.rate));
            std::this_thread::sleep_until(next);
          }
          const Clock::time_point begin = options.rate > 0 ? next : Clock::now();
          caller.call();
          latencies.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
        }
      } catch (const std::exception& error) {
        if (!failed.exchange(true)) std::cerr << "serve_client: " << error.what() << '\n';
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (failed) throw std::runtime_error("A request has failed.");
  std::vector<double> all;
  for (const std::vector<double>& latencies : of_threads)
    all.insert(all.end(), latencies.begin(), latencies.end());
  std::ranges::sort(all);
  return all;
}

std::vector<double> measure(const Options& options) {
  asio::io_context context;
  const auto connected = [&](const std::string& address) {
    asio::ip::tcp::socket socket(context);
    const std::size_t colon = address.rfind(':');
    asio::connect(socket, asio::ip::tcp::resolver(context).resolve(address.substr(0, colon),
                                                                   address.substr(colon + 1)));
    socket.set_option(asio::ip::tcp::no_delay(true));
    return socket;
  };
  if (!options.grpc.empty())
    return run(options, [&](const Request& request) { return GrpcCaller(options.grpc, request); });
  if (!options.echo.empty())
    return run(options, [&](const Request& request) { return EchoCaller(request, connected(options.echo)); });
  if (!options.unix_socket.empty()) {
    return run(options, [&](const Request& request) {
      asio::local::stream_protocol::socket socket(context);
      socket.connect(options.unix_socket);
      return HttpCaller(request, options.type, std::move(socket));
    });
  }
  return run(options, [&](const Request& request) {
    return HttpCaller(request, options.type, connected(options.http));
  });
}

}  // namespace

int main(int argc, char** argv) try {
  Options options;
  std::vector<std::string> targets, models, bodies;
  std::vector<std::size_t> json_bytes;
  unsigned short echo_port = 0;
  CLI::App app("Times requests of the Open Inference Protocol.");
  app.add_option("--http", options.http);
  app.add_option("--unix", options.unix_socket);
  app.add_option("--grpc", options.grpc);
  app.add_option("--echo", options.echo);
  app.add_option("--serve-echo", echo_port, "A port on which to send back what is received.");
  app.add_option("--target", targets, "As often as --body.");
  app.add_option("--model", models, "As often as --body.");
  app.add_option("--body", bodies, "A file; the connections take them in turn.");
  app.add_option("--json-bytes", json_bytes, "As often as --body.");
  app.add_option("--type", options.type);
  app.add_option("--connections", options.connections);
  app.add_option("--seconds", options.seconds);
  app.add_option("--rate", options.rate, "Requests a second of each connection.");
  CLI11_PARSE(app, argc, argv);
  if (echo_port != 0) serve_echo(echo_port);
  if (bodies.empty()) throw std::runtime_error("--body is missing.");
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    options.requests.push_back({targets.empty() ? "" : targets.at(i), models.empty() ? "" : models.at(i),
                                read_file(bodies[i]), json_bytes.empty() ? 0 : json_bytes.at(i)});
  }
  const std::vector<double> latencies = measure(options);
  const auto quantile = [&](double part) {
    return latencies.at(static_cast<std::size_t>(part * static_cast<double>(latencies.size() - 1)));
  };
  std::cout << nlohmann::json{{"requests", latencies.size()},
                              {"per_second", static_cast<double>(latencies.size()) / options.seconds},
                              {"p50", quantile(0.5)},
                              {"p90", quantile(0.9)},
                              {"p99", quantile(0.99)}}
            << '\n';
} catch (const std::exception& error) {
  std::cerr << "serve_client: " << error.what() << '\n';
  return 1;
}

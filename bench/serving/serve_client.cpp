// Sends one request of the Open Inference Protocol repeatedly and prints the latencies as JSON. It is written
// in C++, so that the client adds little to them. serve.py runs it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
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
#include <thread>
#include <vector>

#include "open_inference.grpc.pb.h"

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string http, unix_socket, grpc;  // one of them: "host:port", a path, "host:port"
  std::string target, body, type = "application/json", model;
  std::size_t json_bytes = 0;
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
  HttpCaller(const Options& options, Socket socket) : socket_(std::move(socket)) {
    request_ = {http::verb::post, options.target, 11, read_file(options.body)};
    request_.set(http::field::host, "localhost");
    request_.set(http::field::content_type, options.type);
    if (options.json_bytes != 0)
      request_.set("Inference-Header-Content-Length", std::to_string(options.json_bytes));
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
  explicit GrpcCaller(const Options& options)
      : stub_(inference::GRPCInferenceService::NewStub(
            grpc::CreateChannel(options.grpc, grpc::InsecureChannelCredentials()))) {
    const std::string body = read_file(options.body);
    const auto json =
        nlohmann::json::parse(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(options.json_bytes));
    request_.set_model_name(options.model);
    std::size_t at = options.json_bytes;
    for (const auto& input : json["inputs"]) {
      auto& tensor = *request_.add_inputs();
      tensor.set_name(input["name"]);
      tensor.set_datatype(input["datatype"]);
      for (const std::int64_t size : input["shape"]) tensor.add_shape(size);
      const std::size_t bytes = input["parameters"]["binary_data_size"];
      request_.add_raw_input_contents(body.substr(at, bytes));
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

// Calls until the end, from all connections; returns the latencies in microseconds.
template <class MakeCaller>
std::vector<double> run(const Options& options, const MakeCaller& make_caller) {
  std::vector<std::vector<double>> of_threads(static_cast<std::size_t>(options.connections));
  std::vector<std::thread> threads;
  std::atomic<bool> failed{false};
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(options.seconds));
  for (std::vector<double>& latencies : of_threads) {
    threads.emplace_back([&] {
      try {
        auto caller = make_caller();
        for (int i = 0; i < 20; ++i) caller.call();
        Clock::time_point next = Clock::now();
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
  if (!options.grpc.empty()) return run(options, [&] { return GrpcCaller(options); });
  if (!options.unix_socket.empty()) {
    return run(options, [&] {
      asio::local::stream_protocol::socket socket(context);
      socket.connect(options.unix_socket);
      return HttpCaller(options, std::move(socket));
    });
  }
  return run(options, [&] {
    asio::ip::tcp::socket socket(context);
    const std::size_t colon = options.http.rfind(':');
    asio::connect(socket, asio::ip::tcp::resolver(context).resolve(options.http.substr(0, colon),
                                                                   options.http.substr(colon + 1)));
    socket.set_option(asio::ip::tcp::no_delay(true));
    return HttpCaller(options, std::move(socket));
  });
}

}  // namespace

int main(int argc, char** argv) try {
  Options options;
  CLI::App app("Times requests of the Open Inference Protocol.");
  app.add_option("--http", options.http);
  app.add_option("--unix", options.unix_socket);
  app.add_option("--grpc", options.grpc);
  app.add_option("--target", options.target);
  app.add_option("--model", options.model);
  app.add_option("--body", options.body)->required();
  app.add_option("--type", options.type);
  app.add_option("--json-bytes", options.json_bytes);
  app.add_option("--connections", options.connections);
  app.add_option("--seconds", options.seconds);
  app.add_option("--rate", options.rate);
  CLI11_PARSE(app, argc, argv);
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

// Clients of the servers that serve_client.cpp measures. Each sends one request repeatedly.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cstddef>
#include <cstdint>
#include <grpcpp/grpcpp.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>

#include "open_inference.grpc.pb.h"

namespace serve_client {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

struct Request {
  std::string target, model, body;  // the path, the model's name for gRPC, and the bytes
  std::size_t json_bytes = 0;       // that come before the tensors' bytes; 0 if all of the body is JSON
};

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
    check(response);
  }
  asio::awaitable<void> call_later() {
    co_await http::async_write(socket_, request_, asio::use_awaitable);
    http::response<http::string_body> response;
    co_await http::async_read(socket_, buffer_, response, asio::use_awaitable);
    check(response);
  }

 private:
  static void check(const http::response<http::string_body>& response) {
    if (response.result_int() != 200) throw std::runtime_error("The server answers: " + response.body());
  }

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

}  // namespace serve_client

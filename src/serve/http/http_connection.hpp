// One connection of a client: reads requests and writes their answers, one after the other.
#pragma once

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream_base.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <utility>

#include "http_api.hpp"
#include "http_server.hpp"
#include "idle_connections.hpp"

namespace sr::serve {

namespace beast = boost::beast;
namespace http = boost::beast::http;

// `Stream` is a beast::basic_stream, or an ssl_stream of one. Lives as long as an operation on it is pending.
// The state must outlive it.
template <class Stream>
class HttpConnection final : public IdleConnections::Member,
                             public std::enable_shared_from_this<HttpConnection<Stream>> {
 public:
  HttpConnection(Stream stream, ServerState& state, const HttpLimits& limits,
                 std::shared_ptr<IdleConnections> connections)
      : stream_(std::move(stream)), state_(state), limits_(limits), connections_(std::move(connections)) {
    connections_->add(*this);
    buffer_.reserve(kSmallRequest);
  }
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;
  ~HttpConnection() {
    connections_->remove(*this);
    end_request();
  }

  void start() {
    boost::asio::dispatch(stream_.get_executor(), [self = this->shared_from_this()] { self->begin(); });
  }

  void expire() override {
    boost::asio::post(stream_.get_executor(), [weak = this->weak_from_this()] {
      if (const auto self = weak.lock()) self->lowest().close();
    });
  }

 private:
  // The buffer of a connection, in bytes: one read is enough for a request of this size.
  static constexpr std::size_t kSmallRequest = 4096;
  static constexpr bool kHasTls = requires(Stream & stream) { stream.next_layer(); };

  void begin() {
    if constexpr (kHasTls) {
      expire_later();
      stream_.async_handshake(boost::asio::ssl::stream_base::server,
                              [self = this->shared_from_this()](beast::error_code error) {
                                if (!error) self->read();
                              });
    } else {
      read();
    }
  }

  auto& lowest() { return beast::get_lowest_layer(stream_); }
  void expire_later() {
    expire_after(std::chrono::duration_cast<IdleConnections::Clock::duration>(limits_.idle));
  }

  void read() {
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(limits_.max_header));
    parser_->body_limit(limits_.max_body);
    expire_later();
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = this->shared_from_this()](beast::error_code error, std::size_t) {
                              self->take_header(error);
                            });
  }

  void take_header(beast::error_code error) {
    if (error) return refuse(error);
    begin_request();
    if (beast::iequals(parser_->get()[http::field::expect], "100-continue")) {
      answer_.emplace(http::status::continue_, 11);
      return http::async_write(stream_, *answer_,
                               [self = this->shared_from_this()](beast::error_code failed, std::size_t) {
                                 if (!failed) self->read_body();
                               });
    }
    read_body();
  }
  void read_body() {
    // What came with the header; this saves a turn of the event loop.
    beast::error_code wrong;
    parser_->eager(true);
    buffer_.consume(parser_->put(buffer_.data(), wrong));
    if (wrong && wrong != http::error::need_more) return refuse(wrong);
    if (parser_->is_done()) return take_request();
    reserve_for_body();
    http::async_read(stream_, buffer_, *parser_,
                     [self = this->shared_from_this()](beast::error_code error, std::size_t) {
                       if (error) {
                         self->refuse(error);
                       } else {
                         self->take_request();
                       }
                     });
  }

  // Beast reads at most as many bytes at once as fit into the buffer, which it never enlarges. A body of
  // 600 KB would take a thousand reads of 512 bytes, the size of a new buffer.
  void reserve_for_body() {
    constexpr std::uint64_t kLargest = 65536;
    const std::uint64_t rest = parser_->content_length_remaining().value_or(kLargest);
    buffer_.reserve(static_cast<std::size_t>(std::min(rest, kLargest)));
  }
  // The connection may be idle for long after a large request.
  void release_buffer() {
    if (buffer_.capacity() <= kSmallRequest) return;
    buffer_.shrink_to_fit();
    buffer_.reserve(kSmallRequest);
  }

  void take_request() {
    release_buffer();
    expire_never();  // while the model runs
    auto& message = parser_->get();
    const auto text = [](beast::string_view view) { return std::string_view(view.data(), view.size()); };
    const auto header = [&](auto name) { return text(message[name]); };
    keeps_alive_ = message.keep_alive();
    is_head_ = message.method() == http::verb::head;
    HttpRequest request{text(message.method_string()),
                        text(message.target()),
                        header(http::field::authorization),
                        header("grpc-timeout"),
                        header("Inference-Header-Content-Length"),
                        header(http::field::content_encoding),
                        header("traceparent"),
                        std::make_shared<const std::string>(std::move(message.body()))};
    if (stop_.stop_requested()) stop_ = std::stop_source();
    is_answered_ = false;
    handle(state_, request, stop_.get_token(), [self = this->shared_from_this()](HttpResponse response) {
      auto& stream = self->stream_;
      boost::asio::dispatch(stream.get_executor(), [self, response = std::move(response)]() mutable {
        self->answer(std::move(response));
      });
    });
    if (!is_answered_) watch();
  }

  // While the model runs elsewhere: cancels the request if the client goes away. What TLS sends cannot be
  // told from an end.
  void watch() {
    if constexpr (!kHasTls) {
      watches_ = true;
      lowest().socket().async_wait(std::decay_t<decltype(lowest().socket())>::wait_read,
                                   [self = this->shared_from_this()](beast::error_code error) {
                                     if (error || self->is_answered_) return;
                                     char byte = 0;
                                     const auto bytes = ::recv(self->lowest().socket().native_handle(), &byte,
                                                               1, MSG_PEEK | MSG_DONTWAIT);
                                     const bool is_open =
                                         bytes > 0 || (bytes < 0 && (errno == EAGAIN || errno == EINTR));
                                     if (!is_open) self->stop_.request_stop();
                                   });
    }
  }

  void answer(HttpResponse response) {
    is_answered_ = true;
    if (watches_) lowest().socket().cancel();
    watches_ = false;
    stays_open_ = keeps_alive_ && !state_.draining;
    head_ = head_of(response);
    body_ = std::move(response.body);
    if (is_head_) body_.clear();
    expire_later();
    boost::asio::async_write(stream_, std::array{boost::asio::buffer(head_), boost::asio::buffer(body_)},
                             [self = this->shared_from_this()](beast::error_code error, std::size_t) {
                               self->end_request();
                               if (!error && self->stays_open_) return self->read();
                               self->close();
                               if (!error && self->is_refused_) self->drop_rest();
                             });
  }

  // Beast's serializer would take as long as all else that happens here to a small answer.
  std::string head_of(const HttpResponse& response) const {
    const auto reason = http::obsolete_reason(http::status(response.status));
    std::string head = "HTTP/1.1 " + std::to_string(response.status) + ' ';
    head.append(reason.data(), reason.size());
    const auto add = [&](const char* name, std::string_view value) {
      (((head += "\r\n") += name) += ": ") += value;
    };
    add("Content-Type", response.type);
    if (response.json_bytes != 0) add("Inference-Header-Content-Length", std::to_string(response.json_bytes));
    if (response.allow != nullptr) add("Allow", response.allow);
    if (response.status == 401) add("WWW-Authenticate", "Bearer");
    if (!stays_open_) add("Connection", "close");
    add("Content-Length", std::to_string(response.body.size()));
    return head += "\r\n\r\n";
  }

  // Answers a request that is too large or is not HTTP, and closes the connection: where the next request
  // would begin is unknown.
  void refuse(beast::error_code error) {
    HttpResponse response;
    if (error == http::error::body_limit) {
      response =
          error_response({Status::invalid, "The body is larger than " + std::to_string(limits_.max_body) +
                                               " bytes, which is as much as this server takes."});
      response.status = 413;
    } else if (error == http::error::header_limit) {
      response = error_response(
          {Status::invalid, "The headers are larger than " + std::to_string(limits_.max_header) + " bytes."});
      response.status = 431;
    } else if (error.category() == make_error_code(http::error::bad_method).category() &&
               error != http::error::end_of_stream && error != http::error::partial_message) {
      response =
          error_response({Status::invalid, "This is no request of HTTP/1.1: " + error.message() + "."});
    } else {  // the client has gone or is too slow
      end_request();
      return close();
    }
    begin_request();
    keeps_alive_ = false;
    is_refused_ = true;
    answer(std::move(response));
  }

  // Reads on after a refused request until the client ends: a socket that is closed with unread bytes resets
  // the connection, and the client may lose the answer.
  void drop_rest() {
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(65536),
                            [self = this->shared_from_this()](beast::error_code error, std::size_t) {
                              if (!error) self->drop_rest();
                            });
  }

  void begin_request() {
    if (!std::exchange(is_counted_, true)) ++state_.active;
  }
  void end_request() {
    if (std::exchange(is_counted_, false)) --state_.active;
  }

  void close() {
    beast::error_code ignored;
    lowest().socket().shutdown(boost::asio::socket_base::shutdown_send, ignored);
    if (!is_refused_) lowest().close();
  }

  Stream stream_;
  ServerState& state_;
  HttpLimits limits_;
  std::shared_ptr<IdleConnections> connections_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::optional<http::response<http::empty_body>> answer_;
  std::string head_, body_;  // of the answer
  std::stop_source stop_;
  bool keeps_alive_ = false, is_head_ = false, is_answered_ = false, watches_ = false, is_counted_ = false,
       is_refused_ = false, stays_open_ = false;
};

}  // namespace sr::serve

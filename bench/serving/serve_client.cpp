// Sends requests of the Open Inference Protocol repeatedly and prints the latencies as JSON. It is written in
// C++, so that the client adds little to them. serve.py runs it. With --serve-echo it is a server that sends
// each message back. No server on the same machine can have a lower latency.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "callers.hpp"

namespace {

using namespace serve_client;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string http, unix_socket, grpc, echo;  // one of them: "host:port", a path, "host:port", "host:port"
  std::string type = "application/json";
  std::vector<Request> requests;  // connection i sends request i modulo their number
  int connections = 1;
  double seconds = 1, rate = 0;  // of each connection, HTTP only; 0: the next request follows the answer
};

Clock::duration duration_of(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}
double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("The file " + path + " cannot be read.");
  return {std::istreambuf_iterator<char>(file), {}};
}

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
      try {
        auto caller = make_caller(options.requests[i % options.requests.size()]);
        for (int call = 0; call < 3; ++call) caller.call();
        const Clock::time_point end = Clock::now() + duration_of(options.seconds);
        for (Clock::time_point begin = Clock::now(); begin < end; begin = Clock::now()) {
          caller.call();
          latencies.push_back(microseconds_since(begin));
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
  return all;
}

// Sends requests by HTTP from all connections at a fixed rate. Latencies count from the time at which a
// request was due. All connections share one thread, because many threads would wait for the processor.
class PacedClient {
 public:
  PacedClient(const Options& options, asio::io_context& context) : options_(options), context_(context) {}

  template <class MakeCaller>
  std::vector<double> run(const MakeCaller& make_caller) {
    std::vector<HttpCaller<asio::ip::tcp::socket>> callers;
    for (std::size_t i = 0; i < static_cast<std::size_t>(options_.connections); ++i) {
      callers.push_back(make_caller(options_.requests[i % options_.requests.size()]));
      callers.back().call();
    }
    const Clock::time_point begin = Clock::now() + std::chrono::milliseconds(10);
    const Clock::duration period = duration_of(1 / options_.rate);
    for (std::size_t i = 0; i < callers.size(); ++i) {
      const auto phase = period * static_cast<int>(i) / static_cast<int>(callers.size());
      asio::co_spawn(context_, call_each(callers[i], begin + phase, period), [](std::exception_ptr failed) {
        if (failed) std::rethrow_exception(failed);
      });
    }
    context_.run();
    return std::move(latencies_);
  }

 private:
  asio::awaitable<void> call_each(HttpCaller<asio::ip::tcp::socket>& caller, Clock::time_point next,
                                  Clock::duration period) {
    asio::steady_timer timer(context_);
    for (const Clock::time_point end = next + duration_of(options_.seconds); next < end; next += period) {
      timer.expires_at(next);
      co_await timer.async_wait(asio::use_awaitable);
      co_await caller.call_later();
      latencies_.push_back(microseconds_since(next));
    }
  }

  const Options& options_;
  asio::io_context& context_;
  std::vector<double> latencies_;
};

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
  const auto http_caller = [&](const Request& request) {
    return HttpCaller(request, options.type, connected(options.http));
  };
  if (options.rate > 0) return PacedClient(options, context).run(http_caller);
  return run(options, http_caller);
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
  std::vector<double> latencies = measure(options);
  std::ranges::sort(latencies);
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

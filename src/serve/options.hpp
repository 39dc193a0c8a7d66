// What `sr serve` is asked for on its command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sr::serve {

struct ServeOptions {
  std::vector<std::string> models;  // "FILE" or "NAME=FILE"
  std::string folder;               // of one JSON file for each model; empty: none
  bool batching = false;            // joins the requests of `models`, whose rows do not depend on each other
  std::string host = "127.0.0.1";   // of both ports
  int http_port = 8000, grpc_port = 8001;  // 0: any that is free; -1: none
  std::string unix_socket;                 // of HTTP; empty: none
  int threads = 0;  // that answer requests; 0: as many as the process may use processors
  double spin =
      0;  // microseconds of polling for HTTP requests before the thread sleeps; ignored with several threads
  std::string certificate, key;  // PEM files for TLS on both ports; empty: no TLS
  std::string token_file;        // holds the bearer token that requests must have; empty: none
  std::string traces;            // file for the spans of requests that are traced; empty: none
  std::size_t max_body = std::size_t{64} << 20;  // bytes of a request
  std::size_t max_connections = 10000;           // of HTTP
  double idle_timeout = 60;   // seconds that a client may take for a request, or between two
  double drain_timeout = 30;  // seconds that requests may still run after SIGTERM
};

// Serves until SIGTERM or SIGINT. Returns the exit code of the program. Throws ArgumentError, LoadError, and
// what loading a model throws.
int serve(const ServeOptions& options);

}  // namespace sr::serve

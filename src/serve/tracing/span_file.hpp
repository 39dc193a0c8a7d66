// Writes spans to a file that the OpenTelemetry Collector can read with its `otlpjsonfile` receiver.
#pragma once

#include <cstdio>
#include <memory>
#include <mutex>
#include <string>

namespace sr::serve {

// Any number of threads may write at the same time.
class SpanFile {
 public:
  // Appends to the file. Throws LoadError if it cannot be opened.
  explicit SpanFile(const std::string& path);

  // Writes one line: a request of the OpenTelemetry protocol with these spans, JSON objects between commas
  // (opentelemetry-proto, "JSON Protobuf Encoding"). A full disk loses spans, and no request.
  void write(const std::string& spans);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::mutex mutex_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace sr::serve

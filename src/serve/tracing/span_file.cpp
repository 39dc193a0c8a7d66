#include "span_file.hpp"

#include <cerrno>
#include <system_error>

#include <sr/error.hpp>
#include <sr/version.hpp>

namespace sr::serve {

SpanFile::SpanFile(const std::string& path) : file_(std::fopen(path.c_str(), "ae")) {
  if (file_ == nullptr) {
    throw LoadError("The file of traces, " + path +
                    ", cannot be opened: " + std::generic_category().message(errno) + '.');
  }
}

void SpanFile::write(const std::string& spans) {
  const std::string line =
      R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"sr"}}]},)"
      R"("scopeSpans":[{"scope":{"name":"sr","version":")" +
      std::string(SR_VERSION) + R"("},"spans":[)" + spans + "]}]}]}\n";
  const std::scoped_lock lock(mutex_);
  std::fwrite(line.data(), 1, line.size(), file_.get());
  std::fflush(file_.get());
}

}  // namespace sr::serve

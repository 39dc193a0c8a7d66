// Source ranges from the stack traces of exported nodes, so that messages name the line of the model.
#pragma once

#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include <torch/csrc/jit/frontend/source_range.h>

#include <sr/frontend/export/json.hpp>

namespace sr::exported {

class SourceLines {
 public:
  // The range in a node's metadata; empty if it has none.
  torch::jit::SourceRange of(const Json& node) {
    const auto metadata = node.find("metadata");
    if (metadata == node.end() || !metadata->is_object()) return {};
    const auto trace = metadata->find("stack_trace");
    if (trace == metadata->end() || !trace->is_string()) return {};
    const Frame frame = innermost(trace->get_ref<const std::string&>());
    if (frame.file.empty()) return {};
    std::shared_ptr<torch::jit::Source>& source =
        sources_[std::string(frame.file) + ':' + std::to_string(frame.line)];
    if (source == nullptr) {
      source = std::make_shared<torch::jit::Source>(frame.code, std::string(frame.file), frame.line);
    }
    return {source, 0, source->size()};
  }

 private:
  struct Frame {
    std::string_view file, code;
    std::size_t line = 0;
  };

  // The last frame that is neither of torch.nn nor of generated code, if there is one.
  static bool is_of_model(const Frame& frame) {
    return !frame.file.starts_with('<') && !frame.file.starts_with("torch/") &&
           frame.file.find("/torch/") == std::string_view::npos;
  }

  static Frame innermost(std::string_view trace) {
    constexpr std::string_view kFile = "File \"", kLine = "\", line ";
    Frame found;
    for (std::size_t at = trace.find(kFile); at != std::string_view::npos; at = trace.find(kFile, at)) {
      at += kFile.size();
      const std::size_t end = trace.find(kLine, at), newline = trace.find('\n', at);
      if (end == std::string_view::npos || end > newline) continue;
      Frame frame{trace.substr(at, end - at), {}, 0};
      const char* digits = trace.data() + end + kLine.size();
      if (std::from_chars(digits, trace.data() + trace.size(), frame.line).ec != std::errc()) continue;
      if (newline != std::string_view::npos) {
        frame.code = trace.substr(newline + 1, trace.find('\n', newline + 1) - newline - 1);
      }
      if (found.file.empty() || is_of_model(frame) || !is_of_model(found)) found = frame;
    }
    return found;
  }

  std::unordered_map<std::string, std::shared_ptr<torch::jit::Source>> sources_;
};

}  // namespace sr::exported

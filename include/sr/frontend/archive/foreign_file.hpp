// Describes a file that is not a zip archive, as a hint for a person who passed the wrong file.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace sr {

struct Magic {
  std::string_view start;
  std::string_view meaning;
};

inline constexpr std::array<Magic, 14> kMagics{{
    {"version https://git-lfs", "a Git LFS pointer: 'git lfs pull' fetches the file it stands for"},
    {"PYTORCH1", "an archive of a preview release of PyTorch 1.0, which no release reads"},
    {"\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19",
     "a file of torch.save in the format from before PyTorch 1.6, which holds no TorchScript"},
    {"\x80\x02", "a plain pickle"},
    {"\x80\x03", "a plain pickle"},
    {"\x80\x04", "a plain pickle"},
    {"\x80\x05", "a plain pickle"},
    {"\x93NUMPY", "a NumPy array"},
    {"\x89HDF", "an HDF5 file, as of Keras"},
    {"<?xml", "an XML file, as of OpenVINO's models: sr needs the PyTorch model itself"},
    {"\x7f"
     "ELF",
     "a shared library, as AOTInductor makes: sr needs the program that torch.export.save writes"},
    {"GGUF", "a GGUF model"},
    {"\x1f\x8b", "data compressed by gzip"},
    {"\x28\xb5\x2f\xfd", "data compressed by zstd"},
}};

// True if the text begins as ONNX's protocol buffers do: field 1, a small version, then the name of the
// producer, the graph or another field that is a string.
inline bool looks_like_onnx(std::string_view text) {
  constexpr char kVersion = 0x08, kProducer = 0x12, kGraph = 0x3a, kOperators = 0x42, kLatestVersion = 32;
  return text.size() > 16 && text[0] == kVersion && text[1] > 0 && text[1] < kLatestVersion &&
         (text[2] == kProducer || text[2] == kGraph || text[2] == kOperators);
}

// Completes the sentence "it looks like ...".
inline std::string describe_foreign(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const auto& [start, meaning] : kMagics) {
    if (text.starts_with(start)) return std::string(meaning);
  }
  if (text.size() > 262 && text.substr(257, 5) == "ustar") return "a tar archive";
  if (text.size() > 9 && text.substr(8, 2) == "{\"") {
    return "a safetensors file, which holds weights without a model: load them into the model in Python, "
           "with "
           "safetensors.torch.load_model, and write it with torch.export.save";
  }
  if (text.size() > 8 && text.substr(4, 4) == "TFL3") return "a model of TensorFlow Lite";
  if (looks_like_onnx(text)) {
    return "an ONNX model: sr needs the PyTorch model that it was made of, written by torch.export.save";
  }
  const auto head = text.substr(0, 256);
  if (std::ranges::all_of(head, [](char c) { return c == '\0'; })) return "filled with zeros";
  const auto printable = [](char c) { return (c >= ' ' && c <= '~') || (c >= '\t' && c <= '\r'); };
  if (std::ranges::all_of(head, printable)) {
    const auto line = head.substr(0, std::min<std::size_t>(head.find_first_of("\r\n"), 40));
    return "text that begins with '" + std::string(line) + "'";
  }
  return "binary data of an unknown kind";
}

}  // namespace sr

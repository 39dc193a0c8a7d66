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

inline constexpr std::array<Magic, 12> kMagics{{
    {"version https://git-lfs", "a Git LFS pointer: 'git lfs pull' fetches the file it stands for"},
    {"PYTORCH1", "an archive of a preview release of PyTorch 1.0, which no release reads"},
    {"\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19",
     "a file of torch.save in the format from before PyTorch 1.6, which holds no TorchScript"},
    {"\x80\x02", "a plain pickle"},
    {"\x80\x03", "a plain pickle"},
    {"\x80\x04", "a plain pickle"},
    {"\x80\x05", "a plain pickle"},
    {"\x93NUMPY", "a NumPy array"},
    {"\x89HDF", "an HDF5 file"},
    {"GGUF", "a GGUF model"},
    {"\x1f\x8b", "data compressed by gzip"},
    {"\x28\xb5\x2f\xfd", "data compressed by zstd"},
}};

// Completes the sentence "it looks like ...".
inline std::string describe_foreign(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const auto& [start, meaning] : kMagics) {
    if (text.starts_with(start)) return std::string(meaning);
  }
  if (text.size() > 262 && text.substr(257, 5) == "ustar") return "a tar archive";
  if (text.size() > 9 && text.substr(8, 2) == "{\"") return "a safetensors file";
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

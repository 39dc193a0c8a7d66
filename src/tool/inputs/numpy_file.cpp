// The format is described in NumPy's documentation, numpy.lib.format.
#include "numpy_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <ATen/ATen.h>

#include <sr/error.hpp>
#include <sr/frontend/archive/archive_check.hpp>

namespace sr::tool {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY", kEnding = ".npy";

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::optional<at::ScalarType> dtype_of(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, at::ScalarType>, 14> kTypes{{
      {"f2", at::kHalf},
      {"f4", at::kFloat},
      {"f8", at::kDouble},
      {"i1", at::kChar},
      {"i2", at::kShort},
      {"i4", at::kInt},
      {"i8", at::kLong},
      {"u1", at::kByte},
      {"u2", at::kUInt16},
      {"u4", at::kUInt32},
      {"u8", at::kUInt64},
      {"b1", at::kBool},
      {"c8", at::kComplexFloat},
      {"c16", at::kComplexDouble},
  }};
  const auto* const found =
      std::ranges::find(kTypes, name, &std::pair<std::string_view, at::ScalarType>::first);
  return found == kTypes.end() ? std::nullopt : std::optional(found->second);
}

// Reads one array in the format of .npy files. `where` is the subject of its error messages, such as
// "The file 'x.npy'".
class ArrayReader {
 public:
  ArrayReader(std::string_view bytes, std::string where) : bytes_(bytes), where_(std::move(where)) {}

  at::Tensor read() {
    read_header();
    const at::ScalarType dtype = read_dtype();
    const std::string_view order = value_of("fortran_order");
    if (!order.starts_with("True") && !order.starts_with("False"))
      damaged("its order is neither C's nor Fortran's");
    const bool is_fortran = order.starts_with("True");
    std::vector<std::int64_t> sizes = read_shape();
    std::uint64_t count = 1;
    for (const std::int64_t size : sizes) {
      if (size != 0 && count > std::numeric_limits<std::uint32_t>::max() * std::uint64_t{16} /
                                   static_cast<std::uint64_t>(size))
        damaged("its shape has too many elements");
      count *= static_cast<std::uint64_t>(size);
    }
    const std::uint64_t wanted = count * c10::elementSize(dtype);
    if (bytes_.size() < wanted)
      damaged("it ends after " + std::to_string(bytes_.size()) + " bytes of elements, and has " +
              std::to_string(wanted));
    if (is_fortran) std::ranges::reverse(sizes);
    at::Tensor made = at::empty(sizes, dtype);
    if (wanted != 0) std::memcpy(made.mutable_data_ptr(), bytes_.data(), wanted);
    if (!is_fortran) return made;
    std::vector<std::int64_t> reversed(sizes.size());
    for (std::size_t d = 0; d < sizes.size(); ++d)
      reversed[d] = static_cast<std::int64_t>(sizes.size() - 1 - d);
    return made.permute(reversed);
  }

 private:
  [[noreturn]] void damaged(const std::string& what) const {
    throw LoadError(where_ + " is damaged: " + what + ".");
  }

  // Leaves the elements in bytes_.
  void read_header() {
    constexpr std::size_t kVersion = 6, kLength = 8;
    if (!bytes_.starts_with(kMagic) || bytes_.size() < kLength + 4) damaged("it has no header");
    const bool is_first = bytes_[kVersion] == 1;
    const std::size_t width = is_first ? 2 : 4;
    std::size_t length = 0;
    for (std::size_t i = 0; i < width; ++i)
      length |= std::size_t{static_cast<unsigned char>(bytes_[kLength + i])} << (8 * i);
    const std::size_t begin = kLength + width;
    if (length > bytes_.size() - begin) damaged("its header is longer than the file");
    header_ = bytes_.substr(begin, length);
    bytes_.remove_prefix(begin + length);
  }

  // What follows the key in the header, a dictionary as Python writes it.
  std::string_view value_of(std::string_view key) const {
    const std::string quoted = "'" + std::string(key) + "':";
    const std::size_t found = header_.find(quoted);
    if (found == std::string_view::npos) damaged("its header has no " + quoted.substr(0, quoted.size() - 1));
    std::string_view rest = header_.substr(found + quoted.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    return rest;
  }

  at::ScalarType read_dtype() const {
    std::string_view text = value_of("descr");
    const bool is_name = text.starts_with('\'');
    if (is_name) text = text.substr(1, std::min(text.find('\'', 1), text.size()) - 1);
    const std::string_view order = text.substr(0, 1);
    if (is_name && (order == "<" || order == "|")) {
      if (const auto dtype = dtype_of(text.substr(1))) return *dtype;
    }
    std::string shown(text.substr(0, 40));
    for (char& c : shown) c = c < ' ' || c > '~' ? '?' : c;
    throw LoadError(where_ + " has elements of NumPy's dtype '" + shown +
                    "', which no tensor has. Convert the array with astype, for example to 'float32'.");
  }

  std::vector<std::int64_t> read_shape() const {
    std::string_view text = value_of("shape");
    const std::size_t end = text.find(')');
    if (!text.starts_with('(') || end == std::string_view::npos) damaged("its shape is no tuple");
    text = text.substr(1, end - 1);
    std::vector<std::int64_t> sizes;
    while (true) {
      text.remove_prefix(std::min(text.find_first_not_of(", "), text.size()));
      if (text.empty()) return sizes;
      std::int64_t size = -1;
      const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), size);
      if (error != std::errc{} || size < 0) damaged("its shape has an element that is no size");
      sizes.push_back(size);
      text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
    }
  }

  std::string_view bytes_, header_;
  std::string where_;
};

}  // namespace

bool is_numpy_file(std::span<const std::byte> bytes, const std::string& file) {
  const std::string_view text = text_of(bytes);
  if (text.starts_with(kMagic)) return true;
  if (!text.starts_with("PK")) return false;
  const std::vector<ZipRecord> records = read_zip_directory(bytes, file);
  return !records.empty() &&
         std::ranges::all_of(records, [](const ZipRecord& record) { return record.name.ends_with(kEnding); });
}

std::vector<NamedArray> read_numpy(std::span<const std::byte> bytes, const std::string& file) {
  if (text_of(bytes).starts_with(kMagic))
    return {{"", ArrayReader(text_of(bytes), "The file '" + file + "'").read()}};
  std::vector<NamedArray> arrays;
  std::string inflated;
  for (const ZipRecord& record : check_zip(bytes, file)) {
    const std::string name(record.name.substr(0, record.name.size() - kEnding.size()));
    const std::string where = "The array '" + name + "' of the file '" + file + "'";
    arrays.push_back({name, ArrayReader(detail::bytes_of(record, inflated), where).read()});
  }
  return arrays;
}

}  // namespace sr::tool

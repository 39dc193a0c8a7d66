#include "size_streams.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string_view>

#include <sr/error.hpp>

namespace sr::tool {
namespace {

[[noreturn]] void refuse(const std::string& stream, const std::string& why) {
  throw ArgumentError(
      "--stream \"" + stream + "\" " + why +
      R"(; expected "uniform:1..256", "zipf:1..256", "once:1..256" or "list:1,8,32", with "n=" in )"
      "front if there are several names of sizes.");
}

bool is_name_begin(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_name(char c) {
  return is_name_begin(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// Calls found(begin, end) for the names in brackets and behind "int:".
template <class Found>
void each_name(const std::string& shape, const Found& found) {
  const std::size_t open = shape.find('['), close = shape.find(']');
  std::size_t at = open == std::string::npos ? (shape.starts_with("int:") ? 4 : shape.size()) : open;
  const std::size_t end = open == std::string::npos ? shape.size() : std::min(close, shape.size());
  while (at < end) {
    const std::size_t begin = at;
    while (at < end && is_name(shape[at])) ++at;
    if (at != begin && is_name_begin(shape[begin])) found(begin, at);
    if (at == begin) ++at;
  }
}

std::int64_t size_of(std::string_view text, const std::string& stream) {
  std::int64_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc() || end != text.data() + text.size() || size < 0)
    refuse(stream, "has '" + std::string(text) + "' where a size is");
  return size;
}

std::vector<std::int64_t> list_of(std::string_view text, const std::string& stream) {
  std::vector<std::int64_t> sizes;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    sizes.push_back(size_of(text.substr(begin, end - begin), stream));
    begin = end + 1;
  }
  return sizes;
}

// `text` is what follows the name.
std::vector<std::int64_t> draw(std::string_view text, const std::string& stream, std::size_t calls,
                               std::mt19937_64& random) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) refuse(stream, "has no colon");
  const std::string_view kind = text.substr(0, colon), rest = text.substr(colon + 1);
  std::vector<std::int64_t> sizes(calls);
  if (kind == "list") {
    const std::vector<std::int64_t> listed = list_of(rest, stream);
    for (std::size_t i = 0; i < calls; ++i) sizes[i] = listed[i % listed.size()];
    return sizes;
  }
  const std::size_t dots = rest.find("..");
  if (dots == std::string_view::npos) refuse(stream, "has no '..' between two sizes");
  const std::int64_t low = size_of(rest.substr(0, dots), stream),
                     high = size_of(rest.substr(dots + 2), stream);
  constexpr std::int64_t kMost = 1 << 20;
  if (high < low || high - low >= kMost) refuse(stream, "has no range of at most 2^20 sizes");
  if (kind == "uniform") {
    std::uniform_int_distribution<std::int64_t> any(low, high);
    for (std::int64_t& size : sizes) size = any(random);
  } else if (kind == "zipf") {
    std::vector<double> weights;
    for (std::int64_t n = low; n <= high; ++n)
      weights.push_back(1 / static_cast<double>(std::max<std::int64_t>(n, 1)));
    std::discrete_distribution<std::int64_t> by_weight(weights.begin(), weights.end());
    for (std::int64_t& size : sizes) size = low + by_weight(random);
  } else if (kind == "once") {
    std::vector<std::int64_t> all(static_cast<std::size_t>(high - low + 1));
    std::iota(all.begin(), all.end(), low);
    std::ranges::shuffle(all, random);
    for (std::size_t i = 0; i < calls; ++i) sizes[i] = all[i % all.size()];
  } else {
    refuse(stream, "is of a kind that there is not");
  }
  return sizes;
}

}  // namespace

std::vector<std::vector<std::string>> varied(const std::vector<std::string>& shapes,
                                             const std::vector<std::string>& streams, std::size_t calls,
                                             std::uint64_t seed) {
  std::set<std::string> names;
  for (const std::string& shape : shapes)
    each_name(shape,
              [&](std::size_t begin, std::size_t end) { names.insert(shape.substr(begin, end - begin)); });
  std::map<std::string, std::vector<std::int64_t>> sizes;
  std::mt19937_64 random(seed);
  for (const std::string& stream : streams) {
    const std::size_t equals = stream.find('=');
    std::string name = equals == std::string::npos ? "" : stream.substr(0, equals);
    if (equals == std::string::npos) {
      if (names.size() != 1)
        refuse(stream, "says not which size it is of: --shape names " + std::to_string(names.size()));
      name = *names.begin();
    }
    if (!names.contains(name)) refuse(stream, "is of '" + name + "', which no --shape names");
    const std::string_view text =
        equals == std::string::npos ? std::string_view(stream) : std::string_view(stream).substr(equals + 1);
    if (!sizes.emplace(name, draw(text, stream, calls, random)).second)
      refuse(stream, "is the second stream of '" + name + "'");
  }
  for (const std::string& name : names) {
    if (!sizes.contains(name))
      throw ArgumentError("The size '" + name + "' in --shape has no --stream, such as \"" + name +
                          "=uniform:1..256\".");
  }
  std::vector<std::vector<std::string>> all(calls, shapes);
  for (std::size_t call = 0; call < calls; ++call) {
    for (std::string& shape : all[call]) {
      std::string made;
      std::size_t copied = 0;
      each_name(shape, [&](std::size_t begin, std::size_t end) {
        made += shape.substr(copied, begin - copied) +
                std::to_string(sizes.at(shape.substr(begin, end - begin))[call]);
        copied = end;
      });
      shape = made + shape.substr(copied);
    }
  }
  return all;
}

}  // namespace sr::tool

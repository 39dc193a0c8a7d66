#include "message.hpp"

#include <algorithm>

namespace sr::serve {
namespace {

[[noreturn]] void refuse(std::string_view tensor, const std::string& what) {
  throw RequestError(Status::invalid, "The tensor '" + std::string(tensor) + "' has " + what);
}

}  // namespace

const Datatype& require_datatype(std::string_view tensor, std::string_view datatype) {
  const auto* const known = std::ranges::find(kDatatypes, datatype, &Datatype::name);
  if (known != kDatatypes.end()) return *known;
  if (datatype == "BYTES") {
    refuse(
        tensor,
        "strings (BYTES), but models here take numbers only. Turn strings into numbers before the request.");
  }
  refuse(tensor, "the datatype '" + std::string(datatype) +
                     "'. Known are BOOL, UINT8 to UINT64, INT8 to INT64, FP16, FP32, FP64 and BF16.");
}

std::int64_t count_of(std::string_view tensor, const std::vector<std::int64_t>& shape) {
  constexpr std::int64_t kMost = std::int64_t{1} << 45;
  std::int64_t count = 1;
  bool is_empty = false;
  for (const std::int64_t size : shape) {
    if (size < 0) refuse(tensor, "the size " + std::to_string(size) + ", but sizes are not negative.");
    is_empty |= size == 0;
    if (size > 0 && count > kMost / size) refuse(tensor, "more than 2^45 elements.");
    if (size > 0) count *= size;
  }
  return is_empty ? 0 : count;
}

void check_tensor(const WireTensor& tensor) {
  const Datatype& datatype = require_datatype(tensor.name, tensor.datatype);
  const std::size_t bytes = static_cast<std::size_t>(count_of(tensor.name, tensor.shape)) * datatype.bytes;
  if (tensor.bytes.size() != bytes) {
    refuse(tensor.name, std::to_string(tensor.bytes.size()) + " bytes, but its shape and its datatype " +
                            tensor.datatype + " need " + std::to_string(bytes) + ".");
  }
}

}  // namespace sr::serve

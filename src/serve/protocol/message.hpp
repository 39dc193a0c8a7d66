// A request and its answer, whichever transport they came by. Transports know no LibTorch.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "datatype.hpp"
#include "status.hpp"

namespace sr::serve {

// The parameters of a request that mean something here; others are ignored, as the protocol asks.
struct Parameters {
  std::string sequence_id;  // of a session; empty: none. A number is its decimal digits.
  bool sequence_start = false, sequence_end = false;
  std::chrono::microseconds timeout{0};  // 0: none
};

// A tensor in row-major order. `owner` keeps the bytes, which may lie at any address.
struct WireTensor {
  std::string name, datatype;
  std::vector<std::int64_t> shape;
  std::string_view bytes;
  std::shared_ptr<const void> owner;
};

struct InferRequest {
  std::string model, version, id;  // an empty version stands for the current one
  Parameters parameters;
  std::vector<WireTensor> inputs;    // checked, see check_tensor()
  std::vector<std::string> outputs;  // names that are asked for; empty: all
  std::string traceparent;           // the header of that name; empty: none
};

struct InferResponse {
  std::string model, version, id;
  std::vector<WireTensor> outputs;
};

// Called once, on any thread.
using InferDone = std::function<void(std::variant<InferResponse, Failure>)>;

struct TensorMetadata {
  std::string name;
  std::string datatype;             // empty: the model leaves it open
  std::vector<std::int64_t> shape;  // -1: the size may vary
};

struct ModelMetadata {
  std::string name, version;
  std::vector<TensorMetadata> inputs, outputs;  // a model without a signature has no outputs here
};

inline constexpr std::string_view kPlatform = "pytorch_sr";
// The extensions of the protocol that the server has.
inline constexpr std::array<std::string_view, 3> kExtensions{"binary_tensor_data", "sequence",
                                                             "model_repository"};

// Returns the datatype of that name. Throws RequestError if it is unknown or is that of strings.
const Datatype& require_datatype(std::string_view tensor, std::string_view datatype);
// Returns the number of elements. Throws RequestError if a size is negative, or if there are more than 2^45.
std::int64_t count_of(std::string_view tensor, const std::vector<std::int64_t>& shape);
// Throws RequestError if the datatype is unknown, or the bytes are not as many as shape and datatype say.
void check_tensor(const WireTensor& tensor);

}  // namespace sr::serve

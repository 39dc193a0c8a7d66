// Bodies of inference by HTTP: JSON, and tensors as bytes behind it (the protocol's binary tensor data
// extension).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../protocol/message.hpp"

namespace sr::serve {

struct InferBody {
  InferRequest request;             // without the model and its version
  std::vector<std::string> binary;  // outputs to send as bytes
  bool binary_by_default = false;   // all others, too
  std::vector<std::string> plain;   // outputs to send as JSON in any case
};

// `json_bytes` is the number of bytes of JSON; those behind it are tensors. Tensors may refer to the body.
// Throws RequestError. JSON may be nested to a depth of 64.
InferBody parse_infer_body(const std::shared_ptr<const std::string>& body, std::size_t json_bytes);

// The body of an answer. `json_bytes` is set to the bytes of JSON if tensors follow it, else to 0.
std::string write_infer_body(const InferResponse& response, const InferBody& request,
                             std::size_t& json_bytes);

// The text as a JSON string, with its quotes.
std::string json_string(std::string_view text);

}  // namespace sr::serve

// Between the messages of gRPC and requests. Includes no header of LibTorch, which brings another version of
// protobuf.
#pragma once

#include "../protocol/message.hpp"
#include "open_inference.pb.h"

namespace sr::serve {

// Tensors may refer to the bytes of `message`, which `owner` keeps. Throws RequestError.
InferRequest read_message(const inference::ModelInferRequest& message, std::shared_ptr<const void> owner);
void write_message(const InferResponse& response, inference::ModelInferResponse& message);
void write_message(const ModelMetadata& metadata, inference::ModelMetadataResponse& message);

}  // namespace sr::serve

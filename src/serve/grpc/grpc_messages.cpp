#include "grpc_messages.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

namespace sr::serve {
namespace {

using inference::InferParameter;
using InputTensor = inference::ModelInferRequest::InferInputTensor;

[[noreturn]] void refuse(const std::string& sentence) {
  throw RequestError(Status::invalid, sentence);
}

std::string text_of(const InferParameter& parameter) {
  switch (parameter.parameter_choice_case()) {
    case InferParameter::kStringParam:
      return parameter.string_param();
    case InferParameter::kInt64Param:
      return std::to_string(parameter.int64_param());
    case InferParameter::kUint64Param:
      return std::to_string(parameter.uint64_param());
    default:
      return {};
  }
}

Parameters parameters_of(const google::protobuf::Map<std::string, InferParameter>& map) {
  Parameters parameters;
  const auto flag = [&](const char* name) {
    const auto found = map.find(name);
    return found != map.end() && found->second.bool_param();
  };
  if (const auto id = map.find("sequence_id"); id != map.end()) parameters.sequence_id = text_of(id->second);
  parameters.sequence_start = flag("sequence_start");
  parameters.sequence_end = flag("sequence_end");
  if (const auto timeout = map.find("timeout"); timeout != map.end()) {
    parameters.timeout = std::chrono::microseconds(
        std::clamp<std::int64_t>(timeout->second.int64_param(), 0, std::int64_t{1} << 50));
  }
  return parameters;
}

// The elements of a field as bytes. Throws RequestError for a number that the datatype cannot hold.
template <class T, class Field>
std::string bytes_of(const InputTensor& input, const Field& field) {
  std::string bytes(sizeof(T) * static_cast<std::size_t>(field.size()), '\0');
  char* to = bytes.data();
  for (const auto value : field) {
    const auto element = static_cast<T>(value);
    if constexpr (std::is_integral_v<T>) {
      if (static_cast<std::remove_cv_t<decltype(value)>>(element) != value)
        refuse("The tensor '" + input.name() + "' has the number " + std::to_string(value) + ", which " +
               input.datatype() + " cannot hold.");
    }
    std::memcpy(to, &element, sizeof(T));
    to += sizeof(T);
  }
  return bytes;
}

std::string bytes_of(const InputTensor& input) {
  const inference::InferTensorContents& contents = input.contents();
  const std::string_view datatype = require_datatype(input.name(), input.datatype()).name;
  if (datatype == "BOOL") return bytes_of<bool>(input, contents.bool_contents());
  if (datatype == "INT8") return bytes_of<std::int8_t>(input, contents.int_contents());
  if (datatype == "INT16") return bytes_of<std::int16_t>(input, contents.int_contents());
  if (datatype == "INT32") return bytes_of<std::int32_t>(input, contents.int_contents());
  if (datatype == "INT64") return bytes_of<std::int64_t>(input, contents.int64_contents());
  if (datatype == "UINT8") return bytes_of<std::uint8_t>(input, contents.uint_contents());
  if (datatype == "UINT16") return bytes_of<std::uint16_t>(input, contents.uint_contents());
  if (datatype == "UINT32") return bytes_of<std::uint32_t>(input, contents.uint_contents());
  if (datatype == "UINT64") return bytes_of<std::uint64_t>(input, contents.uint64_contents());
  if (datatype == "FP32") return bytes_of<float>(input, contents.fp32_contents());
  if (datatype == "FP64") return bytes_of<double>(input, contents.fp64_contents());
  refuse("The tensor '" + input.name() + "' of the datatype " + input.datatype() +
         " has to come in raw_input_contents.");
}

}  // namespace

InferRequest read_message(const inference::ModelInferRequest& message, std::shared_ptr<const void> owner) {
  InferRequest request{message.model_name(),
                       message.model_version(),
                       message.id(),
                       parameters_of(message.parameters()),
                       {},
                       {},
                       {}};
  const bool is_raw = message.raw_input_contents_size() != 0;
  if (is_raw && message.raw_input_contents_size() != message.inputs_size()) {
    refuse("The request has " + std::to_string(message.inputs_size()) + " inputs, but " +
           std::to_string(message.raw_input_contents_size()) + " raw_input_contents.");
  }
  for (int i = 0; i < message.inputs_size(); ++i) {
    const InputTensor& input = message.inputs(i);
    WireTensor tensor{input.name(), input.datatype(), {input.shape().begin(), input.shape().end()}, {}, {}};
    if (is_raw) {
      tensor.bytes = message.raw_input_contents(i);
      tensor.owner = owner;
    } else {
      auto bytes = std::make_shared<const std::string>(bytes_of(input));
      tensor.bytes = *bytes;
      tensor.owner = std::move(bytes);
    }
    check_tensor(tensor);
    request.inputs.push_back(std::move(tensor));
  }
  for (const auto& output : message.outputs()) request.outputs.push_back(output.name());
  return request;
}

void write_message(const InferResponse& response, inference::ModelInferResponse& message) {
  message.set_model_name(response.model);
  message.set_model_version(response.version);
  message.set_id(response.id);
  for (const WireTensor& output : response.outputs) {
    auto& tensor = *message.add_outputs();
    tensor.set_name(output.name);
    tensor.set_datatype(output.datatype);
    tensor.mutable_shape()->Add(output.shape.begin(), output.shape.end());
    message.add_raw_output_contents(output.bytes.data(), output.bytes.size());
  }
}

void write_message(const ModelMetadata& metadata, inference::ModelMetadataResponse& message) {
  message.set_name(metadata.name);
  message.set_platform(std::string(kPlatform));
  const auto add = [](const TensorMetadata& tensor, auto& into) {
    into.set_name(tensor.name);
    into.set_datatype(tensor.datatype);
    into.mutable_shape()->Add(tensor.shape.begin(), tensor.shape.end());
  };
  for (const TensorMetadata& tensor : metadata.inputs) add(tensor, *message.add_inputs());
  for (const TensorMetadata& tensor : metadata.outputs) add(tensor, *message.add_outputs());
}

}  // namespace sr::serve

#include "infer_body.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "number_list.hpp"

namespace sr::serve {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kDeepest = 64;

[[noreturn]] void refuse(const std::string& sentence) {
  throw RequestError(Status::invalid, sentence);
}

// The JSON of a request.
struct InferHead {
  struct Input {
    std::string name, datatype;
    std::vector<std::int64_t> shape;
    NumberList data;
    std::optional<std::int64_t> binary_size;
    bool has_shape = false, has_data = false;
  };
  std::vector<Input> inputs;
  InferBody body;
};

// Follows a request without a tree of it: numbers of `data` go to their lists as they are read.
class InferReader : public nlohmann::json_sax<Json>, public InferHead {
 public:
  bool null() override {
    if (in_data()) inputs.back().data.add(std::numeric_limits<double>::quiet_NaN());
    return true;
  }
  bool boolean(bool value) override {
    if (in_data()) {
      inputs.back().data.add(std::int64_t{value});
    } else {
      take_flag(value);
    }
    return true;
  }
  bool number_integer(number_integer_t value) override { return integer(value); }
  bool number_unsigned(number_unsigned_t value) override { return integer(value); }
  bool number_float(number_float_t value, const string_t&) override {
    if (in_data()) inputs.back().data.add(value);
    if (at_ == "/inputs[/shape[") refuse("The shape of a tensor has integers only.");
    return true;
  }
  bool string(string_t& value) override {
    if (in_data())
      refuse("The data of the tensor '" + inputs.back().name +
             "' has strings, but models here take numbers only.");
    if (at_ == "/id") body.request.id = value;
    if (at_ == "/parameters/sequence_id") body.request.parameters.sequence_id = value;
    if (at_ == "/inputs[/name") inputs.back().name = value;
    if (at_ == "/inputs[/datatype") inputs.back().datatype = value;
    if (at_ == "/outputs[/name") body.request.outputs.back() = value;
    return true;
  }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    if (in_data()) refuse("The data of a tensor is an array of numbers, but it has an object.");
    if (at_ == "/inputs[") inputs.emplace_back();
    if (at_ == "/outputs[") {
      body.request.outputs.emplace_back();
      output_is_binary_.reset();
    }
    open();
    return true;
  }
  bool key(string_t& name) override {
    at_.resize(lengths_.back());
    (at_ += '/') += name.find_first_of("/[") == std::string::npos ? name : "?";
    if (at_ == "/inputs[/data") inputs.back().has_data = true;
    return true;
  }
  bool end_object() override {
    close();
    if (at_ == "/outputs[" && output_is_binary_)
      (*output_is_binary_ ? body.binary : body.plain).push_back(body.request.outputs.back());
    return true;
  }
  bool start_array(std::size_t) override {
    if (at_ == "/inputs[/shape") inputs.back().has_shape = true;
    if (!in_data()) at_ += '[';
    open();
    return true;
  }
  bool end_array() override {
    close();
    if (!at_.empty() && at_.back() == '[') at_.pop_back();
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    refuse("The body is no JSON: something is wrong at byte " + std::to_string(position) + ".");
  }

 private:
  bool in_data() const { return at_ == "/inputs[/data"; }

  void open() {
    if (lengths_.size() >= kDeepest)
      refuse("The JSON is nested deeper than " + std::to_string(kDeepest) + " levels.");
    lengths_.push_back(at_.size());
  }
  void close() {
    at_.resize(lengths_.back());
    lengths_.pop_back();
  }

  template <class Integer>
  bool integer(Integer value) {
    const auto number = static_cast<std::int64_t>(value);
    if (in_data()) {
      inputs.back().data.add(value);
    } else if (at_ == "/inputs[/shape[") {
      inputs.back().shape.push_back(number);
    } else if (at_ == "/inputs[/parameters/binary_data_size") {
      inputs.back().binary_size = number;
    } else if (at_ == "/parameters/sequence_id") {
      body.request.parameters.sequence_id = std::to_string(value);
    } else if (at_ == "/parameters/timeout") {
      body.request.parameters.timeout =
          std::chrono::microseconds(std::clamp<std::int64_t>(number, 0, std::int64_t{1} << 50));
    }
    return true;
  }
  void take_flag(bool value) {
    if (at_ == "/parameters/sequence_start") body.request.parameters.sequence_start = value;
    if (at_ == "/parameters/sequence_end") body.request.parameters.sequence_end = value;
    if (at_ == "/parameters/binary_data_output") body.binary_by_default = value;
    if (at_ == "/outputs[/parameters/binary_data") output_is_binary_ = value;
  }

  // Where the reader is: keys behind '/', and '[' for an array, but none for those within data. Its length at
  // each container that is open.
  std::string at_;
  std::vector<std::size_t> lengths_;
  std::optional<bool> output_is_binary_;
};

std::shared_ptr<const InferHead> read_head(std::string_view json) {
  auto reader = std::make_shared<InferReader>();
  Json::sax_parse(json.begin(), json.end(), reader.get());
  if (reader->inputs.empty()) refuse("The body has no inputs.");
  return reader;
}

// The last heads of requests whose tensors are bytes: a client sends the same head again and again, and
// reading it costs more than a small model. Belongs to one thread.
class RecentHeads {
 public:
  // Throws RequestError.
  std::shared_ptr<const InferHead> find(std::string_view json) {
    for (const Entry& entry : entries_) {
      if (entry.head != nullptr && entry.json == json) return entry.head;
    }
    std::shared_ptr<const InferHead> head = read_head(json);
    if (json.size() <= kLongest) {
      entries_[next_] = {std::string(json), head};
      next_ = (next_ + 1) % entries_.size();
    }
    return head;
  }

 private:
  static constexpr std::size_t kLongest = 4096, kEntries = 16;

  struct Entry {
    std::string json;
    std::shared_ptr<const InferHead> head;  // null: none yet
  };
  std::array<Entry, kEntries> entries_;
  std::size_t next_ = 0;
};

WireTensor tensor_of(const InferHead::Input& input, std::string_view binary, std::size_t& at,
                     const std::shared_ptr<const std::string>& body) {
  if (input.name.empty()) refuse("An input has no name.");
  if (!input.has_shape) refuse("The input '" + input.name + "' has no shape.");
  if (!input.binary_size) {
    if (!input.has_data)
      refuse("The input '" + input.name + "' has neither data nor the parameter binary_data_size.");
    auto bytes =
        std::make_shared<const std::string>(input.data.to_bytes(input.name, input.datatype, input.shape));
    return {input.name, input.datatype, input.shape, *bytes, bytes};
  }
  if (input.has_data) refuse("The input '" + input.name + "' has both data and binary_data_size.");
  if (*input.binary_size < 0 || static_cast<std::size_t>(*input.binary_size) > binary.size() - at) {
    refuse("The input '" + input.name + "' has a binary_data_size of " + std::to_string(*input.binary_size) +
           ", but " + std::to_string(binary.size() - at) + " bytes are left behind the JSON.");
  }
  const auto bytes = static_cast<std::size_t>(*input.binary_size);
  at += bytes;
  WireTensor tensor{input.name, input.datatype, input.shape, binary.substr(at - bytes, bytes), body};
  check_tensor(tensor);
  return tensor;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

std::string json_string(std::string_view text) {
  const auto is_plain = [](char c) { return c >= ' ' && c < 0x7F && c != '"' && c != '\\'; };
  if (!std::ranges::all_of(text, is_plain))
    return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string quoted;
  quoted.reserve(text.size() + 2);
  return ((quoted += '"') += text) += '"';
}

InferBody parse_infer_body(const std::shared_ptr<const std::string>& body, std::size_t json_bytes) {
  const std::string_view json = std::string_view(*body).substr(0, json_bytes);
  const std::string_view binary = std::string_view(*body).substr(json_bytes);
  static thread_local RecentHeads recent;
  const std::shared_ptr<const InferHead> head = binary.empty() ? read_head(json) : recent.find(json);
  InferBody read = head->body;
  std::size_t at = 0;
  for (const InferHead::Input& input : head->inputs)
    read.request.inputs.push_back(tensor_of(input, binary, at, body));
  if (at != binary.size()) {
    refuse("Behind the JSON are " + std::to_string(binary.size() - at) +
           " bytes that belong to no input. Give them by binary_data_size.");
  }
  return read;
}

std::string write_infer_body(const InferResponse& response, const InferBody& request,
                             std::size_t& json_bytes) {
  std::string json;
  json.reserve(500);
  ((json += "{\"model_name\":") += json_string(response.model)) += ",\"model_version\":";
  json += json_string(response.version);
  if (!response.id.empty()) json += ",\"id\":" + json_string(response.id);
  json += ",\"outputs\":[";
  std::vector<std::string_view> behind;
  std::size_t bytes = 0;
  for (const WireTensor& output : response.outputs) {
    if (&output != response.outputs.data()) json += ',';
    json += "{\"name\":" + json_string(output.name) + ",\"datatype\":\"";
    (json += output.datatype) += "\",\"shape\":[";
    for (std::size_t d = 0; d < output.shape.size(); ++d)
      (json += d == 0 ? "" : ",") += std::to_string(output.shape[d]);
    json += ']';
    if (request.binary_by_default ? !contains(request.plain, output.name)
                                  : contains(request.binary, output.name)) {
      json += ",\"parameters\":{\"binary_data_size\":" + std::to_string(output.bytes.size()) + '}';
      behind.push_back(output.bytes);
      bytes += output.bytes.size();
    } else {
      json += ",\"data\":";
      append_numbers(json, output);
    }
    json += '}';
  }
  json += "]}";
  json_bytes = behind.empty() ? 0 : json.size();
  json.reserve(json.size() + bytes);
  for (const std::string_view tensor : behind) json += tensor;
  return json;
}

}  // namespace sr::serve

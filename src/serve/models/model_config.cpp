#include "model_config.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>

#include <sr/error.hpp>

namespace sr::serve {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

// Reads the members of a JSON object. finish() throws if the object has a key that was not read.
class Members {
 public:
  // `where` names the object in messages.
  Members(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) fail("is no JSON object");
  }

  template <class Value>
  void read(const char* key, Value& into) {
    if (const Json* const found = find(key)) into = convert<Value>(key, *found);
  }
  // A number that is not negative.
  void read_size(const char* key, std::size_t& into) {
    auto value = static_cast<std::int64_t>(into);
    read(key, value);
    if (value < 0) fail(std::string("has a negative ") + key);
    into = static_cast<std::size_t>(value);
  }
  template <class Duration>
  void read_seconds(const char* key, Duration& into) {
    double seconds = std::chrono::duration<double>(into).count();
    read(key, seconds);
    if (!(seconds >= 0 && seconds <= 1e9)) fail(std::string("has a ") + key + " that is no time in seconds");
    into = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  }
  const Json* find(const char* key) {
    known_.push_back(key);
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }
  void finish() const {
    for (const auto& [key, value] : object_.items()) {
      if (std::ranges::find(known_, key) == known_.end()) fail("has the unknown key '" + key + "'");
    }
  }
  [[noreturn]] void fail(const std::string& what) const { throw ArgumentError(where_ + " " + what + "."); }
  const std::string& where() const { return where_; }

 private:
  template <class Value>
  Value convert(const char* key, const Json& value) const {
    try {
      return value.get<Value>();
    } catch (const Json::exception&) {
      fail("has a '" + std::string(key) + "' of the wrong type: " + value.dump());
    }
  }

  const Json& object_;
  std::string where_;
  std::vector<std::string> known_;
};

Padding parse_padding(const Json& json, const std::string& where) {
  Members members(json, where);
  Padding padding;
  members.read_size("argument", padding.argument);
  members.read("dim", padding.dim);
  double value = 0;
  members.read("value", value);
  padding.value = value;
  members.finish();
  return padding;
}

void parse_batching(const Json& json, const std::string& where, ModelConfig& config) {
  if (json.is_boolean()) {
    config.batches = json.get<bool>();
    return;
  }
  config.batches = true;
  Members members(json, where);
  BatcherOptions& options = config.batching;
  members.read("dim", options.dim);
  members.read("shared", options.shared);
  members.read("state_dims", options.state_dims);
  members.read("max_rows", options.max_rows);
  members.read_seconds("max_wait", options.max_wait);
  members.read_size("max_waiting", options.max_waiting);
  members.read_size("max_running", options.max_running);
  members.read("intra_op_threads", options.intra_op_threads);
  members.read("padded_result_dim", options.padded_result_dim);
  members.read("equal_rows", options.equal_rows);
  if (const Json* const padding = members.find("padding")) {
    if (!padding->is_array()) members.fail("has a 'padding' that is no list");
    for (const Json& each : *padding) options.padding.push_back(parse_padding(each, where + ": padding"));
  }
  members.finish();
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw ArgumentError("The configuration " + path.string() + " cannot be read.");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

ModelConfig parse_config(const std::string& text, const std::string& name, const std::string& folder) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw ArgumentError("The configuration of the model '" + name + "' is no JSON: " + error.what());
  }
  Members members(json, "The configuration of the model '" + name + "'");
  ModelConfig config;
  config.name = name;
  config.text = text;
  members.read("name", config.name);
  members.read("version", config.version);
  members.read("file", config.file);
  members.read("map_weights", config.map_weights);
  members.read("warmup", config.warmup);
  if (const Json* const batching = members.find("batching"))
    parse_batching(*batching, members.where() + ": batching", config);
  if (const Json* const sessions = members.find("sessions")) {
    Members of_sessions(*sessions, members.where() + ": sessions");
    of_sessions.read_size("max", config.max_sessions);
    of_sessions.read_seconds("idle", config.session_idle);
    of_sessions.finish();
  }
  members.finish();
  if (config.file.empty()) members.fail("names no 'file'");
  if (config.name.empty() || config.version.empty()) members.fail("has an empty name or version");
  config.file = (fs::path(folder) / config.file).string();
  return config;
}

std::vector<ModelConfig> read_folder(const std::string& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  if (error) throw ArgumentError("The folder " + folder + " cannot be read: " + error.message() + ".");
  if (paths.empty()) throw ArgumentError("The folder " + folder + " has no configuration *.json of a model.");
  std::ranges::sort(paths);
  std::vector<ModelConfig> configs;
  configs.reserve(paths.size());
  for (const fs::path& path : paths)
    configs.push_back(parse_config(text_of(path), path.stem().string(), folder));
  return configs;
}

ModelConfig config_of(const std::string& model) {
  const std::size_t equals = model.find('=');
  ModelConfig config;
  config.file = equals == std::string::npos ? model : model.substr(equals + 1);
  config.name = equals == std::string::npos ? fs::path(config.file).stem().string() : model.substr(0, equals);
  if (config.name.empty() || config.file.empty()) {
    throw ArgumentError("A model is given as FILE or NAME=FILE, but '" + model + "' has no " +
                        (config.file.empty() ? "file." : "name."));
  }
  return config;
}

}  // namespace sr::serve

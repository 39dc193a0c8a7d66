#include "model_store.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iterator>
#include <sys/stat.h>
#include <utility>

#include <sr/error.hpp>

namespace sr::serve {
namespace {

// Differs when the file is written or another one is renamed to its name.
std::string stamp_of(const ModelConfig& config) {
  struct stat file {};
  if (stat(config.file.c_str(), &file) != 0) return config.text + "\nno file";
  std::string stamp = config.text;
  for (const auto part :
       {static_cast<std::int64_t>(file.st_ino), static_cast<std::int64_t>(file.st_size),
        static_cast<std::int64_t>(file.st_mtim.tv_sec), static_cast<std::int64_t>(file.st_mtim.tv_nsec)})
    stamp += '\n' + std::to_string(part);
  return stamp;
}

}  // namespace

std::pair<std::size_t, std::string> ModelStore::VersionOrder::key(const std::string& version) {
  const bool is_number = version[0] != '0' && std::ranges::all_of(version, [](unsigned char digit) {
                           return std::isdigit(digit) != 0;
                         });
  return {is_number ? version.size() : 0, version};  // of numbers of equal length the text decides
}

ModelStore::ModelStore(std::function<std::vector<ModelConfig>()> configs, boost::asio::thread_pool& workers,
                       StoreEvents events)
    : configs_(std::move(configs)), workers_(workers), events_(std::move(events)) {}

std::map<std::pair<std::string, std::string>, ModelConfig> ModelStore::read_configs() const {
  std::map<std::pair<std::string, std::string>, ModelConfig> by_name;
  for (ModelConfig& config : configs_()) {
    const std::pair key{config.name, config.version};
    if (!by_name.emplace(key, std::move(config)).second) {
      throw ArgumentError("Two models are called '" + key.first + "' and have the version '" + key.second +
                          "'. Give one of them another name or version.");
    }
  }
  return by_name;
}

void ModelStore::load() {
  auto models = std::make_shared<Models>();
  for (const auto& [key, config] : read_configs()) {
    Entry entry{stamp_of(config), std::make_shared<ServedModel>(config, workers_)};
    events_("loaded", config, "The model answers requests.");
    (*models)[key.first][key.second] = std::move(entry);
  }
  set(std::move(models));
}

void ModelStore::reload(bool again) {
  const auto configs = read_configs();
  const std::shared_ptr<const Models> before = models();
  auto after = std::make_shared<Models>();
  for (const auto& [key, config] : configs) {
    const std::string stamp = stamp_of(config);
    const auto name = before->find(key.first);
    const Entry* known = nullptr;
    if (name != before->end() && name->second.count(key.second) != 0) known = &name->second.at(key.second);
    Entry& entry = (*after)[key.first][key.second];
    if (known != nullptr) entry = *known;
    if (entry.stamp == stamp || (refused_[key] == stamp && !again)) continue;
    // A file that is being written changes again until the next look.
    if (!again && std::exchange(seen_[key], stamp) != stamp) continue;
    try {
      entry = {stamp, std::make_shared<ServedModel>(config, workers_)};
      events_("loaded", config, "The model answers requests.");
    } catch (const std::exception&) {
      refused_[key] = stamp;
      events_("refused", config, failure_of(std::current_exception()).message);
    }
  }
  keep_until_replaced(*before, *after);
  set(after);
  for (const auto& [name, versions] : *before) {
    for (const auto& [version, entry] : versions) {
      const auto now = after->find(name);
      if (now == after->end() || now->second.count(version) == 0)
        events_("dropped", entry.model->config(), "The model has no configuration any more.");
    }
  }
}

// Keeps the previous versions of a model in service while a configured version is not loaded yet, even if
// their configuration is gone.
void ModelStore::keep_until_replaced(const Models& before, Models& after) {
  for (auto& [name, versions] : after) {
    const auto missing =
        std::erase_if(versions, [](const auto& each) { return each.second.model == nullptr; });
    if (const auto known = before.find(name); missing != 0 && known != before.end())
      versions.insert(known->second.begin(), known->second.end());
  }
  std::erase_if(after, [](const auto& name) { return name.second.empty(); });
}

std::shared_ptr<const ModelStore::Models> ModelStore::models() const {
  const std::lock_guard lock(mutex_);
  return models_;
}
void ModelStore::set(std::shared_ptr<const Models> models) {
  const std::lock_guard lock(mutex_);
  models_.swap(models);
}

std::shared_ptr<ServedModel> ModelStore::find(const std::string& name, const std::string& version) const {
  const std::shared_ptr<const Models> models = this->models();
  const auto versions = models->find(name);
  if (versions == models->end()) {
    std::string all;
    for (const auto& [known, of_known] : *models) all += (all.empty() ? "" : ", ") + known;
    throw RequestError(Status::not_found, "There is no model '" + name + "'. Models: " + all + ".");
  }
  if (version.empty()) return std::prev(versions->second.end())->second.model;
  const auto found = versions->second.find(version);
  if (found == versions->second.end())
    throw RequestError(Status::not_found, "The model '" + name + "' has no version '" + version + "'.");
  return found->second.model;
}

std::vector<std::shared_ptr<ServedModel>> ModelStore::all() const {
  std::vector<std::shared_ptr<ServedModel>> all;
  const std::shared_ptr<const Models> models = this->models();
  for (const auto& [name, versions] : *models) {
    for (const auto& [version, entry] : versions) all.push_back(entry.model);
  }
  return all;
}

std::vector<std::string> ModelStore::versions(const std::string& name) const {
  std::vector<std::string> versions;
  const std::shared_ptr<const Models> models = this->models();
  if (const auto found = models->find(name); found != models->end()) {
    for (const auto& [version, entry] : found->second) versions.push_back(version);
  }
  return versions;
}

}  // namespace sr::serve

// All models of the server, by name and version, and how they change while it runs.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "model_config.hpp"
#include "served_model.hpp"

namespace sr::serve {

// Told of a model that was loaded, dropped or could not be loaded: what happened, and a sentence.
using StoreEvents =
    std::function<void(const char* event, const ModelConfig& model, const std::string& sentence)>;

// find() and all() may be used from any number of threads, also while reload() runs; others from one.
class ModelStore {
 public:
  // `configs` reads the configurations, each time anew. `workers` must outlive the store and its models.
  ModelStore(std::function<std::vector<ModelConfig>()> configs, boost::asio::thread_pool& workers,
             StoreEvents events);

  // Loads all models. Throws ArgumentError if two have the same name and version, and what loading throws.
  void load();
  // Loads each model whose configuration or file has changed while the old one still answers requests. Then
  // sends requests to the new one. Drops models that have no configuration any more. A model that cannot be
  // loaded stays as it was; it is tried again when it has changed again, or if `again`.
  void reload(bool again);

  // Throws RequestError if there is no such model or version. An empty version stands for the highest one.
  std::shared_ptr<ServedModel> find(const std::string& name, const std::string& version) const;
  std::vector<std::shared_ptr<ServedModel>> all() const;
  std::vector<std::string> versions(const std::string& name) const;

 private:
  struct Entry {
    std::string stamp;  // of the configuration and the file that it was loaded from
    std::shared_ptr<ServedModel> model;
  };
  // Numbers in their order, behind all other names.
  struct VersionOrder {
    bool operator()(const std::string& a, const std::string& b) const { return key(a) < key(b); }
    static std::pair<std::size_t, std::string> key(const std::string& version);
  };
  using Versions = std::map<std::string, Entry, VersionOrder>;
  using Models = std::map<std::string, Versions>;

  static void keep_until_replaced(const Models& before, Models& after);
  std::shared_ptr<const Models> models() const;
  void set(std::shared_ptr<const Models> models);
  std::map<std::pair<std::string, std::string>, ModelConfig> read_configs() const;

  std::function<std::vector<ModelConfig>()> configs_;
  boost::asio::thread_pool& workers_;
  StoreEvents events_;
  std::map<std::pair<std::string, std::string>, std::string> refused_, seen_;  // stamps
  mutable std::mutex mutex_;
  std::shared_ptr<const Models> models_ = std::make_shared<const Models>();
};

}  // namespace sr::serve

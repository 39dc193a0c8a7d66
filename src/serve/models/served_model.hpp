// One version of a model that answers requests.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sr/base/call_metrics.hpp>
#include <sr/batcher.hpp>
#include <sr/static_module.hpp>

#include "../protocol/message.hpp"
#include "model_config.hpp"
#include "sessions.hpp"
#include "values.hpp"

namespace sr::serve {

// How many requests ended how, and how long those took that were answered.
struct RequestCounts {
  std::array<std::uint64_t, 10> by_status{};  // by Status
  Latencies latencies;                        // from the parsed request to the result
};

// May be used from any number of threads. A request keeps it alive.
class ServedModel : public std::enable_shared_from_this<ServedModel> {
 public:
  // Loads the file and warms the model up. `workers`, on which slow models run, must outlive the object.
  // Throws ArgumentError for a configuration that does not fit the model, and what sr::load throws.
  ServedModel(ModelConfig config, boost::asio::thread_pool& workers);

  // Calls `done` with the answer or the failure. A model that takes at most some 100 us is called before the
  // function returns. Slower models run on worker threads, which then call `done`. The caller may set `stop`,
  // `deadline` and `trace` in the options, and nothing else. The trace must live until `done` is called.
  void infer(InferRequest request, CallOptions options, InferDone done);

  const ModelConfig& config() const { return config_; }
  ModelMetadata metadata() const;
  const StaticModule& module() const { return module_; }
  RequestCounts counts() const;
  std::optional<BatcherReport> batches() const;
  // Counts requests that end before they reach infer().
  void count(Status status) { ++by_status_[static_cast<std::size_t>(status)]; }
  std::optional<std::size_t> sessions() const;
  void drop_idle_sessions();

 private:
  using Clock = std::chrono::steady_clock;
  struct Call;

  void warm_up();
  std::vector<c10::IValue> example(const std::vector<std::string>& specs) const;
  std::vector<std::vector<c10::IValue>> examples() const;
  c10::IValue run(Call& call) const;
  void submit(const std::shared_ptr<Call>& call);
  void finish(Call& call, const c10::IValue& result);
  void fail(Call& call);
  void note_seconds(double seconds);

  ModelConfig config_;
  boost::asio::thread_pool& workers_;
  StaticModule module_;
  ModelValues values_;
  std::optional<Batcher> batcher_;
  std::optional<Sessions> sessions_;
  std::atomic<std::size_t> waiting_{0};  // requests that were accepted and have no answer yet
  std::atomic<float> seconds_{1};        // that a call takes, of the last ones
  std::array<std::atomic<std::uint64_t>, 10> by_status_{};
  std::array<std::atomic<std::uint64_t>, Latencies::kBuckets> latencies_{};
  std::atomic<std::uint64_t> nanoseconds_{0};
};

}  // namespace sr::serve

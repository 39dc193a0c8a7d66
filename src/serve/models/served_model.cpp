#include "served_model.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include <sr/error.hpp>
#include <sr/exported.hpp>
#include <sr/load.hpp>

#include "../../tool/inputs/inputs.hpp"

namespace sr::serve {
namespace {

// Handing a request to another thread costs some 10 us. A call that takes less than this runs where it is.
constexpr double kQuick = 200e-6;

// Requests run side by side, so that none may take several threads. Each thread has its own setting.
void use_one_intra_op_thread() {
  static thread_local const bool is_set = [] {
    at::set_num_threads(1);
    return true;
  }();
  static_cast<void>(is_set);
}

StaticModule load_as(const ModelConfig& config) {
  StaticModuleOptions options;
  if (config.map_weights) options.weights.memory = WeightMemory::mapped;
  return load(config.file, options);
}

}  // namespace

// Everything that one request needs until it is answered.
struct ServedModel::Call {
  std::shared_ptr<ServedModel> model;
  InferRequest request;
  CallOptions options;
  InferDone done;
  std::vector<c10::IValue> args;
  std::optional<Session> session;
  Clock::time_point begin = Clock::now();
  CallTrace trace;  // of a batch, where the options have none
};

ServedModel::ServedModel(ModelConfig config, boost::asio::thread_pool& workers)
    : config_(std::move(config)), workers_(workers), module_(load_as(config_)), values_(module_) {
  if (config_.batches) batcher_.emplace(module_, config_.batching);
  if (module_.session_state() != nullptr)
    sessions_.emplace(module_, config_.max_sessions, config_.session_idle);
  warm_up();
}

std::vector<c10::IValue> ServedModel::example(const std::vector<std::string>& specs) const {
  const auto& arguments = module_.schema().arguments();
  if (specs.size() > arguments.size()) {
    throw ArgumentError("A warm-up of the model '" + config_.name + "' has " + std::to_string(specs.size()) +
                        " arguments, but the model takes " + std::to_string(arguments.size()) + ".");
  }
  std::vector<c10::IValue> args;
  for (std::size_t i = 0; i < specs.size(); ++i)
    args.push_back(tool::conform(tool::random_argument(specs[i], {}), arguments[i].type()));
  return args;
}

// Those of the configuration, or else one row of zeros of a program whose signature has all dtypes and sizes.
std::vector<std::vector<c10::IValue>> ServedModel::examples() const {
  std::vector<std::vector<c10::IValue>> examples;
  for (const std::vector<std::string>& specs : config_.warmup) examples.push_back(example(specs));
  if (!examples.empty()) return examples;
  std::vector<c10::IValue> zeros;
  for (const ValueSpec& spec : module_.inputs()) {
    if (spec.default_value) break;
    if (!spec.dtype || !spec.sizes) return {};
    std::vector<std::int64_t> sizes;
    for (const SizeSpec& size : *spec.sizes) {
      const auto* const number = std::get_if<std::int64_t>(&size);
      sizes.push_back(number == nullptr ? 1 : *number);
    }
    zeros.emplace_back(at::zeros(sizes, *spec.dtype));
  }
  return {std::move(zeros)};
}

void ServedModel::warm_up() {
  use_one_intra_op_thread();
  const bool is_given = !config_.warmup.empty();
  for (const std::vector<c10::IValue>& args : examples()) {
    try {
      const std::optional<Session> session = sessions_ ? std::optional(module_.session()) : std::nullopt;
      const auto call = [&] { return session ? (*session)(args) : module_(args); };
      if (!session) module_.reserve(args, {}, /*runtimes=*/1);
      values_.learn_outputs(values_.results(call()));
      for (int i = 0; i < 2; ++i) call();
      const Clock::time_point begin = Clock::now();
      call();
      note_seconds(std::chrono::duration<double>(Clock::now() - begin).count());
    } catch (const std::exception&) {
      // A signature may leave open what its model then refuses, such as a row of zeros.
      if (is_given) throw;
    }
  }
}

ModelMetadata ServedModel::metadata() const {
  return {config_.name, config_.version, values_.inputs(), values_.outputs()};
}

void ServedModel::infer(InferRequest request, CallOptions options, InferDone done) {
  auto call = std::make_shared<Call>();
  call->model = shared_from_this();
  call->request = std::move(request);
  call->options = std::move(options);
  call->done = std::move(done);
  const Parameters& parameters = call->request.parameters;
  if (parameters.timeout.count() > 0)
    call->options.deadline = std::min(call->options.deadline, call->begin + parameters.timeout);
  const std::size_t waiting = ++waiting_;
  try {
    if (waiting > config_.batching.max_waiting) {
      throw RequestError(Status::busy, "The model '" + config_.name + "' has " +
                                           std::to_string(config_.batching.max_waiting) +
                                           " requests, which is as many as may wait. Try again later.");
    }
    call->args = values_.arguments(call->request.inputs);
    if (sessions_) call->session = sessions_->find(parameters);
    if (seconds_.load(std::memory_order_relaxed) < kQuick) {
      const Clock::time_point begin = Clock::now();
      const c10::IValue result = run(*call);
      note_seconds(std::chrono::duration<double>(Clock::now() - begin).count());
      finish(*call, result);
    } else {
      submit(call);
    }
  } catch (...) {
    fail(*call);
  }
}

c10::IValue ServedModel::run(Call& call) const {
  use_one_intra_op_thread();
  if (batcher_) {
    return call.session ? (*batcher_)(*call.session, std::move(call.args), {}, call.options)
                        : (*batcher_)(std::move(call.args), {}, call.options);
  }
  return call.session ? (*call.session)(std::move(call.args), {}, call.options)
                      : module_(std::move(call.args), {}, call.options);
}

void ServedModel::submit(const std::shared_ptr<Call>& call) {
  if (batcher_) {
    if (call->options.trace == nullptr) call->options.trace = &call->trace;
    const auto future = call->session
                            ? batcher_->submit(*call->session, std::move(call->args), {}, call->options)
                            : batcher_->submit(std::move(call->args), {}, call->options);
    future->addCallback([call](c10::ivalue::Future& done) {
      ServedModel& model = *call->model;
      try {
        if (done.hasError()) std::rethrow_exception(done.exception_ptr());
        const CallTrace& trace = *call->options.trace;
        model.note_seconds(std::chrono::duration<double>(trace.ended - trace.began).count());
        model.finish(*call, done.constValue());
      } catch (...) {
        model.fail(*call);
      }
    });
    return;
  }
  boost::asio::post(workers_, [call] {
    ServedModel& model = *call->model;
    try {
      call->options.check();
      const Clock::time_point begin = Clock::now();
      const c10::IValue result = model.run(*call);
      model.note_seconds(std::chrono::duration<double>(Clock::now() - begin).count());
      model.finish(*call, result);
    } catch (...) {
      model.fail(*call);
    }
  });
}

// Throws if the result cannot be sent; the request has not been answered then.
void ServedModel::finish(Call& call, const c10::IValue& result) {
  InferResponse response{config_.name, config_.version, std::move(call.request.id), values_.results(result)};
  response.outputs = ModelValues::chosen(std::move(response.outputs), call.request.outputs);
  if (sessions_) sessions_->release(call.request.parameters);
  const auto nanoseconds = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - call.begin).count());
  ++latencies_[Latencies::bucket_of(nanoseconds)];
  nanoseconds_ += nanoseconds;
  count(Status::ok);
  --waiting_;
  std::exchange(call.done, nullptr)(std::move(response));
}

void ServedModel::fail(Call& call) {
  if (call.done == nullptr) return;  // `done` itself threw
  Failure failure = failure_of(std::current_exception());
  if (sessions_ && call.session) sessions_->release(call.request.parameters);
  count(failure.status);
  --waiting_;
  std::exchange(call.done, nullptr)(std::move(failure));
}

// Weighs the last call with a quarter. Threads may lose each other's.
void ServedModel::note_seconds(double seconds) {
  const float before = seconds_.load(std::memory_order_relaxed);
  const auto now = static_cast<float>(seconds);
  seconds_.store(before >= 1 ? now : before + (now - before) / 4, std::memory_order_relaxed);
}

RequestCounts ServedModel::counts() const {
  RequestCounts counts;
  std::ranges::copy(by_status_, counts.by_status.begin());
  std::ranges::copy(latencies_, counts.latencies.counts.begin());
  counts.latencies.seconds = 1e-9 * static_cast<double>(nanoseconds_.load());
  return counts;
}

std::optional<BatcherReport> ServedModel::batches() const {
  return batcher_ ? std::optional(batcher_->report()) : std::nullopt;
}
std::optional<std::size_t> ServedModel::sessions() const {
  return sessions_ ? std::optional(sessions_->count()) : std::nullopt;
}
void ServedModel::drop_idle_sessions() {
  if (sessions_) sessions_->drop_idle();
}

}  // namespace sr::serve

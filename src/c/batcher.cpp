#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <c10/core/Scalar.h>

#include "handles.hpp"

using namespace sr::c;

namespace {

sr::BatcherOptions read_options(const sr_batcher_options* options) {
  const auto given = known_part<sr_batcher_options>(options);
  sr::BatcherOptions read;
  if (given.has_dim != 0) read.dim = given.dim;
  if (given.max_rows != 0) read.max_rows = given.max_rows;
  read.max_wait =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::nanoseconds(given.max_wait_ns));
  if (given.max_waiting != 0) read.max_waiting = given.max_waiting;
  read.max_running = given.max_running;
  if (given.padding_count > 0) require(given.padding, "padding");
  for (size_t i = 0; i < given.padding_count; ++i)
    read.padding.push_back({given.padding[i].argument, given.padding[i].dim, given.padding[i].value});
  if (given.has_padded_result_dim != 0) read.padded_result_dim = given.padded_result_dim;
  if (given.shared_count > 0) require(given.shared, "shared");
  for (size_t i = 0; i < given.shared_count; ++i) read.shared.push_back(given.shared[i]);
  for (size_t i = 0; i < given.state_count; ++i) {
    require(given.state_names, "state_names");
    require(given.state_names[i], "state_names");
    require(given.state_dims, "state_dims");
    read.state_dims[given.state_names[i]] = given.state_dims[i];
  }
  read.equal_rows = given.equal_rows != 0;
  if (given.intra_op_threads != 0) read.intra_op_threads = given.intra_op_threads;
  return read;
}

// Calls `done` with the answer in the future.
void finish(c10::ivalue::Future& future, sr_done done, void* context) noexcept {
  sr_results* results = nullptr;
  const sr_status status = guarded([&] {
    if (future.hasError()) std::rethrow_exception(future.exception_ptr());
    results = new sr_results(future.constValue());
  });
  done(context, status, results);
}

}  // namespace

sr_status sr_batcher_new(const sr_module* module, const sr_batcher_options* options, sr_batcher** batcher) {
  return make_handle(batcher, "batcher", [&] {
    require(module, "module");
    return new sr_batcher{sr::Batcher(module->module, read_options(options)), module->module};
  });
}

sr_status sr_batcher_call(const sr_batcher* batcher, const sr_session* session, const sr_value* args,
                          size_t count, const sr_call_options* options, sr_results** results) {
  if (batcher == nullptr) return fail(SR_ARGUMENT, "The parameter `batcher` is null.");
  const auto callee = [&](auto&&... given) {
    return session == nullptr ? batcher->batcher(std::forward<decltype(given)>(given)...)
                              : batcher->batcher(session->session, std::forward<decltype(given)>(given)...);
  };
  return call(callee, batcher->module.schema(), args, count, options, results);
}

sr_status sr_batcher_submit(const sr_batcher* batcher, const sr_session* session, const sr_value* args,
                            size_t count, const sr_call_options* options, sr_done done, void* context) {
  return guarded([&] {
    require(batcher, "batcher");
    if (done == nullptr) throw sr::ArgumentError("The parameter `done` is null.", "done");
    const auto given = known_part<sr_call_options>(options);
    Arguments read = read_arguments(batcher->module.schema(), args, count, given);
    const sr::CallOptions chosen = sr::c::read_options(given);
    const auto future =
        session == nullptr
            ? batcher->batcher.submit(std::move(read.values), read.named, chosen)
            : batcher->batcher.submit(session->session, std::move(read.values), read.named, chosen);
    future->addCallback([done, context](c10::ivalue::Future& complete) { finish(complete, done, context); });
  });
}

sr_status sr_batcher_report(const sr_batcher* batcher, char** json) {
  return write_report(
      batcher, "batcher", [](const sr_batcher& of) -> const auto& { return of.batcher; }, json);
}

void sr_batcher_free(sr_batcher* batcher) {
  delete batcher;
}

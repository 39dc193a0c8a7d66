#include <chrono>

#include "handles.hpp"

using namespace sr::c;

sr_status sr_pool_new(const sr_module* module, size_t max_runtimes, int64_t timeout_ns,
                      int32_t intra_op_threads, sr_pool** pool) {
  return make_handle(pool, "pool", [&] {
    require(module, "module");
    sr::RuntimePoolOptions options;
    options.max_runtimes = max_runtimes;
    if (timeout_ns >= 0) options.timeout = std::chrono::nanoseconds(timeout_ns);
    options.intra_op_threads = intra_op_threads;
    return new sr_pool{sr::RuntimePool<>(module->module, options), module->module};
  });
}

sr_status sr_pool_call(const sr_pool* pool, const sr_value* args, size_t count,
                       const sr_call_options* options, sr_results** results) {
  if (pool == nullptr) return fail(SR_ARGUMENT, "The parameter `pool` is null.");
  return call(pool->runtimes, pool->module.schema(), args, count, options, results);
}

sr_status sr_pool_call_into(const sr_pool* pool, const sr_value* args, size_t count, const sr_tensor* outputs,
                            size_t output_count) {
  if (pool == nullptr) return fail(SR_ARGUMENT, "The parameter `pool` is null.");
  return call_into(pool->runtimes, pool->module.schema(), args, count, outputs, output_count);
}

sr_status sr_pool_report(const sr_pool* pool, char** json) {
  return write_report(
      pool, "pool", [](const sr_pool& of) -> const auto& { return of.runtimes; }, json);
}

void sr_pool_free(sr_pool* pool) {
  delete pool;
}

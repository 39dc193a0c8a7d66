#include <cstdlib>
#include <cstring>
#include <istream>
#include <new>
#include <streambuf>

#include <ATen/Parallel.h>

#include <sr/load.hpp>
#include <sr/static_runtime.hpp>
#include <sr/version.hpp>

#include "handles.hpp"

namespace sr::c {
namespace {

// The bytes must outlive it.
class BytesBuffer final : public std::streambuf {
 public:
  BytesBuffer(const void* bytes, std::size_t size) {
    auto* const begin = static_cast<char*>(const_cast<void*>(bytes));
    setg(begin, begin, begin + size);
  }
};

StaticModuleOptions read_options(const sr_module_options* options) {
  const auto given = known_part<sr_module_options>(options);
  StaticModuleOptions read;
  if (given.exact != 0) read.numerics = Numerics::exact;
  read.strict = given.strict != 0;
  if (given.map_weights != 0) read.weights.memory = WeightMemory::mapped;
  read.weights.updatable = given.updatable_weights != 0;
  read.memory.manage_outputs = given.manage_output_tensors != 0;
  return read;
}

}  // namespace

std::vector<at::Tensor> lasting_tensors(const sr_tensor* outputs, std::size_t count) {
  if (count > 0) require(outputs, "outputs");
  std::vector<at::Tensor> tensors;
  tensors.reserve(count);
  for (std::size_t i = 0; i < count; ++i) tensors.push_back(tensor_of(outputs[i], "outputs"));
  return tensors;
}

char* copy_of(const std::string& text) {
  auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

}  // namespace sr::c

using namespace sr::c;

int32_t sr_abi_version(void) {
  return SR_ABI_VERSION;
}
const char* sr_version(void) {
  return SR_VERSION;
}
sr_status sr_set_intra_op_threads(int32_t threads) {
  return guarded([&] {
    if (threads < 1) {
      throw sr::ArgumentError("The number of threads is " + std::to_string(threads) + ", but is at least 1.",
                              "threads");
    }
    at::set_num_threads(threads);
  });
}
void sr_text_free(char* text) {
  std::free(text);
}

sr_status sr_module_load(const char* path, const sr_module_options* options, sr_module** module) {
  return make_handle(module, "module", [&] {
    require(path, "path");
    return new sr_module(sr::load(path, read_options(options)));
  });
}

sr_status sr_module_load_bytes(const void* bytes, size_t size, const sr_module_options* options,
                               sr_module** module) {
  return make_handle(module, "module", [&] {
    require(static_cast<const char*>(bytes), "bytes");
    BytesBuffer buffer(bytes, size);
    std::istream stream(&buffer);
    return new sr_module(sr::load(stream, read_options(options)));
  });
}

void sr_module_free(sr_module* module) {
  delete module;
}

sr_status sr_module_call(const sr_module* module, const sr_value* args, size_t count,
                         const sr_call_options* options, sr_results** results) {
  if (module == nullptr) return fail(SR_ARGUMENT, "The parameter `module` is null.");
  return call(module->module.own_runtimes(), module->module.schema(), args, count, options, results);
}

sr_status sr_module_call_into(const sr_module* module, const sr_value* args, size_t count,
                              const sr_tensor* outputs, size_t output_count) {
  if (module == nullptr) return fail(SR_ARGUMENT, "The parameter `module` is null.");
  return call_into(module->module, module->module.schema(), args, count, outputs, output_count);
}

sr_status sr_module_reserve(const sr_module* module, const sr_value* args, size_t count, size_t runtimes) {
  return guarded([&] {
    require(module, "module");
    const Arguments read = read_arguments(module->module.schema(), args, count, {});
    module->module.reserve(read.values, read.named, runtimes);
  });
}

sr_status sr_module_method(const sr_module* module, const char* name, sr_module** method) {
  return make_handle(method, "method", [&] {
    require(module, "module");
    require(name, "name");
    return new sr_module(module->module.method(name));
  });
}

sr_status sr_module_trim(const sr_module* module) {
  return guarded([&] {
    require(module, "module");
    module->module.trim();
  });
}

sr_status sr_module_update(const sr_module* module, const char* const* names, const sr_tensor* tensors,
                           size_t count, int32_t strict) {
  return guarded([&] {
    require(module, "module");
    sr::StateDict state;
    for (size_t i = 0; i < count; ++i) {
      require(names, "names");
      require(names[i], "names");
      require(tensors, "tensors");
      state[names[i]] = tensor_of(tensors[i], names[i]);
    }
    module->module.update(state, strict != 0);
  });
}

sr_status sr_module_report(const sr_module* module, char** json) {
  return write_report(
      module, "module", [](const sr_module& of) -> const auto& { return of.module; }, json);
}

sr_status sr_module_bind(const sr_module* module, const sr_value* args, size_t count,
                         const sr_tensor* outputs, size_t output_count, sr_bound** bound) {
  return make_handle(bound, "bound", [&] {
    require(module, "module");
    Arguments read = read_arguments(module->module.schema(), args, count, {});
    const sr::StaticRuntime<> runtime(module->module);
    return new sr_bound{runtime.bind(std::move(read.values), lasting_tensors(outputs, output_count))};
  });
}

sr_status sr_bound_call(sr_bound* bound) {
  if (bound == nullptr) return fail(SR_ARGUMENT, "The parameter `bound` is null.");
  return guarded([&] { bound->call(); });
}
void sr_bound_free(sr_bound* bound) {
  delete bound;
}

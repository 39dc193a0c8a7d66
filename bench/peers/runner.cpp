// Times AOTInductor, LibTorch's interpreter and sr on one model, as a C++ program would call them. A file
// holds the arguments of one call, or of several calls that are made in turn. Prints one line for each
// runtime: its name, and nanoseconds a call or the reason why there are none.
#include <algorithm>
#include <cstdint>
#include <dlfcn.h>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/csrc/inductor/aoti_runtime/interface.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <sr/sr.hpp>

#include "../rounds.hpp"
#include "inputs/inputs.hpp"

namespace sr::bench {
namespace {

using Calls = std::vector<tool::ArgumentList>;

// A runtime that is ready to be timed.
struct Timed {
  Many many;                                    // makes all calls in turn, so many times
  std::function<at::Tensor(std::size_t)> once;  // makes call i, and returns its result
};

// run(i) makes call i of `calls`; result() returns what the last call has returned or written.
template <class Run>
Timed timed(std::size_t calls, Run run, std::function<at::Tensor()> result) {
  const auto once = [run, result](std::size_t i) mutable {
    run(i);
    return result();
  };
  return {[calls, run = std::move(run)](std::int64_t times) mutable {
            for (std::int64_t turn = 0; turn < times; ++turn) {
              for (std::size_t i = 0; i < calls; ++i) run(i);
            }
          },
          once};
}

struct Rival {
  std::string name;
  std::string failure;  // if empty, `many` can be called
  Many many;
};

Rival prepare(std::string name, const std::vector<at::Tensor>& expected, const std::function<Timed()>& make) {
  Rival rival{std::move(name), {}, {}};
  try {
    const Timed call = make();
    // TorchScript's interpreter optimises a graph again in its second call.
    for (int turn = 0; turn < 4; ++turn) {
      for (std::size_t i = 0; i < expected.size(); ++i) {
        if (!at::allclose(call.once(i), expected[i], /*rtol=*/1e-3, /*atol=*/1e-4))
          throw std::runtime_error("its output differs from eager's");
      }
    }
    rival.many = call.many;
  } catch (const std::exception& error) {
    rival.failure = error.what();
    rival.failure.resize(std::min(rival.failure.find('\n'), rival.failure.size()));
  }
  return rival;
}

// For runtimes whose call(i) returns a new tensor. The last one is kept until the next call.
template <class Call>
Timed timed_with_results(std::size_t calls, Call call) {
  const auto last = std::make_shared<at::Tensor>();
  return timed(
      calls, [call = std::move(call), last](std::size_t i) mutable { *last = call(i); },
      [last] { return *last; });
}

Timed interpreter(const std::string& model, const Calls& calls) {
  torch::jit::Module frozen = torch::jit::load(model);
  frozen.eval();
  return timed_with_results(
      calls.size(), [module = torch::jit::optimize_for_inference(frozen), calls](std::size_t i) mutable {
        return module.forward(calls[i]).toTensor();
      });
}

Timed package(const std::string& path, const Calls& calls) {
  std::vector<std::vector<at::Tensor>> tensors(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    for (const c10::IValue& input : calls[i]) tensors[i].push_back(input.toTensor());
  }
  // Without the locks for several callers: every rival has one caller.
  const auto loader =
      std::make_shared<torch::inductor::AOTIModelPackageLoader>(path, "model", /*run_single_threaded=*/true);
  return timed_with_results(
      calls.size(), [loader, tensors](std::size_t i) { return std::move(loader->run(tensors[i])[0]); });
}

Timed fresh(const std::string& model, const Calls& calls) {
  const auto runtime = std::make_shared<StaticRuntime<>>(load(model));
  return timed_with_results(calls.size(),
                            [runtime, calls](std::size_t i) { return (*runtime)(calls[i], {}).toTensor(); });
}

// The one call of the file. The runtimes below write into the buffers of one call.
const tool::ArgumentList& only(const Calls& calls) {
  if (calls.size() != 1) throw std::runtime_error("it takes one call");
  return calls[0];
}

Timed into(const std::string& model, const Calls& calls, const at::Tensor& like) {
  const tool::ArgumentList& inputs = only(calls);
  const auto runtime = std::make_shared<StaticRuntime<>>(load(model));
  runtime->reserve(inputs);
  const std::vector<at::Tensor> outputs{at::empty_like(like)};
  return timed(
      1, [runtime, inputs, outputs](std::size_t) { runtime->run_into(inputs, outputs); },
      [outputs] { return outputs[0]; });
}

Timed bound(const std::string& model, const Calls& calls) {
  const auto call = std::make_shared<BoundCall>(StaticRuntime<>(load(model)).bind(only(calls)));
  return timed(
      1, [call](std::size_t) { (*call)(); }, [call] { return call->outputs()[0]; });
}

// A library of a package, called by its interface of borrowed arrays. Results lie in memory of the model.
class Library {
 public:
  explicit Library(const std::string& path) : library_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    check(function<decltype(AOTInductorModelCreateV2)>("AOTInductorModelCreateV2")(&model_, nullptr, 0));
    run_ = function<decltype(AOTInductorModelRunMinimalArrayrefInterfaceV2)>(
        "AOTInductorModelRunMinimalArrayrefInterfaceV2");
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() = default;  // the library stays loaded, with its model

  void run(const std::vector<AOTInductorArrayRefTensor>& inputs, AOTInductorArrayRefTensor& output) const {
    check(run_(model_, static_cast<std::int32_t>(inputs.size()), inputs.data(), 1, &output));
  }

 private:
  template <class Function>
  Function* function(const char* name) const {
    void* const found = dlsym(library_, name);
    if (found == nullptr) throw std::runtime_error(std::string("the library has no ") + name);
    return reinterpret_cast<Function*>(found);
  }

  static void check(AOTIRuntimeError error) {
    if (error != 0) throw std::runtime_error("AOTInductor returned the error " + std::to_string(error));
  }

  void* library_;
  AOTInductorModelHandle model_ = nullptr;
  decltype(&AOTInductorModelRunMinimalArrayrefInterfaceV2) run_ = nullptr;
};

AOTInductorArrayRefTensor array_of(const at::Tensor& tensor) {
  AOTInductorArrayRefTensor array{};
  array.data = tensor.data_ptr();
  array.numel = tensor.numel();
  array.ndim = static_cast<std::int32_t>(tensor.dim());
  std::ranges::copy(tensor.sizes(), array.sizes);
  std::ranges::copy(tensor.strides(), array.strides);
  return array;
}

Timed arrays(const std::string& path, const Calls& calls, const at::Tensor& like) {
  const tool::ArgumentList& inputs = only(calls);
  std::vector<AOTInductorArrayRefTensor> values;
  for (const c10::IValue& input : inputs) values.push_back(array_of(input.toTensor()));
  const auto output = std::make_shared<AOTInductorArrayRefTensor>();
  return timed(
      1,
      [library = std::make_shared<Library>(path), inputs, values, output](std::size_t) {
        library->run(values, *output);
      },
      [output, like] {
        return at::from_blob(output->data, c10::IntArrayRef(output->sizes, output->ndim),
                             c10::IntArrayRef(output->strides, output->ndim), like.options());
      });
}

Timed make(const std::string& name, const std::string& file, const Calls& calls, const at::Tensor& like) {
  if (name == "interpreter") return interpreter(file, calls);
  if (name == "AOTInductor") return package(file, calls);
  if (name == "AOTInductor arrays") return arrays(file, calls, like);
  if (name == "sr") return fresh(file, calls);
  if (name == "sr into") return into(file, calls, like);
  if (name == "sr bound") return bound(file, calls);
  throw std::runtime_error("there is no runner of this name");
}

// Each call in the file is a list of the arguments, followed by eager's result.
void run(int rounds, double slice_ms, const std::string& file, const std::vector<std::string>& named) {
  Calls calls = tool::read_input_sets(file);
  std::vector<at::Tensor> expected;
  for (tool::ArgumentList& call : calls) {
    expected.push_back(call.back().toTensor());
    call.pop_back();
  }
  const c10::InferenceMode inference;
  std::vector<Rival> rivals;
  for (const std::string& one : named) {
    const std::size_t end = one.find('=');
    const std::string name = one.substr(0, end);
    rivals.push_back(
        prepare(name, expected, [&] { return make(name, one.substr(end + 1), calls, expected[0]); }));
  }
  std::vector<Many> many;
  for (const Rival& rival : rivals) {
    if (rival.many) many.push_back(rival.many);
  }
  const auto times = time_in_rounds(many, rounds, slice_ms * 1e-3);
  std::size_t next = 0;
  for (const Rival& rival : rivals) {
    std::cout << rival.name << '\t';
    if (rival.many)
      std::cout << median_of(times[next++]) / static_cast<double>(calls.size()) << '\n';
    else
      std::cout << rival.failure << '\n';
  }
}

}  // namespace
}  // namespace sr::bench

int main(int argc, char** argv) {
  if (argc < 5) {
    std::cerr << "usage: bench_peers ROUNDS SLICE_MS CALLS.pt NAME=FILE ...\n";
    return 2;
  }
  at::set_num_threads(1);
  try {
    sr::bench::run(std::stoi(argv[1]), std::stod(argv[2]), argv[3], {argv + 4, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "bench_peers: " << error.what() << '\n';
    return 1;
  }
}

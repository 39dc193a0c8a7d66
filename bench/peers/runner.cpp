// Times AOTInductor, LibTorch's interpreter and sr on one model, as a C++ program would call them. Prints one
// line for each: its name, and nanoseconds a call or the reason why there are none.
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
#include "inputs.hpp"

namespace sr::bench {
namespace {

// A call that is repeated, and the result of the last one.
struct Timed {
  Many many;
  std::function<at::Tensor()> result;
};

template <class Run>
Timed timed(Run run, std::function<at::Tensor()> result) {
  return {[run = std::move(run)](std::int64_t times) mutable {
            for (std::int64_t i = 0; i < times; ++i) run();
          },
          std::move(result)};
}

struct Rival {
  std::string name;
  std::string failure;  // if empty, `many` can be called
  Many many;
};

Rival prepare(std::string name, const at::Tensor& expected, const std::function<Timed()>& make) {
  Rival rival{std::move(name), {}, {}};
  try {
    const Timed call = make();
    // TorchScript's interpreter optimises a graph again in its second call.
    for (int i = 0; i < 4; ++i) {
      call.many(1);
      if (!at::allclose(call.result(), expected, /*rtol=*/1e-3, /*atol=*/1e-4))
        throw std::runtime_error("its output differs from eager's");
    }
    rival.many = call.many;
  } catch (const std::exception& error) {
    rival.failure = error.what();
    rival.failure.resize(std::min(rival.failure.find('\n'), rival.failure.size()));
  }
  return rival;
}

Timed interpreter(const std::string& model, const std::vector<c10::IValue>& inputs) {
  torch::jit::Module frozen = torch::jit::load(model);
  frozen.eval();
  const auto last = std::make_shared<at::Tensor>();
  return timed([module = torch::jit::optimize_for_inference(frozen), inputs,
                last]() mutable { *last = module.forward(inputs).toTensor(); },
               [last] { return *last; });
}

Timed package(const std::string& path, const std::vector<c10::IValue>& inputs) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& input : inputs) tensors.push_back(input.toTensor());
  // Without the locks for several callers: every rival has one caller.
  const auto loader =
      std::make_shared<torch::inductor::AOTIModelPackageLoader>(path, "model", /*run_single_threaded=*/true);
  const auto last = std::make_shared<at::Tensor>();
  return timed([loader, tensors, last] { *last = std::move(loader->run(tensors)[0]); },
               [last] { return *last; });
}

Timed into(const std::string& model, const std::vector<c10::IValue>& inputs, const at::Tensor& like) {
  const auto runtime = std::make_shared<StaticRuntime<>>(load(model));
  runtime->reserve(inputs);
  const std::vector<at::Tensor> outputs{at::empty_like(like)};
  return timed([runtime, inputs, outputs] { runtime->run_into(inputs, outputs); },
               [outputs] { return outputs[0]; });
}

Timed bound(const std::string& model, const std::vector<c10::IValue>& inputs) {
  const auto call = std::make_shared<BoundCall>(StaticRuntime<>(load(model)).bind(inputs));
  return timed([call] { (*call)(); }, [call] { return call->outputs()[0]; });
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

Timed arrays(const std::string& path, const std::vector<c10::IValue>& inputs, const at::Tensor& like) {
  std::vector<AOTInductorArrayRefTensor> values;
  for (const c10::IValue& input : inputs) values.push_back(array_of(input.toTensor()));
  const auto output = std::make_shared<AOTInductorArrayRefTensor>();
  return timed(
      [library = std::make_shared<Library>(path), inputs, values, output] { library->run(values, *output); },
      [output, like] {
        return at::from_blob(output->data, c10::IntArrayRef(output->sizes, output->ndim),
                             c10::IntArrayRef(output->strides, output->ndim), like.options());
      });
}

Timed make(const std::string& name, const std::string& file, const std::vector<c10::IValue>& inputs,
           const at::Tensor& expected) {
  if (name == "interpreter") return interpreter(file, inputs);
  if (name == "AOTInductor") return package(file, inputs);
  if (name == "AOTInductor arrays") return arrays(file, inputs, expected);
  if (name == "sr into") return into(file, inputs, expected);
  if (name == "sr bound") return bound(file, inputs);
  throw std::runtime_error("there is no runner of this name");
}

// `call` holds the arguments, followed by eager's result.
void run(int rounds, double slice_ms, const std::string& call, const std::vector<std::string>& named) {
  const tool::ArgumentList all = tool::read_input_sets(call).at(0);
  const at::Tensor expected = all.back().toTensor();
  const tool::ArgumentList inputs(all.begin(), all.end() - 1);
  const c10::InferenceMode inference;
  std::vector<Rival> rivals;
  for (const std::string& one : named) {
    const std::size_t end = one.find('=');
    const std::string name = one.substr(0, end);
    rivals.push_back(
        prepare(name, expected, [&] { return make(name, one.substr(end + 1), inputs, expected); }));
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
      std::cout << median_of(times[next++]) << '\n';
    else
      std::cout << rival.failure << '\n';
  }
}

}  // namespace
}  // namespace sr::bench

int main(int argc, char** argv) {
  if (argc < 5) {
    std::cerr << "usage: bench_peers ROUNDS SLICE_MS CALL.pt NAME=FILE ...\n";
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

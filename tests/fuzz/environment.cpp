#include "fuzz/environment.hpp"

#include <thread>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <c10/core/InferenceMode.h>

#include "fuzz/inputs.hpp"

namespace sr::fuzz {

namespace {

class Autocast {
 public:
  Autocast() {
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::increment_nesting();
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;
  ~Autocast() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, false);
  }
};

// LibTorch's intra-op threads.
class TwoThreads {
 public:
  TwoThreads() { at::set_num_threads(2); }
  TwoThreads(const TwoThreads&) = delete;
  TwoThreads& operator=(const TwoThreads&) = delete;
  ~TwoThreads() { at::set_num_threads(1); }
};

// New memory is filled with NaN, as under torch.use_deterministic_algorithms.
class FilledMemory {
 public:
  FilledMemory() { at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false); }
  FilledMemory(const FilledMemory&) = delete;
  FilledMemory& operator=(const FilledMemory&) = delete;
  ~FilledMemory() { at::globalContext().setDeterministicAlgorithms(false, /*warn_only=*/false); }
};

class FlushedDenormals {
 public:
  FlushedDenormals() { at::globalContext().setFlushDenormal(true); }
  FlushedDenormals(const FlushedDenormals&) = delete;
  FlushedDenormals& operator=(const FlushedDenormals&) = delete;
  ~FlushedDenormals() { at::globalContext().setFlushDenormal(false); }
};

}  // namespace

bool changes_weight(const Run& run) {
  return run.setting == Setting::writes_weight || run.setting == Setting::moves_weight;
}

void change_weight(const Case& program, const torch::jit::Module& module, std::size_t index) {
  const Run& run = program.runs[index];
  if (!changes_weight(run) || run.weight >= program.attributes.size()) return;
  const at::NoGradGuard no_grad;
  const at::Tensor weight = module.attr(program.attributes[run.weight].name).toTensor();
  const at::Tensor changed = make_weight(program, run.weight, index);
  if (run.setting == Setting::writes_weight) {
    weight.copy_(changed);
  } else {
    weight.set_data(changed);
  }
}

void restore_weights(const Case& program, const torch::jit::Module& module, std::size_t index) {
  const at::NoGradGuard no_grad;
  const auto initial = make_attributes(program);
  for (std::size_t w = 0; w < program.attributes.size(); ++w) {
    at::Tensor value = initial[w].second.toTensor();
    for (std::size_t i = 0; i <= index && i < program.runs.size(); ++i) {
      if (changes_weight(program.runs[i]) && program.runs[i].weight == w) value = make_weight(program, w, i);
    }
    module.attr(program.attributes[w].name).toTensor().copy_(value);
  }
}

void under_modes(const Run& run, const std::function<void()>& call) {
  switch (run.setting) {
    case Setting::inference_mode: {
      const c10::InferenceMode inference;
      return call();
    }
    case Setting::autocast: {
      const Autocast autocast;
      return call();
    }
    case Setting::default_dtype: {
      const DoubleByDefault default_dtype;
      return call();
    }
    case Setting::two_threads: {
      const TwoThreads threads;
      return call();
    }
    case Setting::other_thread: {
      // LibTorch tells a thread how many threads its products take when something first asks; until then they
      // are another number, and products round differently.
      std::thread thread([&call] {
        at::get_num_threads();
        call();
      });
      return thread.join();
    }
    case Setting::filled_memory: {
      const FilledMemory memory;
      return call();
    }
    case Setting::flushed_denormals: {
      const FlushedDenormals denormals;
      return call();
    }
    default:
      return call();
  }
}

}  // namespace sr::fuzz

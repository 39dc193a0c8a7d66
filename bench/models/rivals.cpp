#include "rivals.hpp"

#include <memory>
#include <stdexcept>

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/static/impl.h>

#include <sr/memory/linear_scan.hpp>
#include <sr/static_runtime.hpp>

#include "timing/runners.hpp"

namespace sr::bench {
namespace {

using Runtime = StaticRuntime<memory::LinearScan>;

// Switches autograd off for a call, as all the others do.
Rival eager_rival(const Model& model) {
  return make_rival("eager", [&model] {
    const c10::InferenceMode inference;
    return model.eager();
  });
}

torch::jit::Module optimised(const Model& model) {
  torch::jit::Module module = model.module.clone(/*inplace=*/true);
  module.eval();
  torch::jit::Module frozen = torch::jit::freeze(module);
  return torch::jit::optimize_for_inference(frozen);
}

Rival interpreter_rival(const Model& model, const torch::jit::Module& module) {
  const auto own = std::make_shared<torch::jit::Module>(module);
  return make_rival("interpreter", [&model, own] {
    const c10::InferenceMode inference;
    return own->forward(model.inputs);
  });
}

std::shared_ptr<torch::jit::StaticModule> upstream_module(const Model& model) {
  torch::jit::StaticModuleOptions options;
  options.optimize_memory = model.optimize_memory;
  return std::make_shared<torch::jit::StaticModule>(model.module.clone(/*inplace=*/true), /*is_frozen=*/false,
                                                    options);
}

Rival upstream_rival(const Model& model, const std::shared_ptr<torch::jit::StaticModule>& module) {
  const auto runtime = std::make_shared<torch::jit::StaticRuntime>(*module);
  return make_rival("upstream", [&model, module, runtime] { return (*runtime)(model.inputs); });
}

StaticModule sr_module(const Model& model, bool replay, bool managed) {
  StaticModuleOptions options;
  options.debug.enable_replay = replay;
  options.memory.manage_outputs = managed;
  options.memory.optimize = model.optimize_memory;
  return StaticModule(model.module, options);
}

Rival sr_rival(const Model& model, std::string name, const StaticModule& module) {
  const auto runtime = std::make_shared<Runtime>(module);
  const std::vector<c10::IValue>& in = model.inputs;
  Runtime& run = *runtime;
  // The number of arguments is known at compile time, as where a call is written.
  if (in.size() == 1) return make_rival(std::move(name), [runtime, &run, &in] { return run(in[0]); });
  if (in.size() == 2) return make_rival(std::move(name), [runtime, &run, &in] { return run(in[0], in[1]); });
  if (in.size() == 3)
    return make_rival(std::move(name), [runtime, &run, &in] { return run(in[0], in[1], in[2]); });
  throw std::logic_error("A benchmark model has one to three arguments.");
}

Rival into_rival(const Model& model, const StaticModule& module, const at::Tensor& like) {
  const auto runtime = std::make_shared<Runtime>(module);
  const std::vector<at::Tensor> outputs{at::empty_like(like)};
  return {"sr_into",
          [runtime, outputs, &model] {
            outputs[0].fill_(-1);
            runtime->run_into(model.inputs, outputs);
            return c10::IValue(outputs[0]);
          },
          [runtime, outputs, &model](std::int64_t times) {
            for (std::int64_t i = 0; i < times; ++i) runtime->run_into(model.inputs, outputs);
          }};
}

Rival light_rival(const Model& model, const at::Tensor& like) {
  return make_rival("light", [&model, sizes = like.sizes().vec()] {
    at::Tensor out(at::detail::empty_cpu(sizes, at::kFloat));
    model.light(out.mutable_data_ptr<float>());
    return out;
  });
}

Rival light_bound_rival(const Model& model, const at::Tensor& like) {
  const at::Tensor out = at::empty_like(like);
  float* const data = out.mutable_data_ptr<float>();
  return {"light_bound",
          [&model, out, data] {
            model.light(data);
            return c10::IValue(out);
          },
          [&model, out, data](std::int64_t times) {
            for (std::int64_t i = 0; i < times; ++i) model.light(data);
          }};
}

}  // namespace

std::vector<Kind> kinds_of(const Model& model) {
  const torch::jit::Module interpreted = optimised(model);
  const auto upstream = upstream_module(model);
  const StaticModule general = sr_module(model, false, false), replay = sr_module(model, true, false),
                     managed = sr_module(model, true, true);
  const at::Tensor like = model.eager();
  std::vector<Kind> kinds{
      {"eager", [&model] { return eager_rival(model); }},
      {"interpreter", [&model, interpreted] { return interpreter_rival(model, interpreted); }},
      {"upstream", [&model, upstream] { return upstream_rival(model, upstream); }},
      {"sr_general", [&model, general] { return sr_rival(model, "sr_general", general); }},
      {"sr_replay", [&model, replay] { return sr_rival(model, "sr_replay", replay); }},
      {"sr_managed", [&model, managed] { return sr_rival(model, "sr_managed", managed); }},
      {"sr_into", [&model, replay, like] { return into_rival(model, replay, like); }}};
  if (model.light) {
    kinds.push_back({"light", [&model, like] { return light_rival(model, like); }});
    kinds.push_back({"light_bound", [&model, like] { return light_bound_rival(model, like); }});
  }
  return kinds;
}

void check(const Model& model, const std::vector<Rival>& rivals) {
  torch::jit::Module module = model.module.clone(/*inplace=*/true);
  module.eval();
  const c10::IValue expected = [&] {
    const c10::InferenceMode inference;
    return torch::jit::freeze(module).forward(model.inputs).deepcopy();
  }();
  for (const Rival& rival : rivals) {
    for (int call = 0; call < 4; ++call) {
      const tool::Agreement agreement = tool::compare(expected, rival.once());
      if (agreement.agrees) continue;
      throw std::runtime_error(model.name + ": " + rival.name + " differs from the interpreter in call " +
                               std::to_string(call) + ": " + agreement.difference);
    }
  }
}

}  // namespace sr::bench

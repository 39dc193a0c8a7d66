// A program: a recorded call as a list of steps. Belongs to one runtime. The module must outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/kernels/packed_weights.hpp>
#include <sr/memory/request.hpp>
#include <sr/replay/results.hpp>
#include <sr/replay/steps/step.hpp>
#include <sr/replay/trace/environment.hpp>
#include <sr/replay/trace/signature.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// What reports say about a step.
struct StepNote {
  std::vector<std::uint32_t> nodes;  // that it computes: more than one where they are fused
  std::vector<StorageId> reads, writes;
};

struct Program {
  // The members that every replay reads come first: calls that alternate between programs find little of them
  // in the cache.
  SignatureWords signature;
  std::vector<std::byte*> bases;  // arguments first, then every other storage
  std::vector<Step> steps;
  unsigned asked = 0;                                   // parts of the environment that it depends on
  std::size_t kernels = 0, calls = 0, interpreted = 0;  // steps of each kind
  std::uint64_t last_used = 0;
  std::uint64_t replays = 0;
  std::uint64_t bound_to = 0;  // generation of the bytes that `bases` point into; 0: none yet
  Results results;
  Environment environment;  // in which it was recorded

  std::string bailout;  // why calls with this signature keep to the general path; empty: they are replayed
  std::vector<const torch::jit::Node*> nodes;  // by Step::node
  std::vector<std::vector<StorageId>> writes;  // by step: what is complete after it
  std::vector<StepNote> notes;                 // by step
  std::vector<double> step_seconds;            // by step, sums over timed replays
  std::uint64_t timed_replays = 0;
  std::vector<TracedStorage> storages;
  bool draws_random_numbers = false;

  std::vector<StorageId> placed;  // storages in the arena, in the order of `requests`
  std::vector<memory::Request> requests;
  memory::Layout layout;
  std::vector<std::size_t> leaf_bytes;  // how far each tensor of the arguments reaches from its first element

  std::vector<std::unique_ptr<Payload>> payloads;
  std::vector<at::Tensor> constants;  // whose bytes steps read
  std::unique_ptr<AlignedFloats> scratch;
  RanNodes* ran = nullptr;      // of the runtime, which outlives the program
  std::shared_ptr<void> state;  // runs blocks that data decide about
  std::vector<c10::IValue> values;
  std::vector<at::Tensor> tensors;
};

}  // namespace sr::replay

// A table of values with a runner for each block: what it takes to run blocks of a module node by node.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <sr/block_runner.hpp>
#include <sr/fork_body.hpp>
#include <sr/module_content.hpp>

namespace sr {

// Must not move: the frame points to it. The module's content must outlive it.
template <memory::Planner Planner, class Observer>
struct Machine {
  explicit Machine(const ModuleContent& content) {
    frame.values.resize(content.slot_count);
    std::copy(content.constants.begin(), content.constants.end(), frame.values.begin());
    frame.states.resize(content.state_count);
    frame.runtime = this;
    frame.run_block = &run_block;
    frame.take_output = &take_output;
    frame.finish_block = &finish_block;
    frame.run_body = &ForkBody::run<Planner>;
    runners.reserve(content.blocks.size());
    for (std::size_t i = 0; i < content.blocks.size(); ++i) {
      runners.emplace_back(content.blocks[i], static_cast<std::uint32_t>(i), frame, observer,
                           content.options.optimize_memory);
    }
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  Frame frame;
  Observer observer;
  std::vector<BlockRunner<Planner, Observer>> runners;

 private:
  static Machine& of(Frame& frame) { return *static_cast<Machine*>(frame.runtime); }
  static void run_block(Frame& frame, std::uint32_t block) { of(frame).runners[block].run(); }
  static c10::IValue take_output(Frame& frame, std::uint32_t block, std::size_t i) {
    return of(frame).runners[block].take_output(i);
  }
  static void finish_block(Frame& frame, std::uint32_t block) { of(frame).runners[block].finish(); }
};

}  // namespace sr

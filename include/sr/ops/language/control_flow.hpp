// prim::If, prim::Loop, exceptions and futures: nodes that run other nodes.
#pragma once

#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/core/ivalue.h>
#include <c10/util/SmallVector.h>
#include <torch/csrc/jit/runtime/jit_exception.h>

#include <sr/base/call_options.hpp>
#include <sr/base/error.hpp>
#include <sr/executor/forked_tasks.hpp>
#include <sr/module/fork_body.hpp>
#include <sr/registry/op.hpp>

namespace sr::ops {

struct If {
  void operator()(NodeView& node) const {
    const std::size_t branch = node.input(0).toBool() ? 0 : 1;
    node.run_block(branch);
    for (std::size_t i = 0; i < node.output_count(); ++i) node.output(i) = node.take_block_output(branch, i);
    node.finish_block(branch);
  }
};

// Inputs: most iterations, first condition, carried values. Block inputs: iteration, carried values.
// Block outputs: next condition, carried values.
struct Loop {
  void operator()(NodeView& node) const {
    const std::int64_t most = node.input(0).toInt();
    bool go_on = node.input(1).toBool();
    c10::SmallVector<c10::IValue, 4> carried;
    for (std::size_t i = 2; i < node.input_count(); ++i) carried.push_back(node.input(i));
    for (std::int64_t iteration = 0; go_on && iteration < most; ++iteration) {
      node.value(node.block_input(0, 0)) = iteration;
      for (std::size_t i = 0; i < carried.size(); ++i) {
        node.value(node.block_input(0, i + 1)) = std::move(carried[i]);
      }
      node.run_block(0);
      go_on = node.take_block_output(0, 0).toBool();
      for (std::size_t i = 0; i < carried.size(); ++i) carried[i] = node.take_block_output(0, i + 1);
      node.finish_block(0);
    }
    for (std::size_t i = 0; i < carried.size(); ++i) node.output(i) = std::move(carried[i]);
  }
};

// Inputs: message, qualified class name or None. Throws the interpreter's exception, or the one that a guard
// or assertion of an exported program names (frontend/export/assertions.hpp).
struct RaiseException {
  void operator()(NodeView& node) const {
    const std::string& message = node.input(0).toStringRef();
    std::optional<std::string> class_name;
    if (node.input_count() > 1 && node.input(1).isString()) class_name = node.input(1).toStringRef();
    if (class_name == "sr.ArgumentError") throw ArgumentError(message);
    if (class_name == "sr.Error") throw Error(ErrorCode::assertion_failed, message);
    throw torch::jit::JITException(message, std::move(class_name));
  }
};

// Makes the body a task of the call's launcher. The future carries an exception of the body to prim::wait.
struct Fork {
  void operator()(NodeView& node) const {
    auto future = c10::make_intrusive<c10::ivalue::Future>(
        node.node().output()->type()->expectRef<c10::FutureType>().getElementType());
    const CallOptions options = node.frame().call == nullptr ? CallOptions{} : *node.frame().call;
    std::vector<c10::IValue> args;
    args.reserve(node.input_count());
    for (std::size_t i = 0; i < node.input_count(); ++i) args.push_back(node.input(i));
    sr::detail::ForkedTasks& tasks = sr::detail::ForkedTasks::all();
    const auto& body = node.processed().body;
    tasks.add(*future, [body, weights = body->weights(*node.frame().weights), planner = node.frame().planner,
                        args = std::move(args), options, future]() mutable {
      sr::detail::complete(*future,
                           [&] { return body->run(*planner, std::move(args), options, std::move(weights)); });
    });
    try {
      sr::detail::launch(options, [future] { sr::detail::ForkedTasks::all().run(*future); });
    } catch (...) {
      tasks.take(*future);  // no node will wait for it
      throw;
    }
    node.output(0) = c10::IValue(std::move(future));
  }
};

// Runs the forked body if no thread has started it, rather than wait.
struct Wait {
  void operator()(NodeView& node) const {
    const auto future = node.input(0).toFuture();
    if (!future->completed()) sr::detail::ForkedTasks::all().run(*future);
    future->waitAndThrow();
    node.output(0) = future->value();
  }
};

struct Warn {
  void operator()(NodeView& node) const { TORCH_WARN(node.input(0).toStringRef()); }
};

namespace registered {

inline const NodeOp<"prim::If", If> prim_if;
inline const NodeOp<"prim::Loop", Loop> prim_loop;
inline const NodeOp<"prim::RaiseException", RaiseException> prim_raise_exception;
inline const NodeOp<"prim::fork", Fork> prim_fork;
inline const NodeOp<"aten::wait", Wait> aten_wait;
inline const NodeOp<"aten::warn", Warn, NodeKind::native, Facts<Fact::unrepeatable>> aten_warn;

}  // namespace registered
}  // namespace sr::ops

// Definitions of <sr/session_batch.hpp>.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <exception>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>

#include <sr/base/build.hpp>
#include <sr/batching/joining.hpp>
#include <sr/batching/options_for.hpp>
#include <sr/batching/request.hpp>
#include <sr/batching/state_joining.hpp>
#include <sr/executor/arguments.hpp>
#include <sr/impl/session.hpp>
#include <sr/replay/trace/signature.hpp>
#include <sr/runtime_pool.hpp>
#include <sr/session_batch.hpp>

namespace sr {

namespace detail {

// The sessions of one call of run_sessions.
class SessionBatch {
 public:
  SessionBatch(const std::vector<Session>& sessions, const std::vector<std::vector<c10::IValue>>& arguments,
               const SessionBatchOptions& options)
      : sessions_(sessions),
        module_(*sessions[0].module().content()),
        options_(options_for(module_.schema, batcher_options(options))),
        dims_(dims_of_state(module_.variables, options.state_dims, options_.dim)) {
    require_different();
    if (arguments.size() != sessions.size()) {
      throw ArgumentError("run_sessions was given the arguments of " + std::to_string(arguments.size()) +
                          " calls for " + std::to_string(sessions.size()) + " sessions.");
    }
    for (const Session& session : sessions) uses_.emplace_back(session.session_state().get());
    for (std::size_t i = 0; i < sessions.size(); ++i) describe(i, arguments[i]);
  }

  std::vector<c10::IValue> run() {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const at::NoGradGuard no_grad;
    std::vector<bool> is_taken(sessions_.size(), false);
    for (std::size_t first = 0; first < sessions_.size(); ++first) {
      if (is_taken[first]) continue;
      std::vector<std::size_t> group{first};
      std::int64_t rows = requests_[first].rows;
      for (std::size_t i = first + 1; i < sessions_.size() && requests_[first].joins; ++i) {
        const bool fits = !is_taken[i] && requests_[i].joins && rows + requests_[i].rows <= options_.max_rows;
        if (!fits || requests_[i].signature != requests_[first].signature) continue;
        group.push_back(i);
        rows += requests_[i].rows;
      }
      for (const std::size_t i : group) is_taken[i] = true;
      run(group);
    }
    std::vector<c10::IValue> results;
    for (Request& request : requests_) {
      if (request.error) std::rethrow_exception(request.error);
      results.push_back(std::move(request.result));
    }
    return results;
  }

 private:
  static constexpr int kMostAgain = 2;

  static BatcherOptions batcher_options(const SessionBatchOptions& options) {
    BatcherOptions made;
    made.dim = options.dim;
    made.shared = options.shared;
    made.max_rows = options.max_rows;
    made.equal_rows = options.equal_rows;
    return made;
  }

  void require_different() const {
    std::set<const SessionState*> seen;
    for (const Session& session : sessions_) {
      if (session.module().content().get() != &module_)
        throw ArgumentError("run_sessions was given sessions of different modules.");
      const SessionState* const state = session.session_state().get();
      if (state != nullptr && !seen.insert(state).second)
        throw ArgumentError("run_sessions was given a session twice.");
    }
  }

  void describe(std::size_t i, const std::vector<c10::IValue>& given) {
    Request& request = requests_.emplace_back();
    std::vector<c10::IValue> args = given;
    bind_arguments(module_.schema, args, nullptr, request.args);
    RequestSignature(options_, request).describe();
    if (const SessionState* const state = sessions_[i].session_state().get()) {
      if (!state->values().self().isNone() || state->values().is_shared()) request.joins = false;
      for (std::size_t v = 0; v < module_.variables.size(); ++v)
        describe(state->values().variables()[v], dims_[v], request);
    }
  }

  // Adds the dtype and the sizes of a variable, without its number of rows, to the signature.
  static void describe(const c10::IValue& value, std::int64_t dim, Request& request) {
    if (value.isTensor() && value.toTensor().defined()) return describe(value.toTensor(), dim, request);
    const auto describe_all = [&](const auto& elements) {
      request.signature.push_back(static_cast<std::int64_t>(elements.size()));
      for (const auto& element : elements) describe(element, dim, request);
    };
    if (value.isList()) return describe_all(value.toListRef());
    if (value.isTuple()) return describe_all(value.toTupleRef().elements());
    replay::SignatureWords words;
    request.joins = request.joins && !value.isGenericDict() && replay::detail::describe(value, words);
    request.signature.insert(request.signature.end(), words.begin(), words.end());
  }
  static void describe(const at::Tensor& tensor, std::int64_t dim, Request& request) {
    request.joins = request.joins && tensor.layout() == at::kStrided && dim < tensor.dim() &&
                    tensor.size(dim) == request.rows;
    request.signature.insert(request.signature.end(),
                             {static_cast<std::int64_t>(tensor.scalar_type()), tensor.dim()});
    for (std::int64_t d = 0; d < tensor.dim(); ++d) {
      if (d != dim) request.signature.push_back(tensor.size(d));
    }
  }

  void run(const std::vector<std::size_t>& group) {
    const std::size_t first = group[0];
    try {
      if (group.size() > 1 || (options_.equal_rows && requests_[first].joins)) return run_joined(group);
      requests_[first].result = sessions_[first].module().own_runtimes().call_on(
          sessions_[first].session_state().get(), std::move(requests_[first].args), nullptr, nullptr,
          /*holds_state=*/true);
    } catch (...) {
      if (group.size() == 1) {
        requests_[first].error = std::current_exception();
        return;
      }
      // A joined call has changed only copies of the states.
      for (const std::size_t i : group) run({i});
    }
  }

  void run_joined(const std::vector<std::size_t>& group) {
    Batch batch;
    std::vector<std::int64_t> rows;
    std::vector<const StateValues*> states;
    for (const std::size_t i : group) {
      batch.push_back(&requests_[i]);
      rows.push_back(requests_[i].rows);
      if (sessions_[i].session_state() != nullptr) states.push_back(&sessions_[i].session_state()->values());
    }
    const BatchJoin join(options_, batch);
    const StateJoin of_states(module_.variables, dims_, std::move(rows), join.filled_rows());
    SessionState scratch(of_states.join(states));
    c10::IValue result = call(group, join, states.empty() ? nullptr : &scratch);
    // The first calls of a signature are not replays, and a replay may round differently.
    for (int again = 0; options_.equal_rows && !is_replay_ && again < kMostAgain; ++again) {
      scratch.restore(of_states.join(states));
      result = call(group, join, states.empty() ? nullptr : &scratch);
    }
    std::vector<c10::IValue> results = join.divide(result);
    if (!states.empty()) {
      std::vector<std::vector<c10::IValue>> divided = of_states.divide(scratch.values());
      for (std::size_t g = 0; g < group.size(); ++g)
        sessions_[group[g]].session_state()->restore(StateValues(std::move(divided[g])));
    }
    for (std::size_t g = 0; g < group.size(); ++g) requests_[group[g]].result = std::move(results[g]);
  }

  c10::IValue call(const std::vector<std::size_t>& group, const BatchJoin& join, SessionState* state) {
    CallTrace trace;
    CallOptions options;
    options.trace = options_.equal_rows ? &trace : nullptr;
    c10::IValue result = sessions_[group[0]].module().own_runtimes().call_on(
        state, join.arguments(), nullptr, options_.equal_rows ? &options : nullptr);
    is_replay_ = trace.path == CallTrace::Path::replay;
    return result;
  }

  const std::vector<Session>& sessions_;
  const PreparedModule& module_;
  BatcherOptions options_;
  std::vector<std::int64_t> dims_;
  std::deque<StateUse> uses_;
  std::deque<Request> requests_;
  bool is_replay_ = false;  // of the last joined call; only set for equal_rows
};

}  // namespace detail

SR_INLINE std::vector<c10::IValue> run_sessions(const std::vector<Session>& sessions,
                                                const std::vector<std::vector<c10::IValue>>& arguments,
                                                const SessionBatchOptions& options) {
  if (sessions.empty() && arguments.empty()) return {};
  if (sessions.empty()) throw ArgumentError("run_sessions was given arguments and no sessions.");
  return detail::SessionBatch(sessions, arguments, options).run();
}

}  // namespace sr

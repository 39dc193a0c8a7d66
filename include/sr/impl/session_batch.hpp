// Definitions of <sr/session_batch.hpp>.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sr/base/build.hpp>
#include <sr/batching/batch_runs.hpp>
#include <sr/batching/impl/batch_runs.hpp>
#include <sr/impl/session.hpp>
#include <sr/runtime_pool.hpp>
#include <sr/session_batch.hpp>

namespace sr {

namespace detail {

inline bool carry_the_same(const Session& a, const Session& b) {
  if (a.carried() == nullptr || b.carried() == nullptr) return a.carried() == b.carried();
  return a.carried() == b.carried() || a.carried()->is_like(*b.carried());
}

// Throws ArgumentError.
inline void require_different(const std::vector<const Session*>& sessions) {
  std::vector<const SessionState*> seen;
  for (const Session* const session : sessions) {
    if (session->module().content() != sessions[0]->module().content())
      throw ArgumentError("run_sessions was given sessions of different modules.");
    if (!carry_the_same(*session, *sessions[0]))
      throw ArgumentError("run_sessions was given sessions that carry different arguments.");
    if (session->session_state() != nullptr) seen.push_back(session->session_state().get());
  }
  std::ranges::sort(seen);
  if (std::ranges::adjacent_find(seen) != seen.end())
    throw ArgumentError("run_sessions was given a session twice.");
}

// Removes the first waiting request and all requests that can be joined with it, and returns them.
inline Batch take_batch(std::vector<Request*>& waiting, std::int64_t max_rows) {
  Batch batch;
  std::int64_t rows = 0;
  std::erase_if(waiting, [&](Request* request) {
    if (!fits(*request, batch, rows, max_rows)) return false;
    rows += request->rows;
    batch.push_back(request);
    return true;
  });
  return batch;
}

SR_INLINE std::vector<c10::IValue> run_sessions(const std::vector<const Session*>& sessions,
                                                std::vector<std::vector<c10::IValue>> arguments,
                                                const BatcherOptions& options, const BatchModel& model,
                                                const BatchPreparation& prepare) {
  if (arguments.size() != sessions.size()) {
    throw ArgumentError("run_sessions was given the arguments of " + std::to_string(arguments.size()) +
                        " calls for " + std::to_string(sessions.size()) + " sessions.");
  }
  if (sessions.empty()) return {};
  require_different(sessions);
  const PreparedModule& content = *sessions[0]->module().content();
  const CarriedState* const carried = sessions[0]->carried().get();
  const auto call_session = [&](SessionState* state, std::vector<c10::IValue> args,
                                const CallOptions& given) {
    return carried->call(*state, std::move(args), /*holds_state=*/true,
                         [&](std::vector<c10::IValue> all) { return model(nullptr, std::move(all), given); });
  };
  BatchRuns runs(*content.graph, carried == nullptr ? BatchedCalls::of(content) : BatchedCalls::of(*carried),
                 carried == nullptr ? model : BatchModel(call_session), prepare, options);
  const auto requests = std::make_unique<Request[]>(sessions.size());
  std::vector<Request*> waiting;
  waiting.reserve(sessions.size());
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    runs.fill(requests[i], std::move(arguments[i]), nullptr, sessions[i]->session_state());
    waiting.push_back(&requests[i]);
  }
  while (!waiting.empty()) runs.run(take_batch(waiting, runs.options().max_rows), {});
  std::vector<c10::IValue> results;
  results.reserve(sessions.size());
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    if (requests[i].error) std::rethrow_exception(requests[i].error);
    results.push_back(std::move(requests[i].result));
  }
  return results;
}

}  // namespace detail

SR_INLINE std::vector<c10::IValue> run_sessions(const std::vector<Session>& sessions,
                                                std::vector<std::vector<c10::IValue>> arguments,
                                                const BatcherOptions& options) {
  std::vector<const Session*> all;
  all.reserve(sessions.size());
  for (const Session& session : sessions) all.push_back(&session);
  const RuntimePool<>* const runtimes = all.empty() ? nullptr : &all[0]->module().own_runtimes();
  return detail::run_sessions(
      all, std::move(arguments), options,
      [=](SessionState* state, std::vector<c10::IValue> args, const CallOptions& given) {
        return runtimes->call_joined(state, std::move(args), given);
      },
      [=](const std::vector<c10::IValue>& args) { runtimes->reserve(args); });
}

}  // namespace sr

// Joins the requests of many callers to batches of one model.
#pragma once

#include <memory>
#include <vector>

#include <ATen/core/ivalue.h>
#include <c10/util/intrusive_ptr.h>

#include <sr/base/call_options.hpp>
#include <sr/batching/options.hpp>
#include <sr/session.hpp>
#include <sr/static_module.hpp>

namespace sr {

namespace detail {

class BatchQueue;

}  // namespace detail

// Any number of threads may call one at once. Blocking calls use no background thread: the
// caller at the head of the queue runs the batch for all that are in it, so that a request that finds no
// others costs little more than the model. submit() is served by threads of the batcher, which are started
// when they are first needed.
//
// Rows must not depend on each other. A request's arguments are checked before it waits, and if a batch
// throws, its requests run one by one: a bad request fails alone. Requests are joined if their arguments
// agree in dtypes, in all other sizes, and in the values of what is no tensor; others run in batches of their
// own. Results belong to the request: they share no memory with those of others.
//
// Shares ownership of the module. The destructor waits for requests that were submitted, unless it runs in a
// callback of one of their futures; no other call may be in progress then.
class Batcher {
 public:
  // Throws ArgumentError for options that contradict the module's schema or each other.
  explicit Batcher(const StaticModule& module, const BatcherOptions& options = {});
  // With another model than the module, of the same schema and the same state: a RuntimePool with another
  // planner, say.
  Batcher(const StaticModule& module, BatchModel model, const BatcherOptions& options,
          BatchPreparation prepare = {});
  Batcher(Batcher&&) noexcept;
  Batcher& operator=(Batcher&&) noexcept;
  ~Batcher();

  // Blocks until the request's results are there. Throws ArgumentError, BusyError if max_waiting requests
  // wait already, CancelledError if the deadline or stop token of `options` ends it while it waits (a batch
  // that has begun is completed), UnsupportedOpError if a result cannot be divided, and what operators throw.
  c10::IValue operator()(std::vector<c10::IValue> args, const KeywordArgs& kwargs = {},
                         const CallOptions& options = {}) const;

  // Calls a session of the module. Requests are joined if their states, too, agree in all sizes but the
  // number of rows, and in all numbers; see BatcherOptions::state_dims. The session is reserved until the
  // request is answered: it also throws BusyError if the session is in use, and StateError. If the model has
  // state, each request must be a call of a session.
  c10::IValue operator()(const Session& session, std::vector<c10::IValue> args,
                         const KeywordArgs& kwargs = {}, const CallOptions& options = {}) const;

  // These return immediately. They throw ArgumentError, BusyError and StateError; the future has the other
  // errors.
  c10::intrusive_ptr<c10::ivalue::Future> submit(std::vector<c10::IValue> args,
                                                 const KeywordArgs& kwargs = {},
                                                 const CallOptions& options = {}) const;
  c10::intrusive_ptr<c10::ivalue::Future> submit(const Session& session, std::vector<c10::IValue> args,
                                                 const KeywordArgs& kwargs = {},
                                                 const CallOptions& options = {}) const;

  BatcherReport report() const;

 private:
  std::shared_ptr<SessionState> state_of(const Session& session) const;

  std::shared_ptr<const PreparedModule> content_;
  std::shared_ptr<detail::BatchQueue> queue_;  // shared with its threads
};

}  // namespace sr

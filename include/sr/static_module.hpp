// A model that is prepared to run: graph, constants, one function for each node, lifetimes. Immutable but for
// its weights and for the state of a model that writes its buffers or attributes. Copies of the handle share
// the content, and runtimes share its ownership.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <sr/base/call_metrics.hpp>
#include <sr/base/call_options.hpp>
#include <sr/base/config.hpp>
#include <sr/base/jit_fwd.hpp>
#include <sr/base/options.hpp>
#include <sr/base/state_dict.hpp>
#include <sr/fwd.hpp>
#include <sr/value_spec.hpp>

namespace sr {

class Session;
class SessionState;
struct LoadedGraph;
struct PoolReport;
struct PreparedModule;

class StaticModule {
 public:
  // Throws RegistryError if no operator is registered at all, UnsupportedOpError with a sentence for each
  // node that cannot run (or, under options.strict, that needs the interpreter), and ArgumentError for an
  // unknown pass in options.debug.without_passes.
  explicit StaticModule(const torch::jit::Module& module, const StaticModuleOptions& options = {});
  explicit StaticModule(const std::shared_ptr<torch::jit::Graph>& graph,
                        const StaticModuleOptions& options = {});
  StaticModule(LoadedGraph loaded, const StaticModuleOptions& options);

  // Returns a module with a copy of the state, which begins as the state of this module is now. Weights stay
  // shared, and an update of one module is an update of both. For a model that writes nothing, returns
  // another handle of the same content. Throws BusyError if the model has state and a call of it is running.
  StaticModule clone() const;

  // Returns a session, whose state is a copy of the initial state of the module. Include <sr/session.hpp>.
  Session session() const;
  // Returns a session of a model that takes its state as arguments and returns the new state. `carried` has,
  // by name of such an argument, the position of the result that is its value in the next call. Throws
  // ArgumentError if there is no such argument or result, if a result is carried twice, and if the model
  // keeps state itself.
  Session session(const std::map<std::string, std::size_t>& carried) const;

  // Names of the methods of a TorchScript module, besides `forward`, that can run on its state. Empty if the
  // model has no state.
  std::vector<std::string> methods() const;
  // Returns the method as a module, whose calls read and write the state of this module. Session::method does
  // the same for a session. It is prepared when it is asked for first. Throws ArgumentError if there is no
  // such method, and UnsupportedOpError if sr cannot run it, or if it writes attributes that forward does not
  // write.
  StaticModule method(const std::string& name) const;

  // --- calls ---
  //
  // These functions act on a pool that the module makes when it is first called, a RuntimePool with its
  // defaults, and do what the pool's functions of the same names do (<sr/runtime_pool.hpp>). They may be
  // called from any number of threads. They throw ArgumentError, BusyError, and what operators throw. If the
  // model writes its buffers or attributes, a call during another call of the module throws BusyError, on
  // whichever runtime.

  c10::IValue operator()(std::vector<c10::IValue> args, const KeywordArgs& kwargs = {}) const;
  c10::IValue operator()(std::vector<c10::IValue> args, const KeywordArgs& kwargs,
                         const CallOptions& options) const;
  // Writes the results into `outputs`, one tensor for each tensor of the result, depth first.
  void run_into(c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs) const;
  c10::intrusive_ptr<c10::ivalue::Future> run_async(std::vector<c10::IValue> args,
                                                    const KeywordArgs& kwargs = {},
                                                    const CallOptions& options = {}) const;
  // Prepares `runtimes` runtimes for calls with these arguments, so that the first call of a service is fast.
  void reserve(const std::vector<c10::IValue>& args, const KeywordArgs& kwargs = {},
               std::size_t runtimes = 1) const;
  // Destroys the runtimes that are not in use.
  void trim() const;
  // Counts and latencies of all calls of these functions.
  CallMetrics metrics() const;
  // Include <sr/runtime_pool.hpp> for the type.
  PoolReport report() const;

  // --- the model ---

  // The arguments of a call, in order, and its results. A tuple of results has one entry.
  std::vector<ValueSpec> inputs() const;
  std::vector<ValueSpec> outputs() const;

  // What calls read; <sr/module/prepared_module.hpp> describes it.
  const std::shared_ptr<const PreparedModule>& content() const { return content_; }
  // Returns the state of calls without a session. Null if the model has no state.
  const std::shared_ptr<SessionState>& session_state() const { return state_; }
  // For Session: the pool of the module's own calls.
  const RuntimePool<>& own_runtimes() const;
  // Makes every runtime of the module read all weights anew with its next call, also after writes that
  // LibTorch does not count (`p.data`, memory shared with NumPy). May be called from any number of threads.
  // Throws UnsupportedOpError if a weight is no longer a dense tensor on the CPU.
  void refresh_weights() const;
  // Replaces weights by copies of the tensors in `state`, which has the names of the caller's module
  // (`torch.nn.Module.state_dict`). A call that runs keeps the old weights, all calls that begin later use
  // the new ones, and no call uses some of both. Calls, clones and pools need not stop. The module no longer
  // follows the tensors that were replaced. Tensors have the sizes of the weights and are converted to their
  // dtypes. Weights that share their elements stay tied. Names of tensors that the model does not read are
  // ignored. May be called from any number of threads.
  //
  // Throws ArgumentError, and leaves all weights as they were, if a name is not in the caller's module or one
  // of its parameters is missing (unless `strict` is false), if a tensor has other sizes or a dtype that can
  // not be converted, and if the weights were folded when the module was made: weights of a file need
  // options.weights.updatable.
  void update(const StateDict& state, bool strict = true) const;

  const StaticModuleOptions& options() const;
  const torch::jit::Graph& graph() const;
  const c10::FunctionSchema& schema() const;

 private:
  struct OwnRuntimes;

  StaticModule(std::shared_ptr<const PreparedModule> content, std::shared_ptr<SessionState> state);

  std::shared_ptr<const PreparedModule> content_;
  std::shared_ptr<SessionState> state_;
  std::shared_ptr<OwnRuntimes> own_;
};

}  // namespace sr

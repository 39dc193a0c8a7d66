#include "async_calls.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <torch/csrc/jit/python/pybind_utils.h>

#include <sr/executor/forked_tasks.hpp>
#include <sr/runtime/runtime_core.hpp>

#include "caller.hpp"
#include "errors.hpp"
#include "running.hpp"

namespace py = pybind11;

namespace sr::python {

namespace {

// The number of calls that have not reported to Python yet.
struct Open {
  std::mutex mutex;
  std::condition_variable none;
  std::size_t count = 0;

  void add() {
    const std::scoped_lock lock(mutex);
    ++count;
  }
  void remove() {
    const std::scoped_lock lock(mutex);
    if (--count == 0) none.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex);
    none.wait(lock, [this] { return count == 0; });
  }
};

// Never destroyed, since threads may use it when the process ends. A forked child has none of the calls.
Open* open_calls = new Open;

CallOptions options_of_async_call() {
  CallOptions options;
  options.on_launcher = true;
  return options;
}

// The current exception as a Python object.
py::object python_error_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (...) {
    set_python_error();
  }
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return py::reinterpret_steal<py::object>(value);
}

// A running call.
struct Call : std::enable_shared_from_this<Call> {
  std::shared_ptr<Engine> engine;
  std::shared_ptr<SessionState> state;  // null means the module's own
  std::shared_ptr<const sr::detail::CarriedState> carried;
  std::shared_ptr<void> use;  // reserves the state until the call ends
  std::vector<c10::IValue> args;
  CallOptions options;
  std::shared_ptr<Told> told;

  Call(const Callee& callee, std::vector<c10::IValue> with, CallOptions chosen, py::function done)
      : engine(callee.engine),
        state(callee.session == nullptr ? nullptr : callee.session->session_state()),
        carried(callee.session == nullptr ? nullptr : callee.session->carried()),
        use(sr::detail::hold_state(state)),
        args(std::move(with)),
        options(std::move(chosen)),
        told(std::make_shared<Told>(callee.signature, std::move(done))) {}

  void run() {
    c10::IValue result;
    std::exception_ptr thrown;
    try {
      result = call_model(*engine, state.get(), carried.get(), std::move(args), &options,
                          /*holds_state=*/state != nullptr);
    } catch (...) {
      thrown = std::current_exception();
    }
    end(std::move(result), std::move(thrown));
  }

  void end(c10::IValue result, std::exception_ptr thrown) {
    told->end(std::move(result), std::move(thrown), [self = shared_from_this()] {
      self->args.clear();
      self->use.reset();
      self->engine.reset();
    });
  }
};

}  // namespace

// Tells Python the results of calls. A separate thread tells the results of awaited calls: it takes the GIL
// once for all calls that have ended, and the threads that run the calls do not wait for the GIL. The result
// of any other call is told by the thread that ran it, because its callback may wait for further calls.
class Teller {
 public:
  struct Ended {
    std::shared_ptr<Told> told;
    c10::IValue result;
    std::exception_ptr thrown;
    std::function<void()> release;

    // Needs the GIL. Leaves nothing that needs it.
    void tell() {
      release();
      release = nullptr;
      told->tell(std::move(result), std::exchange(thrown, nullptr));
    }
  };

  // Takes the GIL itself if the call is not awaited, or if no thread can be started.
  void add(Ended ended) {
    if (ended.told->is_awaited_ && push(ended)) return;
    {
      const pybind11::gil_scoped_acquire locked;
      ended.tell();
    }
    open_calls->remove();
  }

 private:
  // Python code that waits for the GIL gets it after so many.
  static constexpr std::size_t kAtOnce = 32;

  bool push(Ended& ended) {
    const std::scoped_lock lock(mutex_);
    if (!is_started_) {
      try {
        std::thread([this] { run(); }).detach();
      } catch (const std::system_error&) {
        return false;
      }
      is_started_ = true;
    }
    waiting_.push_back(std::move(ended));
    filled_.notify_one();
    return true;
  }

  [[noreturn]] void run() {
    while (true) {
      std::unique_lock lock(mutex_);
      filled_.wait(lock, [this] { return !waiting_.empty(); });
      lock.unlock();
      tell_some();
    }
  }

  // What ends while this waits for the GIL is told, too.
  void tell_some() {
    std::vector<Ended> some;
    {
      const pybind11::gil_scoped_acquire locked;
      {
        const std::scoped_lock lock(mutex_);
        while (!waiting_.empty() && some.size() < kAtOnce) {
          some.push_back(std::move(waiting_.front()));
          waiting_.pop_front();
        }
      }
      for (Ended& ended : some) ended.tell();
    }
    for (std::size_t i = 0; i < some.size(); ++i) open_calls->remove();
  }

  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<Ended> waiting_;
  bool is_started_ = false;
};

namespace {

// Like open_calls, this object is never destroyed: its thread waits in it until the process ends.
Teller* teller = new Teller;

}  // namespace

Told::Told(std::shared_ptr<const Signature> signature, py::function done)
    : signature_(std::move(signature)), done_(done.release().ptr()) {
  open_calls->add();
}

void Told::end(c10::IValue result, std::exception_ptr thrown, std::function<void()> release) {
  has_ended_ = true;
  teller->add({shared_from_this(), std::move(result), std::move(thrown), std::move(release)});
}

void Told::tell(c10::IValue result, std::exception_ptr thrown) {
  const auto told = py::reinterpret_steal<py::object>(std::exchange(done_, nullptr));
  const auto signature =
      std::exchange(signature_, nullptr);  // it holds Python objects, so it ends with the GIL
  if (!thrown) {
    try {
      told(signature->result(std::move(result)), py::none());
      return;
    } catch (...) {
      // The result cannot be converted to Python objects, or not to those with which the model was exported.
      thrown = std::current_exception();
    }
  }
  try {
    told(py::none(), python_error_of(thrown));
  } catch (py::error_already_set& error) {
    error.discard_as_unraisable("a call of sr that ended");
  }
}

RunningCall start(py::handle self, const py::tuple& args, const py::dict& kwargs, py::function done) {
  const Callee& callee = callee_of(self);
  std::stop_source stop;
  CallOptions options = options_of_async_call();
  options.stop = stop.get_token();
  auto values = callee.signature->bind(args, kwargs);
  auto call = std::make_shared<Call>(callee, std::move(values), options, std::move(done));
  try {
    without_gil([&] { sr::detail::launch(options, [call] { call->run(); }); });
  } catch (...) {  // no thread could be started
    if (!call->told->has_ended()) call->end({}, std::current_exception());
  }
  return {std::move(stop), call->told};
}

py::object run_async(py::handle self, const py::tuple& args, const py::dict& kwargs) {
  const Callee& callee = callee_of(self);
  std::vector<c10::IValue> values = callee.signature->bind(args, kwargs);
  const CallOptions options = options_of_async_call();
  return torch::jit::toPyObject(
      without_gil([&] { return c10::IValue(callee.engine->run_async(std::move(values), options)); }));
}

void define_async_calls(py::module_& module) {
  pthread_atfork(nullptr, nullptr, [] {
    open_calls = new Open;
    teller = new Teller;
  });
  py::class_<RunningCall>(module, "RunningCall")
      .def("stop", [](RunningCall& call) { call.stop.request_stop(); })
      .def("note_awaited", [](RunningCall& call) { call.told->note_awaited(); });
  // Returns when every `done` has returned. The interpreter waits for it at exit: no thread may outlive it.
  module.def("wait_for_async_calls", [] {
    const py::gil_scoped_release released;
    open_calls->wait();
  });
}

}  // namespace sr::python

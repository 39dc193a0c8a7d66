// What the handles of sr.h are, and the calls that they have in common.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <c10/core/Scalar.h>

#include <sr/batcher.hpp>
#include <sr/bound_call.hpp>
#include <sr/runtime_pool.hpp>
#include <sr/session.hpp>
#include <sr/static_module.hpp>

#include "failures.hpp"
#include "sr.h"
#include "tensors.hpp"
#include "values.hpp"

namespace sr::c {

// Descriptions of arguments or results, with the memory that they point to.
class Specs {
 public:
  explicit Specs(std::vector<ValueSpec> of);
  Specs(const Specs&) = delete;
  Specs& operator=(const Specs&) = delete;
  const std::vector<sr_spec>& all() const { return all_; }

 private:
  struct Sizes {
    std::vector<std::int64_t> numbers;
    std::vector<const char*> names;
  };
  std::vector<ValueSpec> of_;
  std::vector<Sizes> sizes_;
  std::vector<sr_spec> all_;
};

}  // namespace sr::c

struct sr_module {
  explicit sr_module(sr::StaticModule loaded)
      : module(std::move(loaded)), inputs(module.inputs()), outputs(module.outputs()) {}

  sr::StaticModule module;
  sr::c::Specs inputs, outputs;
};

struct sr_pool {
  sr::RuntimePool<> runtimes;
  sr::StaticModule module;  // whose schema calls read
};

struct sr_session {
  sr::Session session;
};

struct sr_bound {
  sr::BoundCall call;
};

struct sr_batcher {
  sr::Batcher batcher;
  sr::StaticModule module;
};

namespace sr::c {

// Calls with arguments by position and without options.
inline c10::IValue call_plainly(const RuntimePool<>& callee, const std::vector<c10::IValue>& args) {
  return callee.call_borrowed(args);
}
template <class Callee>
c10::IValue call_plainly(const Callee& callee, const std::vector<c10::IValue>& args) {
  return callee(args);
}

// Calls callee(args, named, options), or call_plainly if no option was chosen, and stores the results.
template <class Callee>
sr_status call(const Callee& callee, const c10::FunctionSchema& schema, const sr_value* args,
               std::size_t count, const sr_call_options* options, sr_results** results) {
  return guarded([&] {
    require(results, "results");
    *results = nullptr;
    CallFrame frame;
    if (options == nullptr) {
      frame.read(schema, args, count);
      *results = new sr_results(call_plainly(callee, frame.values()));
      return;
    }
    const auto given = known_part<sr_call_options>(options);
    frame.read(schema, args, count, given);
    *results = new sr_results(callee(frame.values(), frame.named(), read_options(given)));
  });
}

// Calls callee.run_into with tensors on the memory of the caller.
template <class Callee>
sr_status call_into(const Callee& callee, const c10::FunctionSchema& schema, const sr_value* args,
                    std::size_t count, const sr_tensor* outputs, std::size_t output_count) {
  return guarded([&] {
    CallFrame frame;
    frame.read(schema, args, count);
    frame.read_outputs(outputs, output_count);
    callee.run_into(frame.values(), frame.outputs());
  });
}

// Calls make() and stores the handle that it returns. `name` is the name of the parameter `made`, for errors.
template <class Handle, class Make>
sr_status make_handle(Handle** made, const char* name, const Make& make) {
  return guarded([&] {
    require(made, name);
    *made = nullptr;
    *made = make();
  });
}

// Returns tensors that lie on the caller's memory for longer than a call.
std::vector<at::Tensor> lasting_tensors(const sr_tensor* outputs, std::size_t count);

// Copies the text for sr_text_free. Throws std::bad_alloc.
char* copy_of(const std::string& text);

std::string json_of(const PoolReport& report);
std::string json_of(const BatcherReport& report);

// Writes the report of the object that source(handle) returns as JSON. `name` is the name of the parameter
// `handle`, for errors.
template <class Handle, class Source>
sr_status write_report(const Handle* handle, const char* name, const Source& source, char** json) {
  return guarded([&] {
    require(handle, name);
    require(json, "json");
    *json = copy_of(json_of(source(*handle).report()));
  });
}

}  // namespace sr::c

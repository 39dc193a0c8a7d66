// Converts arguments of sr.h to values of LibTorch, and holds results for the caller.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <c10/util/SmallVector.h>

#include <sr/base/call_options.hpp>

#include "sr.h"

namespace sr::c {

// Holds the arguments and output tensors of one call, which lie in the caller's memory. Each thread keeps the
// tensors of its last call and uses them again, because creating a tensor is slow. A nested call creates new
// ones.
class CallFrame {
 public:
  CallFrame();
  CallFrame(const CallFrame&) = delete;
  CallFrame& operator=(const CallFrame&) = delete;
  // Releases everything but tensors that the next call can place elsewhere.
  ~CallFrame();

  // Reads arguments as the schema declares them, except for the last `named`. Throws ArgumentError.
  void read(const c10::FunctionSchema& schema, const sr_value* args, std::size_t count,
            std::size_t named = 0);
  // Reads all arguments, of which the options name the last.
  void read(const c10::FunctionSchema& schema, const sr_value* args, std::size_t count,
            const sr_call_options& options);
  void read_outputs(const sr_tensor* outputs, std::size_t count);

  const std::vector<c10::IValue>& values() const { return kept_->values; }
  // Requires that arguments were read with options.
  const KeywordArgs& named() const { return *named_; }
  const std::vector<at::Tensor>& outputs() const { return kept_->outputs; }

 private:
  struct Kept {
    std::vector<c10::IValue> values;
    std::vector<at::Tensor> outputs;
    bool is_in_use = false;
  };
  static Kept& of_thread();

  Kept* kept_;
  std::unique_ptr<Kept> own_;         // null if the thread's are used
  std::optional<KeywordArgs> named_;  // whose destruction takes time also when it is empty
};

// Reads arguments that may outlive the call. Throws ArgumentError.
struct Arguments {
  std::vector<c10::IValue> values;
  KeywordArgs named;
};
Arguments read_arguments(const c10::FunctionSchema& schema, const sr_value* args, std::size_t count,
                         const sr_call_options& options);
// Reads a value that is no argument. `name` is for messages.
c10::IValue read_value(const sr_value& given, const char* name);

// Returns the options for the model.
CallOptions read_options(const sr_call_options& options);

}  // namespace sr::c

struct sr_cancel {
  std::stop_source source;
};

struct sr_results {
  // Throws UnsupportedOpError for a result that sr.h cannot describe.
  explicit sr_results(c10::IValue of);

  // A thread keeps the memory of the results that it has freed last for the next call.
  static void* operator new(std::size_t size);
  static void operator delete(void* memory);

  c10::IValue value;
  c10::SmallVector<sr_tensor, 2> described;  // its tensors, depth first
  std::vector<at::Tensor> resolved;          // of those whose conjugation or sign is lazy, what is described
  std::vector<std::unique_ptr<sr_value[]>> elements;  // of containers; made when they are asked for
  sr_value root = {};
  bool has_root = false;
};

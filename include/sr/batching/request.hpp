// A request to a Batcher, and the signature that requests of one batch have in common.
#pragma once

#include <bit>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <sr/base/call_options.hpp>
#include <sr/base/error.hpp>
#include <sr/batching/options_for.hpp>
#include <sr/module/row_counts.hpp>
#include <sr/module/session_state.hpp>
#include <sr/replay/trace/signature.hpp>

namespace sr::detail {

// The request of a caller that blocks lives on the caller's stack; the queue owns a request that was
// submitted. Once a request waits, the mutex of the queue guards the members from `is_taken` on.
struct Request {
  std::vector<c10::IValue> args;
  std::shared_ptr<SessionState> state;  // of the session whose call this is; null if the model has none
  std::optional<StateUse> use;          // of `state`, until the request is answered
  std::int64_t rows = 0;
  std::int64_t length = 0;           // in the first entry of BatcherOptions::padding
  bool joins = true;                 // may be in a batch with others
  replay::SignatureWords signature;  // equal for requests that can be joined
  CallOptions options;
  CallOptions::Clock::time_point arrived;
  c10::intrusive_ptr<c10::ivalue::Future> future;  // of a request that was submitted; else null

  // Wakes the threads of the queue when a submitted request is cancelled.
  std::optional<std::stop_callback<std::function<void()>>> on_stop;

  bool is_taken = false;  // by a batch
  bool is_done = false;
  std::condition_variable changed;
  c10::IValue result;
  std::exception_ptr error;
};

using Batch = std::vector<Request*>;  // all with equal signatures; at least one

// True if the request can be in a batch, which has `rows` rows so far.
inline bool fits(const Request& request, const Batch& batch, std::int64_t rows, std::int64_t max_rows) {
  if (batch.empty()) return true;
  return batch[0]->joins && request.joins && rows + request.rows <= max_rows &&
         request.signature == batch[0]->signature;
}

// Describes the arguments and the state of a request as a list of integers. Leaves out sizes that may differ
// between the requests of a batch.
class RequestSignature {
 public:
  // `state_dims` has the dimension of the rows in each variable. All must outlive this object.
  RequestSignature(const BatcherOptions& options, const std::vector<std::int64_t>& state_dims,
                   const RowCounts& row_counts, Request& request)
      : options_(options), state_dims_(state_dims), row_counts_(row_counts), request_(request) {}

  // Throws ArgumentError if tensors differ in their numbers of rows.
  void describe() {
    for (std::size_t i = 0; i < request_.args.size(); ++i) add(i, request_.args[i]);
    if (!has_rows_) request_.joins = false;
    if (request_.state == nullptr || !request_.joins) return;
    const StateValues& state = request_.state->values();
    if (!state.self().isNone() || state.is_shared() || !row_counts_.may_join()) request_.joins = false;
    for (std::size_t v = 0; v < state_dims_.size() && request_.joins; ++v) {
      const c10::IValue& value = state.variables()[v];
      const bool has_rows = row_counts_.has(v) && value.isInt() && value.toInt() == request_.rows;
      has_rows ? words({kRowCount}) : add_variable(value, state_dims_[v]);
    }
  }

 private:
  // What begins the description of a variable; that of other values begins with none below 0.
  static constexpr std::int64_t kRowCount = -1, kContainer = -2, kTensor = -3;

  void add(std::size_t position, const c10::IValue& value) {
    if (value.isTensor() && value.toTensor().defined()) {
      is_shared(options_, position) ? add_shared(value.toTensor()) : add_rows(position, value.toTensor());
    } else if (value.isInt()) {
      words({1, value.toInt()});
    } else if (value.isBool()) {
      words({2, value.toBool() ? 1 : 0});
    } else if (value.isDouble()) {
      words({3, std::bit_cast<std::int64_t>(value.toDouble())});
    } else if (value.isNone()) {
      words({4});
    } else if (value.isString()) {
      const std::string& text = value.toStringRef();
      words({5, static_cast<std::int64_t>(text.size())});
      for (const char letter : text) words({letter});
    } else if (value.isIntList()) {
      const std::vector<std::int64_t> numbers = value.toIntVector();
      words({6, static_cast<std::int64_t>(numbers.size())});
      request_.signature.append(numbers.begin(), numbers.end());
    } else {
      request_.joins = false;  // containers of tensors, objects
    }
  }

  void add_shared(const at::Tensor& tensor) {
    words({7, reinterpret_cast<std::int64_t>(tensor.unsafeGetTensorImpl())});
  }

  void add_rows(std::size_t position, const at::Tensor& tensor) {
    const std::int64_t rank = tensor.dim(), dim = options_.dim;
    if (tensor.layout() != at::kStrided || dim >= rank) {
      request_.joins = false;
      return;
    }
    note_rows(position, tensor.size(dim));
    words({8, static_cast<std::int64_t>(tensor.scalar_type()), rank});
    for (std::int64_t d = 0; d < rank; ++d) {
      if (d != dim && !note_padded(position, d, tensor.size(d))) words({tensor.size(d)});
    }
  }

  void add_variable(const c10::IValue& value, std::int64_t dim) {
    if (value.isTensor() && value.toTensor().defined()) return add_variable(value.toTensor(), dim);
    const auto add_all = [&](const auto& elements) {
      words({kContainer, static_cast<std::int64_t>(elements.size())});
      for (const auto& element : elements) add_variable(element, dim);
    };
    if (value.isList()) return add_all(value.toListRef());
    if (value.isTuple()) return add_all(value.toTupleRef().elements());
    if (value.isGenericDict() || !replay::detail::describe(value, request_.signature)) request_.joins = false;
  }
  void add_variable(const at::Tensor& tensor, std::int64_t dim) {
    if (tensor.layout() != at::kStrided || dim >= tensor.dim() || tensor.size(dim) != request_.rows) {
      request_.joins = false;
      return;
    }
    words({kTensor, static_cast<std::int64_t>(tensor.scalar_type()), tensor.dim()});
    for (std::int64_t d = 0; d < tensor.dim(); ++d) {
      if (d != dim) words({tensor.size(d)});
    }
  }

  void note_rows(std::size_t position, std::int64_t rows) {
    if (has_rows_ && rows != request_.rows) {
      throw ArgumentError("The request has " + std::to_string(request_.rows) + " rows, but argument " +
                          std::to_string(position) + " has " + std::to_string(rows) + " along dimension " +
                          std::to_string(options_.dim) +
                          ". Name arguments without rows in BatcherOptions::shared.");
    }
    has_rows_ = true;
    request_.rows = rows;
  }

  bool note_padded(std::size_t position, std::int64_t dim, std::int64_t size) {
    for (const Padding& padding : options_.padding) {
      if (padding.argument != position || padding.dim != dim) continue;
      if (&padding == &options_.padding.front()) request_.length = size;
      return true;
    }
    return false;
  }

  void words(std::initializer_list<std::int64_t> more) {
    request_.signature.append(more.begin(), more.end());
  }

  const BatcherOptions& options_;
  const std::vector<std::int64_t>& state_dims_;
  const RowCounts& row_counts_;
  Request& request_;
  bool has_rows_ = false;
};

}  // namespace sr::detail

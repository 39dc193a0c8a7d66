// A request to a Batcher, and the signature that requests of one batch have in common.
#pragma once

#include <bit>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
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

namespace sr::detail {

// The request of a caller that blocks lives on the caller's stack; the queue owns a request that was
// submitted. Once a request waits, the mutex of the queue guards the members from `is_taken` on.
struct Request {
  std::vector<c10::IValue> args;
  std::int64_t rows = 0;
  std::int64_t length = 0;              // in the first entry of BatcherOptions::padding
  bool joins = true;                    // may be in a batch with others
  std::vector<std::int64_t> signature;  // equal for requests that can be joined
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

// Describes the arguments of a request as a list of integers. Sizes that may differ between the requests of a
// batch are left out.
class RequestSignature {
 public:
  RequestSignature(const BatcherOptions& options, Request& request) : options_(options), request_(request) {}

  // Throws ArgumentError if tensors differ in their numbers of rows.
  void describe() {
    for (std::size_t i = 0; i < request_.args.size(); ++i) add(i, request_.args[i]);
    if (!has_rows_) request_.joins = false;
  }

 private:
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
      request_.signature.insert(request_.signature.end(), numbers.begin(), numbers.end());
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
    request_.signature.insert(request_.signature.end(), more);
  }

  const BatcherOptions& options_;
  Request& request_;
  bool has_rows_ = false;
};

}  // namespace sr::detail

#include "batches.hpp"

#include <ATen/ATen.h>

#include <sr/error.hpp>

namespace sr::tool {

ArgumentList with_batch(const ArgumentList& args, std::int64_t batch) {
  if (args.empty() || !args[0].isTensor() || args[0].toTensor().dim() == 0 ||
      args[0].toTensor().size(0) == 0) {
    throw ArgumentError(
        "--batch changes dimension 0 of the first argument, which therefore has to be a tensor with rows, "
        "but "
        "the arguments are " +
        text_of(args) + ". Leave --batch out, or tune a model that takes the batch first.");
  }
  const std::int64_t rows = args[0].toTensor().size(0);
  const at::Tensor taken = at::arange(batch, at::kLong).remainder(rows);
  ArgumentList scaled = args;
  for (c10::IValue& value : scaled) {
    if (!value.isTensor()) continue;
    const at::Tensor& tensor = value.toTensor();
    if (tensor.dim() == 0 || tensor.size(0) != rows) continue;
    value = tensor.index_select(0, taken).contiguous(tensor.suggest_memory_format());
  }
  return scaled;
}

std::string text_of(const ArgumentList& args) {
  std::string text = "(";
  for (const c10::IValue& value : args) {
    if (text.size() > 1) text += ", ";
    text += value.isTensor() ? c10::str(value.toTensor().scalar_type(), value.toTensor().sizes())
                             : value.tagKind();
  }
  return text + ")";
}

}  // namespace sr::tool

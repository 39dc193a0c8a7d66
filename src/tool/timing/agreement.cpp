#include "agreement.hpp"

#include <cmath>

#include <ATen/ATen.h>

namespace sr::tool {
namespace {

void collect_tensors(const c10::IValue& value, std::vector<at::Tensor>& into) {
  if (value.isTensor()) {
    into.push_back(value.toTensor());
  } else if (value.isTuple()) {
    for (const c10::IValue& item : value.toTupleRef().elements()) collect_tensors(item, into);
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) collect_tensors(item, into);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) collect_tensors(entry.value(), into);
  }
}

void differ(Agreement& agreement, const std::string& sentence) {
  if (agreement.agrees) agreement.difference = sentence;
  agreement.agrees = false;
}

std::string describe(const at::Tensor& tensor) {
  return tensor.defined() ? c10::str(tensor.scalar_type(), tensor.sizes()) : "an undefined tensor";
}

void compare_tensors(const at::Tensor& expected, const at::Tensor& actual, Agreement& agreement) {
  if (!expected.defined() && !actual.defined()) return;
  if (!expected.defined() || !actual.defined() || expected.scalar_type() != actual.scalar_type() ||
      !expected.sizes().equals(actual.sizes())) {
    return differ(agreement, "expected " + describe(expected) + ", got " + describe(actual));
  }
  if (expected.numel() == 0) return;
  const auto plain = [](const at::Tensor& tensor) {
    const at::Tensor values = tensor.is_quantized() ? tensor.dequantize() : tensor.to_dense();
    return values.is_complex() ? at::view_as_real(values.resolve_conj()).to(at::kDouble)
                               : values.to(at::kDouble);
  };
  const at::Tensor a = plain(expected), b = plain(actual);
  // Equal infinities and NaN at the same place are no difference.
  const at::Tensor same = at::logical_or(a == b, at::logical_and(at::isnan(a), at::isnan(b)));
  const double largest = at::where(same, at::zeros_like(a), (a - b).abs()).max().item<double>();
  if (std::isnan(largest) || largest > agreement.max_abs_diff) agreement.max_abs_diff = largest;
  if (largest != 0) {
    const double relative = ((a - b).norm() / a.norm()).item<double>();
    if (std::isnan(relative) || relative > agreement.relative) agreement.relative = relative;
  }
  if (!at::allclose(b, a, 1e-4, 1e-5, /*equal_nan=*/true)) {
    differ(agreement, c10::str("the values of ", describe(expected), " differ by up to ", largest));
  }
}

template <class Items>
void compare_items(const Items& expected, const Items& actual, Agreement& agreement);

void compare_values(const c10::IValue& expected, const c10::IValue& actual, Agreement& agreement) {
  if (expected.tagKind() != actual.tagKind() && !(expected.isList() && actual.isList())) {
    return differ(agreement, "expected a value of type " + expected.tagKind() + ", got " + actual.tagKind());
  }
  if (expected.isTensor()) return compare_tensors(expected.toTensor(), actual.toTensor(), agreement);
  if (expected.isTuple()) {
    return compare_items(expected.toTupleRef().elements().vec(), actual.toTupleRef().elements().vec(),
                         agreement);
  }
  if (expected.isList())
    return compare_items(expected.toListRef().vec(), actual.toListRef().vec(), agreement);
  if (expected.isGenericDict()) {
    const auto wanted = expected.toGenericDict(), found = actual.toGenericDict();
    if (wanted.size() != found.size()) return differ(agreement, "the number of entries of a dict differs");
    for (const auto& entry : wanted) {
      const auto match = found.find(entry.key());
      if (match == found.end()) return differ(agreement, "a key of a dict is missing");
      compare_values(entry.value(), match->value(), agreement);
    }
    return;
  }
  if (expected.isDouble()) {
    return compare_tensors(at::scalar_tensor(expected.toDouble(), at::kDouble),
                           at::scalar_tensor(actual.toDouble(), at::kDouble), agreement);
  }
  // Objects define no equality, and their members are not compared.
  if (expected.isObject() || expected.isFuture()) return;
  if (expected != actual) differ(agreement, c10::str("expected ", expected, ", got ", actual));
}

template <class Items>
void compare_items(const Items& expected, const Items& actual, Agreement& agreement) {
  if (expected.size() != actual.size()) {
    return differ(agreement, c10::str("expected ", expected.size(), " items, got ", actual.size()));
  }
  for (std::size_t i = 0; i < expected.size(); ++i) compare_values(expected[i], actual[i], agreement);
}

}  // namespace

std::vector<at::Tensor> tensors_of(const c10::IValue& result) {
  std::vector<at::Tensor> tensors;
  collect_tensors(result, tensors);
  return tensors;
}

Agreement compare(const c10::IValue& expected, const c10::IValue& actual) {
  Agreement agreement;
  compare_values(expected, actual, agreement);
  return agreement;
}

}  // namespace sr::tool

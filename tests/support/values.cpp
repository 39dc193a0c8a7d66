#include "support/values.hpp"

#include <cmath>
#include <cstring>
#include <map>
#include <sstream>

#include <c10/core/CPUAllocator.h>

namespace sr::test {

bool has_storage(const at::Tensor& tensor) {
  return tensor.defined() && tensor.unsafeGetTensorImpl()->has_storage();
}

namespace {

// --- walking values
// ---------------------------------------------------------------------------------------------

using Copies = std::map<const c10::StorageImpl*, c10::Storage>;

at::Tensor copy_tensor(const at::Tensor& tensor, Copies& copies) {
  if (!has_storage(tensor) || tensor.is_quantized() || !tensor.device().is_cpu()) {
    return tensor.defined() ? tensor.clone() : tensor;
  }
  const c10::Storage& storage = tensor.storage();
  const auto [position, is_new] = copies.try_emplace(storage.unsafeGetStorageImpl());
  if (is_new) {
    c10::Storage bytes(c10::Storage::use_byte_size_t(), storage.nbytes(), c10::GetCPUAllocator(), true);
    if (storage.nbytes() != 0) std::memcpy(bytes.mutable_data(), storage.data(), storage.nbytes());
    position->second = bytes;
  }
  at::Tensor copy = at::empty({0}, tensor.options().requires_grad(false));
  copy.set_(position->second, tensor.storage_offset(), tensor.sizes(), tensor.strides());
  if (tensor.is_conj()) copy._set_conj(true);
  if (tensor.is_neg()) copy._set_neg(true);
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) copy.unsafeGetTensorImpl()->set_wrapped_number(true);
  return copy;
}

c10::IValue copy_value(const c10::IValue& value, Copies& copies) {
  if (value.isTensor()) return copy_tensor(value.toTensor(), copies);
  if (value.isTuple()) {
    std::vector<c10::IValue> elements;
    for (const c10::IValue& element : value.toTupleRef().elements())
      elements.push_back(copy_value(element, copies));
    const auto type = value.type()->expect<c10::TupleType>();
    return type->name() ? c10::ivalue::Tuple::createNamed(std::move(elements), type)
                        : c10::ivalue::Tuple::create(std::move(elements));
  }
  if (value.isList()) {
    c10::impl::GenericList list(value.type()->expectRef<c10::ListType>().getElementType());
    for (const c10::IValue& element : value.toListRef()) list.push_back(copy_value(element, copies));
    return list;
  }
  if (value.isGenericDict()) {
    const auto from = value.toGenericDict();
    c10::impl::GenericDict dict(from.keyType(), from.valueType());
    for (const auto& entry : from) dict.insert(entry.key(), copy_value(entry.value(), copies));
    return dict;
  }
  return value;
}

// --- comparing
// --------------------------------------------------------------------------------------------------

std::string describe(const at::Tensor& tensor) {
  return c10::str(tensor.scalar_type(), tensor.sizes(), " strides ",
                  tensor.layout() == at::kStrided ? tensor.strides() : at::IntArrayRef());
}

bool same_strides(const at::Tensor& a, const at::Tensor& b, const OracleOptions& options) {
  if (!options.strides) return a.is_contiguous() == b.is_contiguous();
  if (options.unread_strides) return a.strides().equals(b.strides());
  for (std::int64_t dim = 0; a.numel() != 0 && dim < a.dim(); ++dim) {
    if (a.size(dim) > 1 && a.stride(dim) != b.stride(dim)) return false;
  }
  return true;
}

std::string compare_tensors(const at::Tensor& expected, const at::Tensor& actual,
                            const OracleOptions& options) {
  if (expected.defined() != actual.defined()) return "one of the tensors is undefined";
  if (!expected.defined()) return {};
  const auto both = [&](const std::string& what) {
    return what + ": expected " + describe(expected) + ", got " + describe(actual);
  };
  if (expected.scalar_type() != actual.scalar_type()) return both("dtype");
  if (!expected.sizes().equals(actual.sizes())) return both("sizes");
  if (expected.layout() != actual.layout()) return "layout";
  if (expected.is_quantized()) return compare_tensors(expected.dequantize(), actual.dequantize(), options);
  if (expected.layout() != at::kStrided)
    return compare_tensors(expected.to_dense(), actual.to_dense(), options);
  if (expected.is_non_overlapping_and_dense() != actual.is_non_overlapping_and_dense())
    return both("density");
  if (!same_strides(expected, actual, options)) return both("strides");
  if (expected.requires_grad() != actual.requires_grad()) return "requires_grad";
  if (expected.is_conj() != actual.is_conj() || expected.is_neg() != actual.is_neg())
    return "conj or neg bit";
  const at::Tensor a = expected.resolve_conj().resolve_neg().contiguous();
  const at::Tensor b = actual.resolve_conj().resolve_neg().contiguous();
  if (a.nbytes() == 0 || std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0) return {};
  at::Tensor same = at::eq(a, b).logical_or(at::ne(a, a).logical_and(at::ne(b, b)));
  if (options.rtol > 0 || options.atol > 0) same = at::isclose(a, b, options.rtol, options.atol, true);
  if (same.all().item<bool>()) return {};
  std::ostringstream text;
  text << "values of " << describe(expected) << ": " << same.logical_not().sum().item<std::int64_t>()
       << " of " << a.numel() << " differ";
  if (a.numel() <= 24) text << ", expected " << a.flatten() << "\ngot " << b.flatten();
  return text.str();
}

}  // namespace

std::string compare_values(const c10::IValue& expected, const c10::IValue& actual,
                           const OracleOptions& options, const std::string& path) {
  const auto at = [&](const std::string& what) { return what.empty() ? what : path + ": " + what; };
  if (expected.tagKind() != actual.tagKind()) {
    return at("expected " + expected.tagKind() + ", got " + actual.tagKind());
  }
  if (expected.isTensor()) return at(compare_tensors(expected.toTensor(), actual.toTensor(), options));
  const auto each = [&](const auto& a, const auto& b) -> std::string {
    if (a.size() != b.size()) return at(c10::str("expected ", a.size(), " elements, got ", b.size()));
    for (std::size_t i = 0; i < a.size(); ++i) {
      std::string found = compare_values(a[i], b[i], options, path + "." + std::to_string(i));
      if (!found.empty()) return found;
    }
    return {};
  };
  if (expected.isList() || expected.isTuple() || expected.isGenericDict()) {
    if (*expected.type() != *actual.type() && !expected.isTuple()) {
      return at("expected " + expected.type()->repr_str() + ", got " + actual.type()->repr_str());
    }
  }
  if (expected.isList()) return each(expected.toListRef(), actual.toListRef());
  if (expected.isTuple()) {
    const auto names = [](const c10::IValue& value) {
      const auto name = value.type()->expectRef<c10::TupleType>().name();
      return name ? name->qualifiedName() : std::string();
    };
    if (names(expected) != names(actual))
      return at("expected tuple " + names(expected) + ", got " + names(actual));
    return each(expected.toTupleRef().elements(), actual.toTupleRef().elements());
  }
  if (expected.isGenericDict()) {
    std::vector<c10::IValue> a, b;
    for (const auto& entry : expected.toGenericDict()) a.insert(a.end(), {entry.key(), entry.value()});
    for (const auto& entry : actual.toGenericDict()) b.insert(b.end(), {entry.key(), entry.value()});
    return each(a, b);
  }
  if (expected.isDouble()) {
    const double a = expected.toDouble(), b = actual.toDouble();
    const bool same =
        a == b || (a != a && b != b) || std::abs(a - b) <= options.atol + options.rtol * std::abs(a);
    return same ? std::string() : at(c10::str("expected ", a, ", got ", b));
  }
  if (expected.isComplexDouble()) {
    const c10::complex<double> a = expected.toComplexDouble(), b = actual.toComplexDouble();
    return each(std::vector<c10::IValue>{a.real(), a.imag()}, std::vector<c10::IValue>{b.real(), b.imag()});
  }
  if (expected.isObject()) return {};
  std::ostringstream text;
  if (expected != actual) text << "expected " << expected << ", got " << actual;
  return at(text.str());
}

Sharing sharing(const InputSet& inputs, const c10::IValue& result) {
  Sharing pattern;
  std::map<const c10::StorageImpl*, std::size_t> seen;
  const auto add = [&](const at::Tensor& tensor) {
    if (!has_storage(tensor)) return;
    const std::size_t id =
        seen.try_emplace(tensor.storage().unsafeGetStorageImpl(), seen.size()).first->second;
    // The address of an empty tensor depends on strides that nothing reads.
    pattern.emplace_back(id, tensor.numel() == 0 ? 0 : tensor.storage_offset());
  };
  for (const c10::IValue& input : inputs) each_tensor(input, add);
  each_tensor(result, add);
  return pattern;
}

std::string show(const Sharing& pattern) {
  std::string text;
  for (const auto& [storage, offset] : pattern) text += c10::str(" ", storage, "+", offset);
  return text;
}

std::vector<std::size_t> references(const InputSet& inputs, const c10::IValue& result, bool of_result) {
  std::vector<std::size_t> counts;
  const auto add = [&](const at::Tensor& tensor) {
    if (!has_storage(tensor)) return;
    counts.push_back(tensor.use_count());
    counts.push_back(tensor.storage().use_count());
  };
  for (const c10::IValue& input : inputs) each_tensor(input, add);
  if (of_result) each_tensor(result, add);
  return counts;
}

InputSet copy_inputs(const InputSet& inputs) {
  Copies copies;
  std::map<const c10::TensorImpl*, at::Tensor> same;  // a tensor that is passed twice stays one tensor
  InputSet all;
  for (const c10::IValue& input : inputs) {
    if (input.isTensor() && input.toTensor().defined()) {
      const auto [position, is_new] = same.try_emplace(input.toTensor().unsafeGetTensorImpl());
      if (is_new) position->second = copy_tensor(input.toTensor(), copies);
      all.emplace_back(position->second);
    } else {
      all.push_back(copy_value(input, copies));
    }
  }
  return all;
}

at::Tensor transposed(const at::Tensor& tensor) {
  return tensor.dim() < 2 ? tensor : tensor.transpose(0, -1).contiguous().transpose(0, -1);
}

at::Tensor stepped(const at::Tensor& tensor) {
  if (tensor.dim() == 0) return tensor;
  std::vector<std::int64_t> sizes = tensor.sizes().vec();
  sizes.back() = 2 * sizes.back() + 1;
  return at::zeros(sizes, tensor.options()).slice(-1, 1, sizes.back(), 2).copy_(tensor);
}

std::string difference(const c10::IValue& expected, const c10::IValue& actual, const OracleOptions& options) {
  return compare_values(expected, actual, options, "result");
}

}  // namespace sr::test

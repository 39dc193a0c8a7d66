// Writes a torch.save file that torch.load(weights_only=True) accepts. LibTorch's own writer tags lists with
// functions that weights_only refuses, and names storage classes for the newer dtypes that Python does not
// have.
#pragma once

#include <bit>
#include <caffe2/serialize/inline_container.h>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

#include <sr/error.hpp>
#include <sr/frontend/pickle/scalar_type_names.hpp>

namespace sr::tool {

class Pickler {
 public:
  Pickler() { pickle_ = "\x80\x02"; }

  void add(const c10::IValue& value) {
    if (value.isNone()) {
      pickle_ += 'N';
    } else if (value.isTensor()) {
      add_tensor(value.toTensor());
    } else if (value.isBool()) {
      pickle_ += value.toBool() ? '\x88' : '\x89';
    } else if (value.isInt()) {
      add_int(value.toInt());
    } else if (value.isDouble()) {
      add_real(value.toDouble());
    } else if (value.isComplexDouble()) {
      begin_call("builtins", "complex");
      add_real(value.toComplexDouble().real());
      add_real(value.toComplexDouble().imag());
      end_call();
    } else if (value.isString()) {
      add_text(value.toStringRef());
    } else if (value.isDevice()) {
      begin_call("torch", "device");
      add_text(value.toDevice().str());
      end_call();
    } else if (value.isTuple()) {
      pickle_ += '(';
      for (const c10::IValue& item : value.toTupleRef().elements()) add(item);
      pickle_ += 't';
    } else if (value.isList()) {
      pickle_ += "](";
      for (const c10::IValue& item : value.toListRef()) add(item);
      pickle_ += 'e';
    } else if (value.isGenericDict()) {
      pickle_ += "}(";
      for (const auto& item : value.toGenericDict()) {
        add(item.key());
        add(item.value());
      }
      pickle_ += 'u';
    } else {
      throw ArgumentError(
          "A value of type " + value.type()->repr_str() +
          " cannot be written for torch.load; tensors, numbers, strings, None, and lists, tuples and "
          "dicts of them can.");
    }
  }

  // The whole file, after the last value was added.
  std::string finish() {
    std::string archive;
    caffe2::serialize::PyTorchStreamWriter writer([&](const void* bytes, std::size_t size) {
      archive.append(static_cast<const char*>(bytes), size);
      return size;
    });
    pickle_ += '.';
    writer.writeRecord("data.pkl", pickle_.data(), pickle_.size());
    constexpr std::string_view order = std::endian::native == std::endian::little ? "little" : "big";
    writer.writeRecord("byteorder", order.data(), order.size());
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      writer.writeRecord("data/" + std::to_string(i), tensors_[i].const_data_ptr(), tensors_[i].nbytes());
    }
    writer.writeEndOfFile();
    return archive;
  }

 private:
  void add_number(std::uint64_t value, unsigned width) {
    for (unsigned i = 0; i < width; ++i) pickle_ += static_cast<char>(value >> (8 * i) & 0xFF);
  }

  void add_int(std::int64_t value) {
    if (value == static_cast<std::int32_t>(value)) {
      pickle_ += 'J';
      add_number(static_cast<std::uint64_t>(value), 4);
    } else {
      pickle_ += "\x8a\x08";
      add_number(static_cast<std::uint64_t>(value), 8);
    }
  }

  void add_real(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    pickle_ += 'G';
    for (int shift = 56; shift >= 0; shift -= 8) pickle_ += static_cast<char>(bits >> shift & 0xFF);
  }

  void add_text(std::string_view text) {
    if (text.size() > 0xFFFFFFFF)
      throw ArgumentError("A string of more than 4 GB cannot be written for torch.load.");
    pickle_ += 'X';
    add_number(text.size(), 4);
    pickle_ += text;
  }

  void add_global(std::string_view module, std::string_view name) {
    pickle_ += 'c';
    pickle_ += module;
    pickle_ += '\n';
    pickle_ += name;
    pickle_ += '\n';
  }

  void begin_call(std::string_view module, std::string_view name) {
    add_global(module, name);
    pickle_ += '(';
  }
  void end_call() { pickle_ += "tR"; }

  void add_lengths(at::IntArrayRef lengths) {
    pickle_ += '(';
    for (const std::int64_t length : lengths) add_int(length);
    pickle_ += 't';
  }

  void add_tensor(const at::Tensor& tensor) {
    if (!tensor.defined()) {
      pickle_ += 'N';
      return;
    }
    const auto* type = detail::find_scalar_type(&detail::ScalarTypeName::type, tensor.scalar_type());
    if (type == nullptr || tensor.layout() != at::kStrided || tensor.is_meta() || tensor.is_nested()) {
      throw ArgumentError("A tensor of dtype " + std::string(c10::toString(tensor.scalar_type())) + " on " +
                          tensor.device().str() +
                          " that is not a plain dense one cannot be written for torch.load.");
    }
    // A copy has no more storage than elements; it keeps the strides of a dense tensor.
    tensors_.push_back(tensor.detach().cpu().resolve_conj().resolve_neg().clone());
    const at::Tensor& copy = tensors_.back();
    const bool typed = !type->storage.empty();
    begin_call("torch._utils", typed ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
    pickle_ += '(';
    add_text("storage");
    if (typed) {
      add_global("torch", type->storage);
    } else {
      add_global("torch.storage", "UntypedStorage");
    }
    add_text(std::to_string(tensors_.size() - 1));
    add_text("cpu");
    add_int(typed ? copy.numel() : static_cast<std::int64_t>(copy.nbytes()));
    pickle_ += "tQ";
    add_int(0);
    add_lengths(copy.sizes());
    add_lengths(copy.strides());
    pickle_ += '\x89';  // no gradient
    add_global("collections", "OrderedDict");
    pickle_ += ")R";  // no hooks
    if (!typed) add_global("torch", type->python);
    end_call();
  }

  std::string pickle_;
  std::vector<at::Tensor> tensors_;
};

}  // namespace sr::tool

// Copies in another dtype or memory format: to, type_as, contiguous, clone. They may return the tensor
// itself.
#pragma once

#include <optional>

#include <sr/ops/conversion/layouts.hpp>
#include <sr/ops/conversion/lowering.hpp>
#include <sr/ops/factories/entries.hpp>
#include <sr/ops/parts.hpp>
#include <sr/registry/dispatched.hpp>
#include <sr/registry/op.hpp>
#include <sr/replay/lowering/copies.hpp>

namespace sr::ops {

struct Clone {
  void operator()(const at::Tensor& self, Format format, at::Tensor& out) const {
    give_sizes(out, self.sizes(), format);
    at::native::copy_(out, self);
  }
};

struct Contiguous {
  at::Tensor operator()(const at::Tensor& self, const c10::IValue& memory_format) const {
    return self.contiguous(memory_format.toMemoryFormat());
  }
};

struct ToDtype {
  at::Tensor operator()(const at::Tensor& self, at::ScalarType dtype, bool non_blocking, bool copy,
                        const c10::IValue& memory_format) const {
    return self.to(dtype, non_blocking, copy, memory_format.toOptional<at::MemoryFormat>());
  }
};

struct ToCpu {
  at::Tensor operator()(const at::Tensor& self) const { return self.cpu(); }
};

// x.to(...) with an optional device and dtype. Copies only if asked to, or if something changes.
inline at::Tensor converted(const at::Tensor& self, std::optional<at::Device> device,
                            std::optional<std::int64_t> dtype, bool non_blocking, bool copy) {
  if (!device && !dtype && !copy) return self;
  const auto type = dtype ? static_cast<at::ScalarType>(*dtype) : self.scalar_type();
  return device ? self.to(*device, type, non_blocking, copy) : self.to(type, non_blocking, copy);
}

struct ToDeviceOrDtype {
  at::Tensor operator()(const at::Tensor& self, std::optional<at::Device> device,
                        std::optional<std::int64_t> dtype, bool non_blocking, bool copy) const {
    return converted(self, device, dtype, non_blocking, copy);
  }
};

struct ToDtypeOrSame {
  at::Tensor operator()(const at::Tensor& self, std::optional<std::int64_t> dtype, bool non_blocking,
                        bool copy) const {
    return converted(self, std::nullopt, dtype, non_blocking, copy);
  }
};

struct ToSame {
  at::Tensor operator()(const at::Tensor& self, bool non_blocking, bool copy) const {
    return converted(self, std::nullopt, std::nullopt, non_blocking, copy);
  }
};

namespace registered {

inline const OutVariant<"aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", Clone,
                        Lower<&lower::copy>, Layouts<&layouts::clone>, Images<&lower::images_of_any_layout>>
    clone_tensor;

inline const Native<
    "aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)",
    Contiguous, Lower<&lower::copy>, Layouts<&layouts::contiguous>, Images<&lower::images_of_any_layout>>
    contiguous;

inline const Native<
    "aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, "
    "MemoryFormat? "
    "memory_format=None) -> Tensor(a)",
    ToDtype, Lower<&lower::cast_or_epilogue>, LowerToIterator<&lower::convert>, Layouts<&layouts::convert>,
    Images<&lower::images_of_one_layout>>
    to_dtype;

inline const NativeOf<at::_ops::to_device, Lower<&lower::cast_or_epilogue>, LowerToIterator<&lower::convert>,
                      Layouts<&layouts::convert>, Images<&lower::images_of_one_layout>>
    to_device;

inline const NativeOf<at::_ops::to_other, Lower<&lower::cast_or_epilogue>, LowerToIterator<&lower::convert>,
                      Layouts<&layouts::convert_as_second>>
    to_other;

inline const NativeOf<at::_ops::to_dtype_layout, Lower<&lower::cast_or_epilogue>,
                      LowerToIterator<&lower::convert>, Layouts<&layouts::convert>,
                      Images<&lower::images_of_one_layout>>
    to_dtype_layout;

inline const NativeOf<at::_ops::type_as, Lower<&lower::cast_or_epilogue>, LowerToIterator<&lower::convert>,
                      Layouts<&layouts::convert_as_second>, Facts<Fact::takes_shape_of_second>>
    type_as;

inline const NativeOf<at::_ops::_autocast_to_full_precision, Layouts<&layouts::convert>>
    _autocast_to_full_precision;

inline const NativeOf<at::_ops::_autocast_to_reduced_precision, Layouts<&layouts::convert>>
    _autocast_to_reduced_precision;

inline const Native<"aten::cpu(Tensor(a) self) -> Tensor(a|b)", ToCpu, Layouts<&layouts::convert>> to_cpu;

inline const Native<
    "aten::to.prim_Device(Tensor(a) self, Device? device, int? dtype=None, bool non_blocking=False, bool "
    "copy=False) -> Tensor(a|b)",
    ToDeviceOrDtype, Lower<&lower::cast_or_epilogue>, LowerToIterator<&lower::convert>,
    Layouts<&layouts::convert>, Facts<Fact::takes_shape_of_second>>
    to_prim_device;

inline const Native<
    "aten::to.prim_dtype(Tensor(a) self, int? dtype=None, bool non_blocking=False, bool copy=False) -> "
    "Tensor(a|b)",
    ToDtypeOrSame, Lower<&lower::cast_or_epilogue>, LowerToIterator<&lower::convert>,
    Layouts<&layouts::convert>, Images<&lower::images_of_one_layout>>
    to_prim_dtype;

inline const Native<
    "aten::to.prim_other(Tensor(a) self, bool non_blocking=False, bool copy=False) -> Tensor(a|b)", ToSame,
    Layouts<&layouts::convert>>
    to_prim_other;

}  // namespace registered
}  // namespace sr::ops

// Parts of entries that most operators with a lowering have.
#pragma once

#include <sr/kernels/vector_ops.hpp>
#include <sr/registry/operator_parts.hpp>
#include <sr/replay/lowering/hooks.hpp>
#include <sr/replay/lowering/pointwise.hpp>
#include <sr/replay/lowering/structured.hpp>
#include <sr/replay/sizes/common_layouts.hpp>

namespace sr::ops {

namespace layouts = replay::layouts;
namespace lower = replay::lower;
namespace native = at::native;
namespace vector_ops = kernels::vector_ops;
using replay::Epilogue;
using replay::Hook;

// The operator is this vector op on its first arguments.
template <class VectorOp>
using Pointwise = Lower<&lower::plain<VectorOp>>;

// The operator is this structured kernel of LibTorch on its first arguments.
template <class Structured>
using Iterator = LowerToIterator<&lower::structured<Structured>>;

}  // namespace sr::ops

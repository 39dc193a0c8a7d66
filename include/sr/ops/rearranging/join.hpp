// cat and stack, and prim::VarConcat and prim::VarStack, which take the tensors without a list.
#pragma once

#include <ATen/CPUFunctions.h>
#include <ATen/Functions.h>
#include <ATen/ops/stack_native.h>
#include <c10/util/MaybeOwned.h>
#include <c10/util/SmallVector.h>

#include <sr/ops/parts.hpp>
#include <sr/ops/rearranging/join_lowering.hpp>
#include <sr/ops/rearranging/layouts.hpp>
#include <sr/registry/op.hpp>

namespace sr::ops {

// The first inputs of a node as a TensorList that borrows them for one call.
class BorrowedTensors {
 public:
  BorrowedTensors(const NodeView& node, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      tensors_.push_back(c10::MaybeOwnedTraits<at::Tensor>::createBorrow(node.input(i).toTensor()));
    }
  }
  ~BorrowedTensors() {
    for (at::Tensor& tensor : tensors_) c10::MaybeOwnedTraits<at::Tensor>::destroyBorrow(tensor);
  }
  BorrowedTensors(const BorrowedTensors&) = delete;
  BorrowedTensors& operator=(const BorrowedTensors&) = delete;

  at::TensorList list() const { return tensors_; }

 private:
  c10::SmallVector<at::Tensor, 32> tensors_;
};

inline constexpr OutTraits kJoining{.keeps_strides = true};

struct Cat {
  static constexpr OutTraits traits = kJoining;
  void operator()(at::ITensorListRef tensors, std::int64_t dim, at::Tensor& out) const {
    at::cpu::cat_out(out, tensors, dim);
  }
};

struct Stack {
  void operator()(at::TensorList tensors, std::int64_t dim, at::Tensor& out) const {
    at::native::stack_out(tensors, dim, out);
  }
};

struct VarConcat {
  static constexpr OutTraits traits = kJoining;
  void operator()(NodeView& node) const {
    const std::size_t count = node.input_count() - 1;
    const BorrowedTensors tensors(node, count);
    at::cpu::cat_out(node.output(0).toTensor(), tensors.list(), node.input(count).toInt());
  }
};

struct VarStack {
  void operator()(NodeView& node) const {
    const std::size_t count = node.input_count() - 1;
    const BorrowedTensors tensors(node, count);
    at::native::stack_out(tensors.list(), node.input(count).toInt(), node.output(0).toTensor());
  }
};

namespace registered {

inline const OutVariant<"aten::cat(Tensor[] tensors, int dim=0) -> Tensor", Cat, Lower<&lower::join<false>>,
                        Layouts<&layouts::cat>, Images<&lower::images_of_one_layout>>
    cat;
inline const OutVariant<"aten::stack(Tensor[] tensors, int dim=0) -> Tensor", Stack,
                        Lower<&lower::join<true>>, Layouts<&layouts::stack>>
    stack;
inline const NodeOp<"prim::VarConcat", VarConcat, NodeKind::out_variant, Lower<&lower::join<false>>,
                    Layouts<&layouts::cat>, Images<&lower::images_of_one_layout>>
    var_concat;
inline const NodeOp<"prim::VarStack", VarStack, NodeKind::out_variant, Lower<&lower::join<true>>,
                    Layouts<&layouts::stack>>
    var_stack;
// Without a functor of sr.
inline const Operator<"aten::concat", Facts<Fact::makes_new_results>> facts_of_concat;
inline const Operator<"aten::concatenate", Facts<Fact::makes_new_results>> facts_of_concatenate;

inline const Operator<"aten::column_stack", Facts<Fact::makes_new_results>> facts_of_column_stack;

inline const Operator<"aten::dstack", Facts<Fact::makes_new_results>> facts_of_dstack;

inline const Operator<"aten::hstack", Facts<Fact::makes_new_results>> facts_of_hstack;

inline const Operator<"aten::row_stack", Facts<Fact::makes_new_results>> facts_of_row_stack;

inline const Operator<"aten::vstack", Facts<Fact::makes_new_results>> facts_of_vstack;

}  // namespace registered
}  // namespace sr::ops

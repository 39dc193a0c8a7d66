// What an entry says of its operator beside the functor: facts, how a replay runs it, its twin in place.
//
//   inline const OutVariant<"aten::floor(Tensor self) -> Tensor", Floor, Lower<&floor_by_our_kernel>> floor;
#pragma once

#include <string_view>
#include <tuple>
#include <typeinfo>

#include <sr/graph/operator_facts.hpp>

namespace sr::replay {

class Lowering;
class LayoutRule;
struct Trace;
struct TracedNode;

// Lowers one node. Returns false, having emitted nothing, if it cannot lower this node.
using LowerFunction = bool (*)(Lowering& lowering, const TracedNode& node);

// How the kernel of a node takes images: tensors of four dimensions, NCHW in LibTorch.
struct ImageUse {
  bool takes_channels_last = false;  // as NHWC
  bool mixes_layouts = false;        // some as NHWC, others as NCHW
  bool convolves = false;            // and is faster if all are NHWC
};

// Says how the kernel of this node takes images.
using ImageFunction = ImageUse (*)(const Trace& trace, const TracedNode& node);

// States the layouts of a node's results by those of its inputs. Returns false if it cannot for this node.
using LayoutFunction = bool (*)(LayoutRule& rule);

}  // namespace sr::replay

namespace sr {

// All of it is constant, so that registering it is one call.
struct OperatorParts {
  std::string_view key;
  std::string_view schema;                      // the literal; may be a key only
  const std::type_info* parts = nullptr;        // std::tuple of the parts
  replay::LowerFunction to_kernel = nullptr;    // to kernels of sr; tried first
  replay::LowerFunction to_iterator = nullptr;  // to LibTorch's kernel on a kept iterator
  replay::LayoutFunction layouts = nullptr;     // null: the sizes of its inputs are pinned
  replay::ImageFunction images = nullptr;       // null: NHWC only if it is pointwise
  FactMask facts = 0;                           // of all overloads
  std::string_view functional;                  // of an operator in place: the key of the functional one
  // Registers the operator in place whose functional twin this is; null if the entry names none.
  void (*register_in_place)(std::string_view functional) = nullptr;
};

// Throws RegistryError if the operator has other parts already.
void register_operator(const OperatorParts& spec);

// --- parts ---

// A replay runs the operator on kernels of sr, if `function` can lower the node.
template <replay::LowerFunction function>
struct Lower {
  static constexpr void add_to(OperatorParts& spec) { spec.to_kernel = function; }
};

// A replay runs the operator on LibTorch's kernel and a kept iterator, if `function` can lower the node.
template <replay::LowerFunction function>
struct LowerToIterator {
  static constexpr void add_to(OperatorParts& spec) { spec.to_iterator = function; }
};

// One recording of the operator serves other sizes, too, if `function` knows the node.
template <replay::LayoutFunction function>
struct Layouts {
  static constexpr void add_to(OperatorParts& spec) { spec.layouts = function; }
};

// The kernels of sr take images as `function` says.
template <replay::ImageFunction function>
struct Images {
  static constexpr void add_to(OperatorParts& spec) { spec.images = function; }
};

// Facts of the operator and of all its overloads.
template <Fact... facts>
struct Facts {
  static constexpr void add_to(OperatorParts& spec) { spec.facts = (mask_of(facts) | ...); }
};

namespace detail {

template <class Part>
concept OperatorPart = requires(OperatorParts& spec) {
  Part::add_to(spec);
};

// True if no two parts say the same thing.
template <class... Parts>
constexpr bool are_different_parts() {
  int kernels = 0, iterators = 0, layouts = 0, images = 0, facts = 0, twins = 0;
  const auto count = [&](auto add_to) {
    OperatorParts spec;
    add_to(spec);
    kernels += spec.to_kernel != nullptr ? 1 : 0;
    iterators += spec.to_iterator != nullptr ? 1 : 0;
    layouts += spec.layouts != nullptr ? 1 : 0;
    images += spec.images != nullptr ? 1 : 0;
    facts += spec.facts != 0 ? 1 : 0;
    twins += spec.register_in_place != nullptr ? 1 : 0;
  };
  (count([](OperatorParts& spec) { Parts::add_to(spec); }), ...);
  return kernels <= 1 && iterators <= 1 && layouts <= 1 && images <= 1 && facts <= 1 && twins <= 1;
}

template <class... Parts>
constexpr OperatorParts operator_parts(std::string_view key, std::string_view literal) {
  OperatorParts spec;
  spec.key = key;
  spec.schema = literal;
  spec.parts = &typeid(std::tuple<Parts...>);
  (Parts::add_to(spec), ...);
  return spec;
}

}  // namespace detail

}  // namespace sr

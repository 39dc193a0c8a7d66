// What functors receive of a node's values: arguments unpacked by type, according to the schema.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include <torch/csrc/jit/runtime/operator.h>
#include <torch/script.h>

#include <sr/sr.hpp>

#include "support/catch.hpp"

namespace sr::test::unpacking_tests {

namespace {

template <class T>
auto unpacked(const c10::IValue& value) {
  return Argument<T>(value).get();
}

// An argument that is None where None is not allowed, and one of another type.
template <class T>
bool refuses(const c10::IValue& value) {
  try {
    Argument<T> argument(value);
  } catch (const c10::Error&) {
    return true;
  }
  return false;
}

}  // namespace

TEST_CASE("arguments are unpacked to the parameter types of the functor", "[registry]") {
  const at::Tensor tensor = at::ones({2});
  const at::Tensor other = at::zeros({3});
  const c10::IValue boxed = tensor;
  CHECK(&Argument<at::Tensor>(boxed).get() == &boxed.toTensor());
  CHECK(unpacked<const at::Tensor*>(boxed) == &boxed.toTensor());
  CHECK(unpacked<std::optional<at::Tensor>>(boxed)->is_same(tensor));
  CHECK(&Argument<c10::IValue>(boxed).get() == &boxed);

  const c10::IValue list = c10::List<at::Tensor>({tensor, other});
  const Argument<at::TensorList> span(list);
  REQUIRE(span.get().size() == 2);
  CHECK(span.get()[1].is_same(other));
  const Argument<at::ITensorListRef> reference(list);
  REQUIRE(reference.get().size() == 2);
  CHECK(reference.get().front().is_same(tensor));

  CHECK(unpacked<std::int64_t>(-7) == -7);
  CHECK(unpacked<std::optional<std::int64_t>>(7) == 7);
  CHECK(unpacked<double>(0.5) == 0.5);
  CHECK(unpacked<std::optional<double>>(0.5) == 0.5);
  CHECK(unpacked<bool>(true));
  CHECK(unpacked<std::optional<bool>>(false) == false);
  CHECK(unpacked<at::Scalar>(3).isIntegral(false));
  CHECK(unpacked<at::Scalar>(0.25).toDouble() == 0.25);
  CHECK(unpacked<at::Scalar>(true).isBoolean());
  CHECK(unpacked<std::optional<at::Scalar>>(0.25)->toDouble() == 0.25);
  CHECK(unpacked<at::ScalarType>(static_cast<std::int64_t>(at::kLong)) == at::kLong);
  CHECK(unpacked<std::optional<at::ScalarType>>(static_cast<std::int64_t>(at::kBool)) == at::kBool);

  const c10::IValue text = std::string("tanh");
  CHECK(unpacked<std::string_view>(text) == "tanh");
  CHECK(unpacked<std::optional<std::string_view>>(text) == "tanh");
  const c10::IValue numbers = c10::List<std::int64_t>({1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(Argument<at::IntArrayRef>(numbers).get() == at::IntArrayRef({1, 2, 3, 4, 5, 6, 7, 8}));
  CHECK(*Argument<at::OptionalIntArrayRef>(numbers).get() == at::IntArrayRef({1, 2, 3, 4, 5, 6, 7, 8}));
  CHECK(Argument<at::IntArrayRef>(c10::List<std::int64_t>()).get().empty());
  const Argument<at::OptionalIntArrayRef> empty(c10::List<std::int64_t>{});
  CHECK((empty.get().has_value() && empty.get()->empty()));  // an empty list is not None
}

TEST_CASE("None is passed as an empty optional", "[registry]") {
  const c10::IValue none;
  CHECK(unpacked<const at::Tensor*>(none) == nullptr);
  CHECK_FALSE(unpacked<std::optional<at::Tensor>>(none));
  CHECK_FALSE(unpacked<std::optional<std::int64_t>>(none));
  CHECK_FALSE(Argument<at::OptionalIntArrayRef>(none).get().has_value());
  CHECK_FALSE(unpacked<std::optional<double>>(none));
  CHECK_FALSE(unpacked<std::optional<bool>>(none));
  CHECK_FALSE(unpacked<std::optional<at::Scalar>>(none));
  CHECK_FALSE(unpacked<std::optional<std::string_view>>(none));
  CHECK_FALSE(unpacked<std::optional<at::ScalarType>>(none));
  CHECK(Argument<c10::IValue>(none).get().isNone());
}

TEST_CASE("a value of a wrong type is rejected", "[registry]") {
  const c10::IValue none;
  const c10::IValue text = std::string("x");
  const c10::IValue number = 1;
  CHECK(refuses<at::Tensor>(none));
  CHECK(refuses<at::Tensor>(number));
  CHECK(refuses<const at::Tensor*>(number));
  CHECK(refuses<std::optional<at::Tensor>>(number));
  CHECK(refuses<at::TensorList>(number));
  CHECK(refuses<at::ITensorListRef>(number));
  CHECK(refuses<std::int64_t>(none));
  CHECK(refuses<std::int64_t>(text));
  CHECK(refuses<std::int64_t>(1.5));
  CHECK(refuses<std::optional<std::int64_t>>(text));
  CHECK(refuses<at::IntArrayRef>(number));
  CHECK(refuses<at::IntArrayRef>(none));
  CHECK(refuses<at::OptionalIntArrayRef>(number));
  CHECK(refuses<double>(text));
  CHECK(refuses<std::optional<double>>(text));
  CHECK(refuses<bool>(number));
  CHECK(refuses<std::optional<bool>>(number));
  CHECK(refuses<std::string_view>(number));
  CHECK(refuses<std::optional<std::string_view>>(number));
  CHECK(refuses<at::ScalarType>(text));
  CHECK(refuses<std::optional<at::ScalarType>>(text));
  CHECK(refuses<at::Scalar>(text));
  CHECK(refuses<at::Scalar>(none));
  CHECK(refuses<std::optional<at::Scalar>>(text));
}

TEST_CASE("the schema parser agrees with LibTorch's on every operator of LibTorch", "[registry]") {
  std::size_t compared = 0;
  for (const std::shared_ptr<torch::jit::Operator>& op : torch::jit::getAllOperators()) {
    const c10::FunctionSchema& theirs = op->schema();
    if (theirs.is_vararg() || theirs.is_varret() || theirs.arguments().size() > kMaxSchemaArguments) continue;
    const std::string text = c10::toString(theirs);
    INFO(text);
    const Schema ours = parse_schema(text);
    const auto is_tensor = [](const c10::Argument& argument) {
      return argument.type()->kind() == c10::TypeKind::TensorType;
    };
    const auto& returns = theirs.returns();
    bool same = ours.key == c10::toString(theirs.operator_name()) &&
                ours.argument_count == theirs.arguments().size() && ours.return_count == returns.size() &&
                ours.tensor_return_count ==
                    static_cast<std::size_t>(std::count_if(returns.begin(), returns.end(), is_tensor));
    for (std::size_t i = 0; same && i < ours.argument_count; ++i) {
      const c10::Argument& argument = theirs.arguments()[i];
      same = ours.arguments[i].name == argument.name() &&
             ours.arguments[i].keyword_only == argument.kwarg_only() &&
             ours.arguments[i].has_default == argument.default_value().has_value() &&
             (ours.arguments[i].kind == ArgumentKind::tensor) == is_tensor(argument) &&
             ours.arguments[i].is_written ==
                 (argument.alias_info() != nullptr && argument.alias_info()->isWrite());
    }
    if (!same) FAIL_CHECK("parsed otherwise");
    ++compared;
  }
  CHECK(compared > 2000);
}

}  // namespace sr::test::unpacking_tests

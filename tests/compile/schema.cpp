// What the compiler says about a literal that is no schema. Compiles as it is; -DSR_REJECT=n has to fail
// with this in the message:
// reject 1: two arguments of the schema have the same name
// reject 2: the schema has no '->' after its argument list
// reject 3: the schema has no '->' after its argument list
// reject 4: the schema has no argument list: expected 'namespace::name(arguments) -> returns'
// reject 5: the schema has no argument list: expected 'namespace::name(arguments) -> returns'
// reject 6: the operator name has no namespace: expected 'namespace::name'
// reject 7: the operator name is not 'namespace::name' or 'namespace::name.overload'
// reject 8: the operator name is not 'namespace::name' or 'namespace::name.overload'
// reject 9: the operator name is not 'namespace::name' or 'namespace::name.overload'
// reject 10: the operator name is not 'namespace::name' or 'namespace::name.overload'
// reject 11: a bracket in the schema is never closed
// reject 12: a closing bracket in the schema matches no opening one
// reject 13: a closing bracket in the schema matches no opening one
// reject 14: a string in the schema is never closed
// reject 15: an argument in the schema has a type but no name
// reject 16: an argument in the schema has a type but no name
// reject 17: an argument in the schema is not 'type name' or 'type name=default'
// reject 18: an argument in the schema is not 'type name' or 'type name=default'
// reject 19: an argument in the schema has '=' but no default after it
// reject 20: an argument in the schema is empty: a comma too many
// reject 21: an argument in the schema is empty: a comma too many
// reject 22: a schema with '...' has no fixed arguments: register the op as NodeOp
// reject 23: the schema has '*' twice
// reject 24: the schema has more than 32 arguments
// reject 25: the schema has nothing after '->': an op that returns nothing has '-> ()'
// reject 26: several returns of a schema stand in brackets: '-> (Tensor, Tensor)'
// reject 27: a return in the schema is empty: a comma too many
#include <sr/registry/schema.hpp>

constexpr sr::Schema good =
    sr::parse_schema("aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor");
static_assert(good.argument_count == 2);

#if SR_REJECT == 1
constexpr sr::Schema bad = sr::parse_schema("aten::f(Tensor self, int self) -> Tensor");
#elif SR_REJECT == 2
constexpr sr::Schema bad = sr::parse_schema("aten::relu(Tensor self)");
#elif SR_REJECT == 3
constexpr sr::Schema bad = sr::parse_schema("aten::relu(Tensor self) Tensor");
#elif SR_REJECT == 4
constexpr sr::Schema bad = sr::parse_schema("aten::relu");
#elif SR_REJECT == 5
constexpr sr::Schema bad = sr::parse_schema("aten::relu -> (Tensor, Tensor)");
#elif SR_REJECT == 6
constexpr sr::Schema bad = sr::parse_schema("relu(Tensor self) -> Tensor");
#elif SR_REJECT == 7
constexpr sr::Schema bad = sr::parse_schema("::relu(Tensor self) -> Tensor");
#elif SR_REJECT == 8
constexpr sr::Schema bad = sr::parse_schema("aten::(Tensor self) -> Tensor");
#elif SR_REJECT == 9
constexpr sr::Schema bad = sr::parse_schema("aten::add.(Tensor self) -> Tensor");
#elif SR_REJECT == 10
constexpr sr::Schema bad = sr::parse_schema("aten::leaky relu(Tensor self) -> Tensor");
#elif SR_REJECT == 11
constexpr sr::Schema bad = sr::parse_schema("aten::relu(Tensor self -> Tensor");
#elif SR_REJECT == 12
constexpr sr::Schema bad = sr::parse_schema("aten::sum(Tensor self, int[1 dim) -> Tensor");
#elif SR_REJECT == 13
constexpr sr::Schema bad = sr::parse_schema("aten::sum(Tensor self, int] dim) -> Tensor");
#elif SR_REJECT == 14
constexpr sr::Schema bad = sr::parse_schema("aten::gelu(Tensor self, str approximate='none) -> Tensor");
#elif SR_REJECT == 15
constexpr sr::Schema bad = sr::parse_schema("aten::relu(Tensor) -> Tensor");
#elif SR_REJECT == 16
constexpr sr::Schema bad = sr::parse_schema("aten::split(Tensor(a -> *), int size) -> Tensor(a)[]");
#elif SR_REJECT == 17
constexpr sr::Schema bad = sr::parse_schema("aten::relu(Tensor self other) -> Tensor");
#elif SR_REJECT == 18
constexpr sr::Schema bad = sr::parse_schema("aten::relu(Tensor (a) self) -> Tensor");
#elif SR_REJECT == 19
constexpr sr::Schema bad = sr::parse_schema("aten::sum(Tensor self, bool keepdim=) -> Tensor");
#elif SR_REJECT == 20
constexpr sr::Schema bad = sr::parse_schema("aten::relu(Tensor self,) -> Tensor");
#elif SR_REJECT == 21
constexpr sr::Schema bad = sr::parse_schema("aten::add(Tensor self, , Tensor other) -> Tensor");
#elif SR_REJECT == 22
constexpr sr::Schema bad = sr::parse_schema("aten::format(str self, ...) -> str");
#elif SR_REJECT == 23
constexpr sr::Schema bad =
    sr::parse_schema("aten::sub(Tensor self, *, Tensor other, *, Scalar alpha=1) -> Tensor");
#elif SR_REJECT == 24
constexpr sr::Schema bad = sr::parse_schema(
    "aten::f(int a0, int a1, int a2, int a3, int a4, int a5, int a6, int a7, int a8, int a9, int b0, int b1, "
    "int b2, int b3, int b4, int b5, "
    "int b6, int b7, int b8, int b9, int c0, int c1, int c2, int c3, int c4, int c5, int c6, int c7, int c8, "
    "int c9, int d0, int d1, int d2) -> ()");
#elif SR_REJECT == 25
constexpr sr::Schema bad = sr::parse_schema("aten::relu(Tensor self) ->");
#elif SR_REJECT == 26
constexpr sr::Schema bad = sr::parse_schema("aten::max(Tensor self) -> Tensor, Tensor");
#elif SR_REJECT == 27
constexpr sr::Schema bad = sr::parse_schema("aten::max(Tensor self) -> (Tensor, )");
#endif

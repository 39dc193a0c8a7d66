// Names of the dtypes: in argument specs, in Python, and of Python's storage classes.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include <c10/core/ScalarType.h>

namespace sr::detail {

struct ScalarTypeName {
  c10::ScalarType type;
  std::string_view python;   // torch.float32
  std::string_view storage;  // torch.FloatStorage; empty: the dtype came after the storage classes
  std::string_view spec;     // f32[8,50]; empty: no random values of it
};

inline constexpr std::array<ScalarTypeName, 21> kScalarTypeNames{{
    {c10::ScalarType::Half, "float16", "HalfStorage", "f16"},
    {c10::ScalarType::BFloat16, "bfloat16", "BFloat16Storage", "bf16"},
    {c10::ScalarType::Float, "float32", "FloatStorage", "f32"},
    {c10::ScalarType::Double, "float64", "DoubleStorage", "f64"},
    {c10::ScalarType::Char, "int8", "CharStorage", "i8"},
    {c10::ScalarType::Byte, "uint8", "ByteStorage", "u8"},
    {c10::ScalarType::Short, "int16", "ShortStorage", "i16"},
    {c10::ScalarType::Int, "int32", "IntStorage", "i32"},
    {c10::ScalarType::Long, "int64", "LongStorage", "i64"},
    {c10::ScalarType::Bool, "bool", "BoolStorage", "bool"},
    {c10::ScalarType::ComplexFloat, "complex64", "ComplexFloatStorage", ""},
    {c10::ScalarType::ComplexDouble, "complex128", "ComplexDoubleStorage", ""},
    {c10::ScalarType::ComplexHalf, "complex32", "", ""},
    {c10::ScalarType::UInt16, "uint16", "", ""},
    {c10::ScalarType::UInt32, "uint32", "", ""},
    {c10::ScalarType::UInt64, "uint64", "", ""},
    {c10::ScalarType::Float8_e4m3fn, "float8_e4m3fn", "", ""},
    {c10::ScalarType::Float8_e5m2, "float8_e5m2", "", ""},
    {c10::ScalarType::Float8_e4m3fnuz, "float8_e4m3fnuz", "", ""},
    {c10::ScalarType::Float8_e5m2fnuz, "float8_e5m2fnuz", "", ""},
    {c10::ScalarType::Float8_e8m0fnu, "float8_e8m0fnu", "", ""},
}};

// The entry whose `member` is `value`, or nullptr.
template <class Value>
const ScalarTypeName* find_scalar_type(Value ScalarTypeName::*member, Value value) {
  const auto found = std::ranges::find(kScalarTypeNames, value, member);
  return found == kScalarTypeNames.end() ? nullptr : &*found;
}

}  // namespace sr::detail

// Values from outside of TorchScript as the types that a schema declares.
#pragma once

#include <vector>

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

namespace sr::values {

// True for a tuple and for a list.
bool is_sequence(const c10::IValue& value);
// Returns the elements of a sequence.
std::vector<c10::IValue> items_of(const c10::IValue& value);

// Returns the value as an argument declared as `type`: lists, dicts and tuples of elements of any type get
// the element types declared, an int becomes a float where one is declared, and a tuple a list. A value that
// does not fit is returned as it is, for the check of the call to name.
c10::IValue conform(c10::IValue value, const c10::TypePtr& type);

}  // namespace sr::values

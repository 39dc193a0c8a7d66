// Dictionary ops of the language, for each type of key.
#pragma once

#include <cstdint>

#include <ATen/core/Dict.h>
#include <ATen/core/ivalue.h>

#include <sr/registry/op.hpp>

namespace sr::ops {

struct LengthOfDict {
  std::int64_t operator()(const c10::IValue& dict) const {
    return static_cast<std::int64_t>(dict.toGenericDict().size());
  }
};

struct ElementOfDict {
  c10::IValue operator()(const c10::IValue& dict, const c10::IValue& key) const {
    const auto elements = dict.toGenericDict();
    const auto found = elements.find(key);
    TORCH_CHECK(found != elements.end(), "KeyError: ", key);
    return found->value();
  }
};

struct IsInDict {
  bool operator()(const c10::IValue& dict, const c10::IValue& key) const {
    return dict.toGenericDict().contains(key);
  }
};

struct KeysOfDict {
  c10::IValue operator()(const c10::IValue& dict) const {
    const auto elements = dict.toGenericDict();
    c10::impl::GenericList keys(elements.keyType());
    keys.reserve(elements.size());
    for (const auto& element : elements) keys.push_back(element.key());
    return keys;
  }
};

struct ValuesOfDict {
  c10::IValue operator()(const c10::IValue& dict) const {
    const auto elements = dict.toGenericDict();
    c10::impl::GenericList values(elements.valueType());
    values.reserve(elements.size());
    for (const auto& element : elements) values.push_back(element.value());
    return values;
  }
};

struct SetInDict {
  void operator()(const c10::IValue& dict, const c10::IValue& key, const c10::IValue& value) const {
    dict.toGenericDict().insert_or_assign(key, value);
  }
};

template <FixedString Key>
struct DictionaryOf {
  Native<"aten::len.Dict_" + Key + "(Dict(" + Key + ", t) self) -> int", LengthOfDict> length;
  Native<"aten::__getitem__.Dict_" + Key + "(Dict(" + Key + ", t) self, " + Key + " key) -> t(*)",
         ElementOfDict>
      element;
  Native<"aten::__contains__." + Key + "(Dict(" + Key + ", t) dict, " + Key + " key) -> bool", IsInDict>
      contains;
  Native<"aten::keys." + Key + "(Dict(" + Key + ", t) self) -> " + Key + "[](*)", KeysOfDict> keys;
  Native<"aten::values." + Key + "(Dict(" + Key + ", t) self) -> t[](*)", ValuesOfDict> values;
  Native<"aten::_set_item." + Key + "(Dict(" + Key + ", t)(a!) l, " + Key +
             "(b -> *) idx, t(c -> *) v) -> ()",
         SetInDict>
      set;
};

namespace registered {

inline const DictionaryOf<"str"> dictionary_of_str;
inline const DictionaryOf<"int"> dictionary_of_int;
inline const DictionaryOf<"bool"> dictionary_of_bool;
inline const DictionaryOf<"float"> dictionary_of_float;
inline const DictionaryOf<"complex"> dictionary_of_complex;
inline const DictionaryOf<"Tensor"> dictionary_of_tensor;
// Without a functor of sr.
inline const Operator<"aten::keys", Facts<Fact::reads_metadata_only>> facts_of_keys;
inline const Operator<"aten::dict", Facts<Fact::moves_values>> facts_of_dict;
inline const Operator<"aten::get", Facts<Fact::moves_values>> facts_of_get;
inline const Operator<"aten::items", Facts<Fact::moves_values>> facts_of_items;
inline const Operator<"aten::popitem", Facts<Fact::moves_values>> facts_of_popitem;
inline const Operator<"aten::setdefault", Facts<Fact::moves_values>> facts_of_setdefault;
inline const Operator<"aten::update", Facts<Fact::moves_values>> update_dictionary;
inline const Operator<"aten::values", Facts<Fact::moves_values>> facts_of_values;

}  // namespace registered
}  // namespace sr::ops

// Signatures: what a program is valid for. A signature describes the modes of the thread and the arguments of
// a call except for the elements of their tensors.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>

#include <sr/base/thread_modes.hpp>
#include <sr/replay/trace/environment.hpp>
#include <sr/replay/trace/tensor_words.hpp>

namespace sr::replay {

namespace detail {

inline std::int64_t dtype_of_list(const c10::IValue& value) {
  return static_cast<std::int64_t>(value.isIntList()      ? 1
                                   : value.isDoubleList() ? 2
                                   : value.isBoolList()   ? 3
                                   : value.isTensorList() ? 4
                                                          : 5);
}

inline void add_text(std::string_view text, SignatureWords& words) {
  for (std::size_t i = 0; i < text.size(); i += 8) {
    std::int64_t chunk = 0;
    std::memcpy(&chunk, text.data() + i, std::min<std::size_t>(8, text.size() - i));
    words.push_back(chunk);
  }
}

// Returns false if no program can be made for the value.
inline bool describe(const c10::IValue& value, SignatureWords& words) {
  if (value.isTensor()) return add_tensor(value.unsafeToTensorImpl(), words);
  if (value.isInt()) {
    words.append({head(Tag::integer), value.toInt()});
  } else if (value.isDouble()) {
    words.append({head(Tag::real), std::bit_cast<std::int64_t>(value.toDouble())});
  } else if (value.isBool()) {
    words.push_back(head(Tag::boolean, value.toBool() ? 1 : 0));
  } else if (value.isNone()) {
    words.push_back(head(Tag::none));
  } else if (value.isString()) {
    words.push_back(head(Tag::string, 0, static_cast<std::int64_t>(value.toStringRef().size())));
    add_text(value.toStringRef(), words);
  } else if (value.isDevice()) {
    words.push_back(
        head(Tag::device, static_cast<std::int64_t>(value.toDevice().type()), value.toDevice().index() + 1));
  } else if (value.isList()) {
    const auto elements = value.toListRef();
    words.push_back(head(Tag::list, dtype_of_list(value), static_cast<std::int64_t>(elements.size())));
    for (const c10::IValue& element : elements) {
      if (!describe(element, words)) return false;
    }
  } else if (value.isTuple()) {
    const auto& elements = value.toTupleRef().elements();
    words.push_back(head(Tag::tuple, 0, static_cast<std::int64_t>(elements.size())));
    for (const c10::IValue& element : elements) {
      if (!describe(element, words)) return false;
    }
  } else if (value.isGenericDict()) {
    const auto dict = value.toGenericDict();
    words.push_back(head(Tag::dict, 0, static_cast<std::int64_t>(dict.size())));
    for (const auto& entry : dict) {
      if (!describe(entry.key(), words) || !describe(entry.value(), words)) return false;
    }
  } else {
    return false;
  }
  return true;
}

// Compares one value with the words at `at`, and advances `at`. Writes the address of each tensor's first
// element to `leaves`.
inline bool match(const c10::IValue& value, const std::int64_t*& at, std::byte**& leaves);

// Compares a value that is not a tensor.
inline bool match_other(const c10::IValue& value, const std::int64_t*& at, std::byte**& leaves) {
  if (value.isInt()) {
    const bool same = at[0] == head(Tag::integer) && at[1] == value.toInt();
    at += 2;
    return same;
  }
  if (value.isDouble()) {
    const bool same = at[0] == head(Tag::real) && at[1] == std::bit_cast<std::int64_t>(value.toDouble());
    at += 2;
    return same;
  }
  if (value.isBool()) return *at++ == head(Tag::boolean, value.toBool() ? 1 : 0);
  if (value.isNone()) return *at++ == head(Tag::none);
  if (value.isList()) {
    const auto elements = value.toListRef();
    if (*at++ != head(Tag::list, dtype_of_list(value), static_cast<std::int64_t>(elements.size())))
      return false;
    for (const c10::IValue& element : elements) {
      if (!match(element, at, leaves)) return false;
    }
    return true;
  }
  if (value.isTuple()) {
    const auto& elements = value.toTupleRef().elements();
    if (*at++ != head(Tag::tuple, 0, static_cast<std::int64_t>(elements.size()))) return false;
    for (const c10::IValue& element : elements) {
      if (!match(element, at, leaves)) return false;
    }
    return true;
  }
  if (value.isGenericDict()) {
    const auto dict = value.toGenericDict();
    if (*at++ != head(Tag::dict, 0, static_cast<std::int64_t>(dict.size()))) return false;
    for (const auto& entry : dict) {
      if (!match(entry.key(), at, leaves) || !match(entry.value(), at, leaves)) return false;
    }
    return true;
  }
  // Strings and devices are rare: their words are built and compared.
  SignatureWords words;
  if (!describe(value, words) || words[0] != at[0] || !std::equal(words.begin(), words.end(), at))
    return false;
  at += words.size();
  return true;
}

inline bool match(const c10::IValue& value, const std::int64_t*& at, std::byte**& leaves) {
  return value.isTensor() ? match_tensor(value.unsafeToTensorImpl(), at, *leaves++)
                          : match_other(value, at, leaves);
}

}  // namespace detail

namespace detail {

// The number of arguments shares a word with the modes of the environment that a program has read: one
// comparison covers both if it has read none.
constexpr int kAskedAt = 32;

inline std::int64_t argument_count(const SignatureWords& words) {
  return words[1] & ((std::int64_t{1} << kAskedAt) - 1);
}

[[gnu::noinline]] inline bool holds(std::int64_t word, std::size_t arguments,
                                    const Environment& environment) {
  const auto asked = static_cast<unsigned>(word >> kAskedAt);
  return word == (static_cast<std::int64_t>(arguments) | std::int64_t{asked} << kAskedAt) &&
         environment.holds(asked);
}

}  // namespace detail

// Notes in the signature which modes of the environment its program has read.
inline void note_asked(SignatureWords& words, unsigned asked) {
  words[1] |= std::int64_t{asked} << detail::kAskedAt;
}

// True if both describe the same call. The modes that a program has read do not matter.
inline bool is_same_call(const SignatureWords& a, const SignatureWords& b) {
  return a.size() == b.size() && a[0] == b[0] && detail::argument_count(a) == detail::argument_count(b) &&
         std::equal(a.begin() + 2, a.end(), b.begin() + 2);
}

// Returns false if no program can be made for such arguments.
[[gnu::noinline]] inline bool describe_call(std::span<const c10::IValue> args, SignatureWords& words) {
  words.append(
      {static_cast<std::int64_t>(ThreadModes::now().excluded), static_cast<std::int64_t>(args.size())});
  for (const c10::IValue& value : args) {
    if (!detail::describe(value, words)) return false;
  }
  return true;
}

// True if the call has this signature, and the modes that its program has read are unchanged. On success
// `leaves` holds the address of every tensor, depth first; it must have room for as many as the described
// call had.
[[gnu::always_inline]] inline bool matches(std::span<const c10::IValue> args, const SignatureWords& words,
                                           const Environment& environment, std::byte** leaves) {
  const std::int64_t* at = words.data();
  if (at[0] != static_cast<std::int64_t>(ThreadModes::now().excluded)) return false;
  if (at[1] != static_cast<std::int64_t>(args.size()) && !detail::holds(at[1], args.size(), environment))
    return false;
  at += 2;
  for (const c10::IValue& value : args) {
    if (value.isTensor()) {
      if (!detail::match_tensor(value.unsafeToTensorImpl(), at, *leaves++)) return false;
      continue;
    }
    // Local copies: variables whose address another function knows are not kept in registers.
    const std::int64_t* rest = at;
    std::byte** rest_of_leaves = leaves;
    if (!detail::match_other(value, rest, rest_of_leaves)) return false;
    at = rest;
    leaves = rest_of_leaves;
  }
  return true;
}

// Does what `matches` does, but does not compare integers and the sizes and strides of tensors: it writes
// them to `words`, which must hold the description of another call. Values inside of containers are compared.
inline bool reads_sizes(std::span<const c10::IValue> args, SignatureWords& words, std::byte** leaves) {
  std::int64_t* at = words.data();
  if (at[0] != static_cast<std::int64_t>(ThreadModes::now().excluded) ||
      at[1] != static_cast<std::int64_t>(args.size()))
    return false;
  at += 2;
  for (const c10::IValue& value : args) {
    if (value.isTensor()) {
      if (!detail::read_tensor(value.unsafeToTensorImpl(), at, *leaves++)) return false;
    } else if (value.isInt()) {
      if (*at++ != detail::head(detail::Tag::integer)) return false;
      *at++ = value.toInt();
    } else {
      const std::int64_t* rest = at;
      if (!detail::match_other(value, rest, leaves)) return false;
      at += rest - at;
    }
  }
  return true;
}

// A hash of the described call, by the finaliser of MurmurHash3 (Appleby) word by word. The modes that a
// program has read do not matter.
inline std::uint64_t hash_of(const SignatureWords& words) {
  std::uint64_t hash = 0x9E3779B97F4A7C15ULL;
  for (std::size_t i = 0; i < words.size(); ++i) {
    hash ^= static_cast<std::uint64_t>(i == 1 ? detail::argument_count(words) : words[i]);
    hash *= 0xFF51AFD7ED558CCDULL;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace sr::replay

// Lists and dictionaries of the arguments that a program returns, or whose elements it changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>

#include <sr/base/identity.hpp>

namespace sr::replay {

// The list or dictionary at this position, as each_container counts them.
inline c10::IValue container_at(std::uint32_t position, std::span<const c10::IValue> arguments) {
  std::uint32_t count = 0;
  c10::IValue found;
  for (const c10::IValue& value : arguments) {
    sr::detail::each_container(value, [&](const c10::IValue& each) {
      if (count++ == position) found = each;
    });
    if (count > position) break;
  }
  return found;
}

// Moves the elements of the last values to the containers at these positions, and removes the values.
inline void give_elements(const std::vector<std::uint32_t>& positions, std::span<const c10::IValue> arguments,
                          std::vector<c10::IValue>& values) {
  const std::size_t first = values.size() - positions.size();
  std::vector<c10::IValue> containers;  // all of them, before the first one gets other containers
  containers.reserve(positions.size());
  for (const std::uint32_t position : positions) containers.push_back(container_at(position, arguments));
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const c10::IValue& from = values[first + i];
    if (from.isList()) {
      c10::impl::GenericList list = containers[i].toList();
      list.clear();
      for (const c10::IValue& element : from.toListRef()) list.push_back(element);
    } else {
      c10::impl::GenericDict dict = containers[i].toGenericDict();
      dict.clear();
      for (const auto& entry : from.toGenericDict()) dict.insert(entry.key(), entry.value());
    }
  }
  values.resize(first);
}

}  // namespace sr::replay

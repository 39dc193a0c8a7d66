// The attributes that a graph assigns to.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>

#include <ATen/core/ivalue.h>

namespace sr::detail {

// An attribute: the object, and the position of the attribute in it.
using AttributeKey = std::pair<const c10::ivalue::Object*, std::size_t>;

class AssignedAttributes {
 public:
  void add(const AttributeKey& attribute) { attributes_.insert(attribute); }
  // For an object that only a call decides: every attribute of that name counts as assigned.
  void add_name(const std::string& name) { names_.insert(name); }

  bool contains(const AttributeKey& attribute, const std::string& name) const {
    return names_.count(name) != 0 || attributes_.count(attribute) != 0;
  }
  bool contains_name(const std::string& name) const { return names_.count(name) != 0; }

 private:
  std::set<AttributeKey> attributes_;
  std::unordered_set<std::string> names_;
};

}  // namespace sr::detail

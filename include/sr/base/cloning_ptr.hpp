// A pointer that owns an object of a derived class, and copies it when it is copied.
#pragma once

#include <memory>
#include <utility>

namespace sr::detail {

// `T` has a function `std::unique_ptr<T> clone() const`.
template <class T>
class CloningPtr {
 public:
  CloningPtr() = default;
  CloningPtr(std::unique_ptr<T> object)
      : object_(std::move(object)) {}  // NOLINT(google-explicit-constructor)
  CloningPtr(CloningPtr&&) noexcept = default;
  CloningPtr& operator=(CloningPtr&&) noexcept = default;
  CloningPtr(const CloningPtr& other)
      : object_(other.object_ != nullptr ? other.object_->clone() : nullptr) {}
  CloningPtr& operator=(const CloningPtr& other) { return *this = CloningPtr(other); }
  ~CloningPtr() = default;

  T* operator->() { return object_.get(); }
  const T* operator->() const { return object_.get(); }

 private:
  std::unique_ptr<T> object_;
};

}  // namespace sr::detail

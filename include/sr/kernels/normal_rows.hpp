// How many rows norms compute at a time.
#pragma once

#include <cstddef>

namespace sr::kernels {

// Their elements are added up in another order than those of the rows that are left: who divides a matrix
// keeps so many rows together.
inline constexpr std::size_t kNormalRows = 4;

}  // namespace sr::kernels

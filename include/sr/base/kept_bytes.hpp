// How much of a state a call keeps, so that it can be put back if the call throws.
#pragma once

#include <cstddef>

namespace sr {

inline constexpr std::size_t kMostKeptBytes = std::size_t{64} << 10;  // beyond, the state is broken then

}  // namespace sr

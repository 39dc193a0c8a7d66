// The limit on the state that a call copies so that sr can restore it if the call throws.
#pragma once

#include <cstddef>

namespace sr {

inline constexpr std::size_t kMostKeptBytes = std::size_t{64} << 10;

}  // namespace sr

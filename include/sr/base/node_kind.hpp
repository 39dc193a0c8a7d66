// The path a node takes.
#pragma once

#include <cstdint>

namespace sr {

enum class NodeKind : std::uint8_t { out_variant, native, fallback };

}  // namespace sr

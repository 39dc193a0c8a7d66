// Registration of operators: OutVariant, Native, NodeOp.
#pragma once

#include <sr/registry/op.hpp>  // IWYU pragma: export

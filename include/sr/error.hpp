// The exceptions that sr throws.
#pragma once

#include <sr/base/error.hpp>  // IWYU pragma: export

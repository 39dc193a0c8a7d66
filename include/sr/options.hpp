// What a caller can choose when a module is prepared.
#pragma once

#include <sr/base/options.hpp>  // IWYU pragma: export

// What a runtime reports about itself.
#pragma once

#include <sr/graph/report.hpp>  // IWYU pragma: export

// Everything behind the border of the public headers, compiled once: loading, preparing, running, reporting.
#include <sr/base/build.hpp>

SR_SILENT_BEGIN
#include <sr/impl/runtime.hpp>
SR_SILENT_END

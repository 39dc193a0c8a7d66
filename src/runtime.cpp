// Everything behind the border of the public headers, compiled once: loading, preparing, running, reporting.
#include <sr/impl/runtime.hpp>

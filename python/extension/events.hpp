// Hands the events of modules to Python's logging.
#pragma once

#include <sr/base/events.hpp>

namespace sr::python {

// For EventHandler: logs to the logger "sr", a recorded plan as DEBUG and the rest as INFO. Takes the GIL, so
// it must not be called with a lock that a thread with the GIL may wait for.
void log_event(const Event& event);

}  // namespace sr::python

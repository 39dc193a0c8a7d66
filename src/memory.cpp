// The built-in planners, compiled once; also for programs without LibTorch.
#include <sr/memory/impl/all.hpp>

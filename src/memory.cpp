// The built-in planners, compiled once; for programs without LibTorch, too.
#include <sr/memory/impl/all.hpp>

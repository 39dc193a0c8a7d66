// The lowerings of operators to steps of a replay.
#include <sr/replay/lowering/builtin.hpp>

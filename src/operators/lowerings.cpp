// What replay makes of the operators.
#include <sr/replay/lowering/builtin.hpp>

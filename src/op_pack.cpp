// The operators, compiled once: linked whole into a program, they register themselves. Their kernels are in
// kernels/.
#include <sr/ops/builtin.hpp>

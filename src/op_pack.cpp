// The operators, compiled once: linked whole into a program, they register themselves.
#include <sr/ops/all.hpp>

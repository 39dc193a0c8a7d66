// What replay makes of the operators.
#include <sr/plan/lower/builtin.hpp>

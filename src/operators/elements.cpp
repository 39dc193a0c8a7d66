// Operators on numbers. They register themselves when all of the archive is linked.
#include <sr/ops/language/arithmetic.hpp>
#include <sr/ops/language/conversions.hpp>
#include <sr/ops/language/numbers.hpp>
#include <sr/ops/language/scalars.hpp>

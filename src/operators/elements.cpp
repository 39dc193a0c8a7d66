// Operators on elements and numbers. They register themselves when all of the archive is linked.
#include <sr/ops/arithmetic.hpp>
#include <sr/ops/conversions.hpp>
#include <sr/ops/in_place.hpp>
#include <sr/ops/numbers.hpp>
#include <sr/ops/scalars.hpp>

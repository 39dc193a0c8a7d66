// What the steps of all products of matrices do when the sizes of a call are known.
#pragma once

#include <sr/replay/sizes/values.hpp>

namespace sr::replay {

// Sets the sizes of the step's product, and the distances between the rows of its operands.
template <class Step>
void settle_product(Step& step, SizeValues& values) {
  step.shape.m = values.count(step.m);
  step.shape.n = values.count(step.n);
  step.shape.k = values.count(step.k);
  step.shape.a_row = values(step.a_row);
  step.shape.out_row = values(step.out_row);
}

}  // namespace sr::replay

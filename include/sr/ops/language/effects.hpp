// Operators with side effects, or with results that do not depend only on their arguments. LibTorch's
// interpreter runs them.
#pragma once

#include <sr/registry/op.hpp>

namespace sr::ops::registered {

inline const Operator<"prim::TimePoint", Facts<Fact::unrepeatable>> facts_of_TimePoint;
inline const Operator<"aten::seed", Facts<Fact::unrepeatable>> facts_of_seed;
inline const Operator<"aten::initial_seed", Facts<Fact::unrepeatable>> facts_of_initial_seed;
inline const Operator<"aten::manual_seed", Facts<Fact::unrepeatable>> facts_of_manual_seed;
inline const Operator<"prim::requires_grad", Facts<Fact::unrepeatable, Fact::asks_hidden_state>>
    facts_of_requires_grad;
inline const Operator<"aten::requires_grad_", Facts<Fact::unrepeatable>> facts_of_requires_grad_;
inline const Operator<"aten::set_grad_enabled", Facts<Fact::unrepeatable>> facts_of_set_grad_enabled;
inline const Operator<"aten::get_autocast_dtype", Facts<Fact::unrepeatable>> facts_of_get_autocast_dtype;
inline const Operator<"prim::Print", Facts<Fact::unrepeatable>> facts_of_Print;

}  // namespace sr::ops::registered

// Operators of TorchScript itself: containers, strings, control flow.
#include <sr/ops/language/containers.hpp>
#include <sr/ops/language/control_flow.hpp>
#include <sr/ops/language/dictionaries.hpp>
#include <sr/ops/language/effects.hpp>
#include <sr/ops/language/lists.hpp>
#include <sr/ops/language/metadata.hpp>
#include <sr/ops/language/strings.hpp>

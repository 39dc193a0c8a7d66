// Operators of TorchScript itself: containers, strings, control flow.
#include <sr/ops/containers.hpp>
#include <sr/ops/control_flow.hpp>
#include <sr/ops/dictionaries.hpp>
#include <sr/ops/effects.hpp>
#include <sr/ops/lists.hpp>
#include <sr/ops/metadata.hpp>
#include <sr/ops/strings.hpp>

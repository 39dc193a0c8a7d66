// Everything that can run a model, each behind the shortest call of its interface.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>

#include "models.hpp"

namespace sr::bench {

// Used by one thread at a time. A call begins with existing arguments and ends when its result is destroyed.
struct Rival {
  std::string name;
  std::function<c10::IValue()> once;       // one call, and its result
  std::function<void(std::int64_t)> many;  // that many calls, in its own loop
};

template <class Call>
Rival make_rival(std::string name, Call call) {
  return {std::move(name), [call] { return c10::IValue(call()); },
          [call](std::int64_t times) {
            for (std::int64_t i = 0; i < times; ++i) call();
          }};
}

// A way to run one model. `make` returns another caller on the same prepared model, for another thread.
struct Kind {
  std::string name;
  std::function<Rival()> make;
};

// eager, interpreter, upstream, sr_general, sr_replay, sr_managed, sr_into, light, light_bound. They refer to
// `model`.
std::vector<Kind> kinds_of(const Model& model);

// Throws std::runtime_error if one of a rival's first calls (the first, the recorded one, the replayed ones)
// differs from the interpreter.
void check(const Model& model, const std::vector<Rival>& rivals);

}  // namespace sr::bench

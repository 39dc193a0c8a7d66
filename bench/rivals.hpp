// Everything that can run a model, each behind the shortest call its interface allows.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>

#include "models.hpp"

namespace sr::bench {

// Belongs to one thread at a time. A call begins with arguments that exist and ends when its result is gone.
struct Rival {
  std::string name;
  std::function<c10::IValue()> once;       // one call and what the caller has then
  std::function<void(std::int64_t)> many;  // so many calls; the loop is inside, nothing is between them
};

template <class Call>
Rival make_rival(std::string name, Call call) {
  return {std::move(name), [call] { return c10::IValue(call()); },
          [call](std::int64_t times) {
            for (std::int64_t i = 0; i < times; ++i) call();
          }};
}

// A way to run one model. `make` gives one more caller on the same prepared model, for another thread.
struct Kind {
  std::string name;
  std::function<Rival()> make;
};

// eager, interpreter, upstream, sr_general, sr_replay, sr_managed, sr_into, light, light_bound. They refer to
// `model`.
std::vector<Kind> kinds_of(const Model& model);

// Throws std::runtime_error if one of the first calls of a rival differs from the interpreter: the first
// call, the one that is recorded and those that are replayed.
void check(const Model& model, const std::vector<Rival>& rivals);

}  // namespace sr::bench

// The order in which a program gets its inputs: long enough that each recorded program is used with all other
// inputs.
#include <algorithm>

#include "fuzz/environment.hpp"
#include "fuzz/program.hpp"
#include "fuzz/random.hpp"

namespace sr::fuzz {

namespace {

// Settings are repeated, so that calls under them are recorded and replayed. They use another stream of
// random numbers, so that the runs of a seed stay the same.
void add_settings(const Case& program, std::uint64_t seed, std::vector<Run>& runs) {
  Random random(seed ^ 0x5E771465);
  const auto has = [&](Feature feature) { return program.features[static_cast<std::size_t>(feature)]; };
  std::vector<Setting> pool = {Setting::inference_mode, Setting::offset,        Setting::two_threads,
                               Setting::other_thread,   Setting::filled_memory, Setting::flushed_denormals};
  // Values that were folded when the module was loaded (factories, and replacements of a None argument) keep
  // the dtypes of that time.
  if (!has(Feature::factories) && !has(Feature::optional_input))
    pool.insert(pool.end(), {Setting::default_dtype, Setting::autocast});
  if (!program.attributes.empty() && !program.writes_attributes) {
    for (const Setting setting : {Setting::writes_weight, Setting::writes_weight, Setting::moves_weight})
      pool.push_back(setting);
  }
  for (std::size_t i = 3; i < runs.size(); ++i) {
    if (!random.chance(12)) continue;
    const Setting setting = random.of(pool);
    const bool changes = changes_weight({.setting = setting});
    const std::size_t weight = random.below(program.attributes.size());
    for (std::size_t times = changes ? 1 : 1 + random.below(4); times > 0 && i < runs.size(); --times, ++i) {
      runs[i].setting = setting;
      runs[i].weight = weight;
    }
  }
}

}  // namespace

std::vector<Run> choose_runs(const Case& program, std::uint64_t seed) {
  Random random(seed);
  std::vector<const TensorSpec*> tensors;
  bool optional = false;
  for (const Parameter& parameter : program.parameters) {
    optional = optional || parameter.type.rfind("Optional", 0) == 0;
    for (const TensorSpec& spec : parameter.tensors) tensors.push_back(&spec);
  }
  const Run a{}, b{Change::other_sizes};
  const auto any = [&] { return random.below(tensors.size()); };
  const auto dtype = [&] {
    static const Dtype dtypes[] = {Dtype::f64, Dtype::f64, Dtype::i64,
                                   Dtype::f32, Dtype::f16, Dtype::boolean};
    Run run{Change::dtype, any()};
    do run.dtype = random.of(dtypes);
    while (run.dtype == tensors[run.which]->dtype);
    return run;
  };
  const auto shared = [&](Change change) {
    // Two arguments of one dtype and shape, if there are any; else other layouts.
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      for (std::size_t k = i + 1; k < tensors.size(); ++k) {
        if (tensors[i]->dtype == tensors[k]->dtype && tensors[i]->shape == tensors[k]->shape)
          return Run{change, i, k};
      }
    }
    return Run{Change::layout, any(), random.below(4)};
  };
  const Run twice = shared(Change::same_tensor), overlap = shared(Change::overlap);
  const Run layout{Change::layout, any(), random.below(4)}, other = dtype();
  std::vector<Run> runs = {a, a, a, b, a, b, b, other, a, twice, a, layout, a};
  const Run bad{Change::bad_size, any()};
  const Run absent{optional ? Change::absent : Change::none};
  const std::vector<Run> pool = {a,     a,       a,      b,      b,   other,  dtype(), twice,
                                 twice, overlap, layout, layout, bad, absent, absent};
  const std::size_t more = 6 + random.below(14);
  const bool varies = std::ranges::any_of(tensors, [](const TensorSpec* spec) {
    return std::ranges::any_of(spec->shape, [](const Dim& dim) { return dim.a != dim.b; });
  });
  while (runs.size() < 13 + more) {
    // Sizes of which few come back, so that plans for families of sizes are recorded, used and left.
    if (varies && random.chance(60)) {
      runs.push_back({Change::any_sizes, 0, random.below(40)});
      continue;
    }
    // Most changes are repeated, so that calls under them are recorded and replayed.
    const Run& next = random.of(pool);
    for (std::size_t times = random.chance(50) ? 3 : 1; times > 0; --times) runs.push_back(next);
  }
  runs.push_back(a);
  add_settings(program, seed, runs);
  return runs;
}

}  // namespace sr::fuzz

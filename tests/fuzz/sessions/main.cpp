// Calls random models with state in random sessions, which it resets, saves, loads and clones in between, and
// compares each session with the interpreter on a copy of the module:
//   sr_fuzz_sessions [--count N] [--seed S] [--first I] [--steps K]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include <torch/script.h>

#include <sr/sr.hpp>

#include "fuzz/sessions/model.hpp"
#include "support/session_oracle.hpp"

namespace sr::fuzz {

namespace {

struct Counts {
  std::uint64_t steps = 0, calls = 0, thrown = 0, replayed = 0, failed = 0;
  // The number of calls that only the interpreter throws in, because it computes values that nothing reads.
  std::uint64_t dead_code = 0;
};

struct Stream {
  Session session;
  test::SessionOracle oracle;
};

StaticModuleOptions random_options(Random& random) {
  StaticModuleOptions options;
  options.debug.enable_replay = !random.chance(10);
  options.debug.enable_families = !random.chance(20);
  options.debug.check_every = random.chance(15) ? 1 : 0;
  if (random.chance(20)) options.numerics = Numerics::exact;
  if (random.chance(20)) options.memory.manage_outputs = true;
  return options;
}

// Holds one model and its streams.
class Script {
 public:
  Script(const StatefulModel& model, const StaticModuleOptions& options)
      : compiled_(model.compile()), module_(compiled_, options) {}

  // Makes the steps, on several threads if there are as many streams. Returns the first difference.
  std::string run(Random& random, std::size_t steps, Counts& counts) {
    std::vector<Stream> streams = fresh_streams(1 + random.below(6));
    const std::size_t threads = random.chance(70) ? 1 : std::min<std::size_t>(3, streams.size());
    std::vector<std::thread> running;
    std::mutex mutex;
    std::string first;
    for (std::size_t t = 0; t < threads; ++t) {
      std::vector<Stream> own;
      for (std::size_t i = t; i < streams.size(); i += threads) own.push_back(streams[i]);
      auto work = [&, own = std::move(own), seed = random.bits()]() mutable {
        Random choices(seed);
        Counts of_thread;
        std::string difference;
        for (std::size_t i = 0; i < steps / threads && difference.empty(); ++i) {
          try {
            difference = step(choices, own, of_thread);
          } catch (const std::exception& error) {
            difference = std::string("an exception: ") + error.what();
          }
          if (!difference.empty()) difference = "step " + std::to_string(i) + ": " + difference;
        }
        const std::scoped_lock lock(mutex);
        counts.steps += of_thread.steps;
        counts.calls += of_thread.calls;
        counts.thrown += of_thread.thrown;
        counts.dead_code += of_thread.dead_code;
        if (first.empty()) first = difference;
      };
      if (threads == 1) {
        work();
      } else {
        running.emplace_back(std::move(work));
      }
    }
    for (std::thread& thread : running) thread.join();
    counts.replayed += module_.report().runtime.replayed_calls;
    return first;
  }

 private:
  static inline const test::OracleOptions kClose{.rtol = 1e-4, .atol = 1e-4};

  std::vector<Stream> fresh_streams(std::size_t count) {
    std::vector<Stream> streams;
    for (std::size_t i = 0; i < count; ++i)
      streams.push_back({module_.session(), test::SessionOracle(compiled_)});
    return streams;
  }

  // Makes one step and returns the difference after it.
  std::string step(Random& random, std::vector<Stream>& streams, Counts& counts) {
    ++counts.steps;
    Stream& stream = random.of(streams);
    switch (random.below(40)) {
      case 0:
        stream.session.reset();
        stream.oracle = test::SessionOracle(compiled_);
        return test::compare_state(stream.oracle, stream.session.state(), kClose);
      case 1: {
        Stream& other = random.of(streams);
        other.session.load(stream.session.state());
        other.oracle = test::SessionOracle(stream.oracle.module());
        return test::compare_state(other.oracle, other.session.state(), kClose);
      }
      case 2: {
        Stream& other = random.of(streams);
        Stream copy{stream.session.clone(), test::SessionOracle(stream.oracle.module())};
        other = copy;
        return {};
      }
      default:
        return call(random, stream, counts);
    }
  }

  std::string call(Random& random, Stream& stream, Counts& counts) {
    ++counts.calls;
    const std::int64_t size = random.chance(90) ? kWidth : 1 + static_cast<std::int64_t>(random.below(6));
    at::Tensor x = at::empty({size});
    for (std::int64_t i = 0; i < size; ++i) x[i] = static_cast<float>(random.unit() * 2 - 1);
    const test::InputSet inputs{x};
    const std::optional<c10::IValue> expected = stream.oracle(inputs);
    std::optional<c10::IValue> result;
    try {
      result = random.chance(90) ? stream.session(test::copy_inputs(inputs))
                                 : value_of(stream.session.run_async(test::copy_inputs(inputs)));
    } catch (const CheckFailedError& wrong) {
      return std::string("a check: ") + wrong.what();
    } catch (const std::exception& error) {
      if (expected) return std::string("threw: ") + error.what();
    }
    counts.thrown += expected ? 0 : 1;
    if (!expected && result) {
      ++counts.dead_code;
      stream.session.load(stream.oracle.state(stream.session.state()));
    }
    std::string difference;
    if (expected) difference = test::compare_values(*expected, *result, kClose, "result");
    if (result) overwrite(*result);
    x.fill_(100);
    if (difference.empty()) difference = test::compare_state(stream.oracle, stream.session.state(), kClose);
    return difference;
  }

  static c10::IValue value_of(const c10::intrusive_ptr<c10::ivalue::Future>& future) {
    future->wait();
    if (future->hasError()) std::rethrow_exception(future->exception_ptr());
    return future->value();
  }

  // Writes to the result must not change the state. An attribute that the model never writes is a weight, and
  // the result may be the weight itself.
  void overwrite(const c10::IValue& result) const {
    std::unordered_set<const void*> weights;
    for (const c10::IValue& attribute : compiled_._ivalue()->slots())
      sr::detail::add_identities(attribute, weights);
    sr::detail::each_tensor(result, [&](const at::Tensor& tensor) {
      const bool is_weight = weights.count(sr::detail::storage_of(tensor)) != 0;
      if (!is_weight && tensor.is_non_overlapping_and_dense()) tensor.fill_(77);
    });
  }

  torch::jit::Module compiled_;
  StaticModule module_;
};

std::uint64_t number_behind(int count, char** words, std::string_view name, std::uint64_t otherwise) {
  for (int i = 1; i + 1 < count; ++i) {
    if (words[i] == name) return std::strtoull(words[i + 1], nullptr, 10);
  }
  return otherwise;
}

int main(int count, char** words) {
  const std::uint64_t seed = number_behind(count, words, "--seed", 1);
  const std::uint64_t first = number_behind(count, words, "--first", 0);
  const std::uint64_t programs = number_behind(count, words, "--count", 100);
  const std::uint64_t steps = number_behind(count, words, "--steps", 60);
  at::set_num_threads(1);
  const at::NoGradGuard no_grad;
  Counts counts;
  for (std::uint64_t i = first; i < first + programs; ++i) {
    Random random(seed, i);
    const StatefulModel model = random_model(random);
    std::string difference;
    try {
      Script script(model, random_options(random));
      difference = script.run(random, steps, counts);
    } catch (const std::exception& error) {
      difference = std::string("could not be run: ") + error.what();
    }
    if (difference.empty()) continue;
    ++counts.failed;
    std::cout << "program " << i << " of seed " << seed << ":\n" << model.source << difference << "\n\n";
  }
  std::cout << programs << " models, " << counts.steps << " steps, " << counts.calls << " calls ("
            << counts.thrown << " threw, " << counts.replayed << " replayed, " << counts.dead_code
            << " exceptions of dead code), " << counts.failed << " failed\n";
  return counts.failed == 0 ? 0 : 1;
}

}  // namespace

}  // namespace sr::fuzz

int main(int count, char** words) {
  return sr::fuzz::main(count, words);
}

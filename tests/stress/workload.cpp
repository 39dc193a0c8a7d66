#include "stress/workload.hpp"

#include <algorithm>
#include <iostream>
#include <optional>
#include <sstream>

#include <ATen/Parallel.h>

namespace sr::stress {

namespace {

constexpr std::uint64_t kForms = 7;
constexpr std::uint64_t kCancelled = 4;  // the form whose call is cancelled before it begins

c10::IValue result_of(const c10::intrusive_ptr<c10::ivalue::Future>& future) {
  future->waitAndThrow();
  return future->value();
}

}  // namespace

Workload::Workload(const std::vector<Program>& programs) : programs_(programs) {
  for (std::size_t i = 0; i < kPlaces; ++i)
    places_[i].entry = std::make_shared<Entry>(programs[i % programs.size()]);
}

std::shared_ptr<const Workload::Entry> Workload::at(std::size_t place) {
  const std::scoped_lock lock(places_[place].mutex);
  return places_[place].entry;
}

void Workload::replace(std::size_t place, std::minstd_rand& random) {
  std::shared_ptr<const Entry> entry = std::make_shared<Entry>(programs_[random() % programs_.size()]);
  ++tally_.modules;
  const std::scoped_lock lock(places_[place].mutex);
  std::swap(places_[place].entry, entry);
}

c10::IValue Workload::call(const Entry& entry, const Case& one, std::uint64_t form) {
  CallOptions options;
  switch (form) {
    case 0:
      return entry.module(one.args);
    case 1:
      return entry.pool(one.args);
    case 2: {
      const auto runtime = entry.pool.lease();
      (*runtime)(one.args);
      return (*runtime)(one.args);
    }
    case 3:
      options.deadline = CallOptions::Clock::now() + std::chrono::hours(1);
      return entry.pool(one.args, {}, options);
    case kCancelled: {
      std::stop_source source;
      source.request_stop();
      options.stop = source.get_token();
      return entry.pool(one.args, {}, options);
    }
    case 5:
      return result_of(entry.pool.run_async(one.args));
    default:
      options.on_launcher = true;
      return result_of(entry.pool.run_async(one.args, {}, options));
  }
}

void Workload::wrong(const Entry& entry, std::uint64_t form, const std::string& what) {
  if (++tally_.wrong > 20) return;
  std::ostringstream line;
  line << "wrong: " << entry.program->name << ", form " << form << ": " << what << '\n';
  std::cerr << line.str();
}

void Workload::step(std::minstd_rand& random) {
  const std::size_t place = random() % kPlaces;
  if (random() % 2000 == 0) replace(place, random);
  const std::shared_ptr<const Entry> entry = at(place);
  const std::vector<Case>& cases = entry->program->cases;
  // One call in a hundred throws.
  const bool throws = random() % 100 == 0;
  const auto first = random() % cases.size();
  std::size_t which = first;
  do {
    which = (which + 1) % cases.size();
  } while (cases[which].right.empty() != throws && which != first);
  const Case& one = cases[which];
  const std::uint64_t form = random() % kForms;
  ++tally_.calls;
  try {
    const c10::IValue answer = call(*entry, one, form);
    if (form == kCancelled) return wrong(*entry, form, "was not cancelled");
    if (one.right.empty()) return wrong(*entry, form, "did not throw");
    if (std::ranges::none_of(one.right, [&](const c10::IValue& right) { return same(right, answer); })) {
      wrong(*entry, form, "another answer than the serial run's");
    }
  } catch (const CancelledError&) {
    ++tally_.cancelled;
    if (form != kCancelled) wrong(*entry, form, "was cancelled");
  } catch (const std::exception& error) {
    ++tally_.thrown;
    if (!one.right.empty()) wrong(*entry, form, error.what());
  }
}

}  // namespace sr::stress

// What is a planner and what is not. Compiles as it is; -DSR_REJECT=n has to fail with this in the message:
// reject 1: P::name
// reject 2: does not satisfy return-type-requirement
// reject 3: P::plan(requests)
// reject 4: P::plan(requests)
#include <span>
#include <string_view>
#include <vector>

#include <sr/memory/planners.hpp>

using sr::memory::Layout;
using sr::memory::Planner;
using sr::memory::Request;

struct Good {
  static constexpr std::string_view name = "good";
  static Layout plan(std::span<const Request>);
};
static_assert(Planner<Good>);

struct CharacterName {
  static constexpr const char* name = "a literal will do";
  static Layout plan(std::span<const Request>);
};
static_assert(Planner<CharacterName>);

static_assert(!Planner<int>);
static_assert(Planner<sr::memory::StandardResizing> && Planner<sr::memory::LinearScan> &&
              Planner<sr::memory::GreedyBySize> && Planner<sr::memory::NoReuse>);

#if SR_REJECT == 1
struct Nameless {
  static Layout plan(std::span<const Request>);
};
static_assert(Planner<Nameless>);
#elif SR_REJECT == 2
struct ReturnsNothing {
  static constexpr std::string_view name = "returns_nothing";
  static void plan(std::span<const Request>);
};
static_assert(Planner<ReturnsNothing>);
#elif SR_REJECT == 3
struct ChangesItsRequests {
  static constexpr std::string_view name = "changes_its_requests";
  static Layout plan(std::vector<Request>&);
};
static_assert(Planner<ChangesItsRequests>);
#elif SR_REJECT == 4
struct NotStatic {
  static constexpr std::string_view name = "not_static";
  Layout plan(std::span<const Request>);
};
static_assert(Planner<NotStatic>);
#endif

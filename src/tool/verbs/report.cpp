#include "report.hpp"

#include <chrono>
#include <filesystem>
#include <iostream>
#include <type_traits>
#include <vector>

#include <sr/memory/planners.hpp>
#include <sr/sr.hpp>

#include "../drawing/report_page.hpp"
#include "../inputs/input_sets.hpp"
#include "../text_file.hpp"

namespace sr::tool {
namespace {

template <class P>
void call_for(StaticRuntime<P>& runtime, const std::vector<ArgumentList>& sets, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  do {
    for (const ArgumentList& set : sets) runtime(ArgumentList(set), {});
  } while (Clock::now() < end);
}

}  // namespace

int report(const ReportOptions& options) {
  const StaticModule module(load_model(options.model));
  const std::vector<ArgumentList> sets = input_sets(options.inputs, module.schema());
  const std::string title = std::filesystem::path(options.model).filename().string();
  const std::string page =
      memory::with_planner(options.planner, [&]<class P>(std::type_identity<P>) -> std::string {
        StaticRuntime<P> runtime(module);
        for (const ArgumentList& set : sets) runtime.reserve(set);
        call_for(runtime, sets, options.seconds / 2);
        const CallMetrics calls = runtime.metrics();  // before steps are timed, which takes time
        runtime.time_steps(true);
        call_for(runtime, sets, options.seconds / 2);
        return report_page(title, runtime.report(), calls);
      });
  write_text(options.html, page);
  std::cout << options.html << '\n';
  return 0;
}

}  // namespace sr::tool

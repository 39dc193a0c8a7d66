// The picture of memory plans: its contents, and its legibility.
#include "../src/tool/drawing/plan_picture.hpp"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace sr::test::plan_picture_tests {

using tool::plan_svg;

struct Text {
  double x = 0, y = 0;
  std::string anchor, content;
};

// The texts of each panel; texts outside of panels are under -1.
std::map<int, std::vector<Text>> texts_of(const std::string& svg) {
  static const std::regex kLine(
      R"re(<g transform="translate\(0 |<text x="([0-9.]+)" y="([0-9.]+)"[^>]*>([^<]*)<)re");
  static const std::regex kAnchor(R"re(text-anchor="(\w+)")re");
  std::map<int, std::vector<Text>> texts;
  int panel = -1;
  for (auto at = std::sregex_iterator(svg.begin(), svg.end(), kLine); at != std::sregex_iterator(); ++at) {
    if (!(*at)[1].matched) {
      ++panel;
      continue;
    }
    std::smatch anchor;
    const std::string whole = at->str();
    std::regex_search(whole, anchor, kAnchor);
    texts[panel].push_back(
        {std::stod((*at)[1]), std::stod((*at)[2]), anchor.empty() ? "start" : anchor[1].str(), (*at)[3]});
  }
  return texts;
}

// A plan of `steps` steps, each of which makes a tensor that the next one reads.
PlanReport chain(std::size_t steps) {
  PlanReport plan;
  plan.arguments = "Float[4, 64]";
  for (memory::StepIndex i = 0; i < steps; ++i) {
    plan.steps.push_back(
        {.kind = "packed gemm", .ops = {"aten::linear", "aten::relu"}, .reads = {}, .writes = {}});
    plan.memory.requests.push_back({.bytes = 256, .first = i, .end = i + 2});
    plan.memory.layout.offsets.push_back(i % 2 * 256);
  }
  plan.memory.arena = plan.memory.layout.total = plan.memory.lower_bound = 512;
  plan.memory.no_reuse = 256 * steps;
  plan.memory.requests.back().end = static_cast<memory::StepIndex>(steps);
  return plan;
}

TEST_CASE("plans of data-dependent blocks are drawn and written with the name of the block", "[tool]") {
  Report report;
  report.plans = {chain(2)};
  BlockReport& block = report.decided_blocks.emplace_back();
  block.name = "body of a loop";
  block.plans = {chain(3)};
  const std::vector<tool::PlannedMemory> memories = tool::planned_memories(report);
  REQUIRE(memories.size() == 2);
  CHECK(memories[0].name == "replay of (Float[4, 64])");
  CHECK(memories[1].name == "replay of body of a loop (Float[4, 64])");
  CHECK(memories[1].tensors.size() == 3);
  const auto json = nlohmann::json::parse(tool::plan_json(report, "model.pt"));
  CHECK(!json["plans"][0].contains("decided_block"));
  CHECK(json["plans"][1]["decided_block"] == "body of a loop");
  CHECK(json["plans"][1]["tensors"].size() == 3);
}

TEST_CASE("labels of a plan's steps touch neither each other nor the edge", "[tool]") {
  for (const std::size_t steps : {1, 2, 20, 60, 500}) {
    Report report;
    report.planner = "linear_scan";
    report.plans = {chain(steps), chain(2)};
    const auto texts = texts_of(plan_svg(report, "model.pt"));
    REQUIRE(texts.size() == 3);
    for (const auto& [panel, all] : texts) {
      if (panel < 0) continue;
      std::size_t labels = 0;
      double last = -100;
      for (const Text& text : all) {
        const double width = 6.2 * static_cast<double>(text.content.size());
        CAPTURE(steps, text.content, text.x, text.y);
        if (text.anchor == "end") CHECK(text.x - width > 0);
        if (text.anchor == "start") CHECK(text.x + width < 1000);
        if (text.anchor != "end" || text.content.find("packed gemm") == std::string::npos) continue;
        CHECK(text.y - last > 10);
        last = text.y;
        ++labels;
      }
      CHECK(labels >= std::min<std::size_t>(panel == 0 ? steps : 2, 40));
    }
  }
}

TEST_CASE("a plan's picture has a bar for each tensor, and panels do not lie on each other", "[tool]") {
  Report report;
  report.plans = {chain(3), chain(5)};
  const std::string svg = plan_svg(report, "a<b.pt");
  std::size_t bars = 0;
  for (std::size_t at = svg.find("<title>"); at != std::string::npos; at = svg.find("<title>", at + 1))
    ++bars;
  CHECK(bars == 8);
  CHECK(svg.find("a&lt;b.pt") != std::string::npos);
  CHECK(svg.find("replay of (Float[4, 64])") != std::string::npos);
  static const std::regex kTop(R"re(<g transform="translate\(0 ([0-9.]+)\)">)re");
  std::vector<double> tops;
  for (auto at = std::sregex_iterator(svg.begin(), svg.end(), kTop); at != std::sregex_iterator(); ++at)
    tops.push_back(std::stod((*at)[1]));
  REQUIRE(tops.size() == 2);
  CHECK(tops[0] > 60);  // below the legend
  CHECK(tops[1] - tops[0] > 3 * 22 + 62);
}

TEST_CASE("memory that was never planned is not drawn", "[tool]") {
  Report report;
  BlockMemory memory;
  memory.requests = {{.bytes = 64, .first = 0, .end = 1}, {.bytes = 64, .first = 1, .end = 2}};
  memory.lower_bound = 128;
  report.blocks = {memory};
  const std::string svg = plan_svg(report, "model.pt");
  CHECK(svg.find("No tensor is planned") != std::string::npos);
  CHECK(svg.find("general path") == std::string::npos);
}

}  // namespace sr::test::plan_picture_tests

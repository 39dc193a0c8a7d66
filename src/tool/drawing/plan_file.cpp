// A memory plan as a file; the picture is plan_picture.cpp, which needs no JSON.
#include <nlohmann/json.hpp>

#include <sr/error.hpp>

#include "../text_file.hpp"
#include "plan_picture.hpp"

namespace sr::tool {

std::string plan_json(const Report& report, const std::string& title) {
  nlohmann::ordered_json blocks = nlohmann::ordered_json::array(), plans = nlohmann::ordered_json::array();
  const std::vector<PlannedMemory> all = planned_memories(report);
  for (std::size_t b = 0; b < all.size(); ++b) {
    const bool is_block = b < report.blocks.size();
    nlohmann::ordered_json entry;
    if (is_block) {
      entry["block"] = b;
    } else {
      entry["arguments"] = all[b].arguments;
      if (!all[b].decided_block.empty()) entry["decided_block"] = all[b].decided_block;
    }
    entry["total_bytes"] = all[b].memory->layout.total;
    entry["arena_bytes"] = all[b].memory->arena;
    entry["lower_bound_bytes"] = all[b].memory->lower_bound;
    entry["no_reuse_bytes"] = all[b].memory->no_reuse;
    entry["steps"] = all[b].steps;
    entry["tensors"] = nlohmann::ordered_json::array();
    for (const PlannedTensor& tensor : all[b].tensors) {
      entry["tensors"].push_back({{"name", tensor.name},
                                  {"made_by", tensor.made_by},
                                  {"bytes", tensor.bytes},
                                  {"offset", tensor.offset},
                                  {"first", tensor.first},
                                  {"end", tensor.end},
                                  {"onto_input", tensor.onto_input}});
    }
    (is_block ? blocks : plans).push_back(std::move(entry));
  }
  return nlohmann::ordered_json{
             {"model", title}, {"planner", report.planner}, {"blocks", blocks}, {"plans", plans}}
             .dump(1) +
         '\n';
}

void write_plan(const std::string& path, const Report& report, const std::string& title) {
  const bool svg = path.ends_with(".svg");
  if (!svg && !path.ends_with(".json")) {
    throw ArgumentError("The plan can be written as .svg or .json, but the name given is '" + path + "'.");
  }
  write_text(path, svg ? plan_svg(report, title) : plan_json(report, title));
}

}  // namespace sr::tool

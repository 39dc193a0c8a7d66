#include "ops.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <sr/replay/programs/inventory.hpp>
#include <sr/report.hpp>

namespace sr::tool {
namespace {

// Without namespace and template arguments, which compilers write differently.
std::string short_name(const std::string& functor) {
  const std::string name = functor.substr(0, functor.find('<'));
  const std::size_t colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

std::string summary(const std::vector<InventoryEntry>& entries) {
  std::size_t out = 0, generic = 0;
  std::map<std::string, std::size_t> replays;
  for (const InventoryEntry& entry : entries) {
    out += entry.kind == NodeKind::out_variant ? 1 : 0;
    generic += entry.functor == "generic out variant" ? 1 : 0;
    ++replays[name_of(entry.replay)];
  }
  std::string text = std::to_string(entries.size()) + " operators: " + std::to_string(out) +
                     " write into planned memory (out; " + std::to_string(generic) +
                     " of them through the generic out variant), " + std::to_string(entries.size() - out) +
                     " return their results (native).\nIn a replay:";
  for (const auto& [name, count] : replays)
    text += (text.back() == ':' ? " " : ", ") + std::to_string(count) + " " + name;
  return text + ".";
}

void print_text(std::ostream& out, const std::vector<InventoryEntry>& entries) {
  std::size_t width = 0;
  for (const InventoryEntry& entry : entries) width = std::max(width, entry.key.size());
  const auto line = [&](std::string_view key, std::string_view kind, std::string_view replay,
                        std::string_view functor) {
    out << std::left << std::setw(static_cast<int>(width) + 2) << key << std::setw(8) << kind << std::setw(13)
        << replay << functor << '\n';
  };
  line("operator", "kind", "replay", "functor");
  for (const InventoryEntry& entry : entries)
    line(entry.key, name_of(entry.kind), name_of(entry.replay), short_name(entry.functor));
  out << '\n' << summary(entries) << '\n';
}

void print_json(std::ostream& out, const std::vector<InventoryEntry>& entries) {
  nlohmann::json all = nlohmann::json::array();
  for (const InventoryEntry& entry : entries) {
    all.push_back({{"key", entry.key},
                   {"kind", name_of(entry.kind)},
                   {"functor", entry.functor},
                   {"replay", name_of(entry.replay)}});
  }
  out << all.dump(1) << '\n';
}

void print_markdown(std::ostream& out, const std::vector<InventoryEntry>& entries) {
  out << "# Operators\n\n"
         "`sr ops --markdown` prints this page, and a test keeps it up to date. Operators that are not "
         "listed "
         "run in\n"
         "LibTorch's interpreter; `sr inspect` shows them for a model.\n\n"
      << summary(entries)
      << "\n\n"
         "- *kind*: `out` writes into planned memory, `native` returns its results.\n"
         "- *replay*: the fastest way in which a replay runs it. `kernel`: a kernel of sr. `iterator`: a "
         "loop of "
         "LibTorch,\n"
         "  prepared once. `call`: the functor, on planned memory. `interpreted`: the functor, which makes "
         "new "
         "results.\n"
         "  `none`: nothing, because the result is known when the program is built.\n\n"
         "| operator | kind | replay | functor |\n|---|---|---|---|\n";
  for (const InventoryEntry& entry : entries) {
    out << "| `" << entry.key << "` | " << name_of(entry.kind) << " | " << name_of(entry.replay) << " | "
        << short_name(entry.functor) << " |\n";
  }
}

}  // namespace

int ops(const OpsOptions& options) {
  const std::vector<InventoryEntry> entries = inventory();
  if (options.json) {
    print_json(std::cout, entries);
  } else if (options.markdown) {
    print_markdown(std::cout, entries);
  } else {
    print_text(std::cout, entries);
  }
  return 0;
}

}  // namespace sr::tool

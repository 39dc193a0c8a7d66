#include "ops.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <sr/replay/inventory.hpp>
#include <sr/report.hpp>

namespace sr::tool {
namespace {

// Without namespace and template arguments, which compilers write each in their own way.
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
                     " out variants, " + std::to_string(generic) + " of them generic, and " +
                     std::to_string(entries.size() - out) + " native.\nOn a replay:";
  for (const auto& [name, count] : replays)
    text += (text.back() == ':' ? " " : ", ") + std::to_string(count) + " " + name;
  return text + ".";
}

void print_text(std::ostream& out, const std::vector<InventoryEntry>& entries) {
  std::size_t width = 0;
  for (const InventoryEntry& entry : entries) width = std::max(width, entry.key.size());
  for (const InventoryEntry& entry : entries) {
    out << std::left << std::setw(static_cast<int>(width) + 2) << entry.key << std::setw(8)
        << name_of(entry.kind) << std::setw(13) << name_of(entry.replay) << short_name(entry.functor) << '\n';
  }
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
         "Made by `sr ops --markdown`; a test compares it. What is not in the table runs in LibTorch's "
         "interpreter,\n"
         "and `sr inspect` says so for each node of a model.\n\n"
      << summary(entries)
      << "\n\n"
         "- *kind*: `out` writes into planned memory, `native` returns its results.\n"
         "- *replay*: the best a plan does with it. `kernel` is of ours, `iterator` is LibTorch's loop "
         "prepared once,\n"
         "  `call` is the functor on planned memory, `none` is settled when the call is recorded, "
         "`interpreted` is\n"
         "  the functor, which makes its results anew.\n\n"
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

#include "plan_picture.hpp"

#include <algorithm>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include <sr/error.hpp>

#include "svg.hpp"
#include "text_file.hpp"

namespace sr::tool {
namespace {

constexpr double kWidth = 1000, kLeft = 90, kRight = 20, kPlotHeight = 320, kLabelHeight = 130, kHead = 40;
constexpr double kPlotWidth = kWidth - kLeft - kRight;
constexpr std::size_t kMostLabels = 60;  // more steps than that are numbered only

std::string with_commas(memory::Bytes bytes) {
  std::string digits = std::to_string(bytes);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

std::vector<std::string> keys_of(const Report& report, std::size_t block) {
  std::vector<std::string> keys;
  for (const NodeReport& node : report.nodes) {
    if (node.block == block) keys.push_back(node.key);
  }
  return keys;
}

std::vector<PlannedTensor> tensors_of_block(const Report& report, std::size_t block) {
  const BlockMemory& memory = report.blocks[block];
  std::vector<PlannedTensor> tensors;
  for (const NodeReport& node : report.nodes) {
    if (node.block != block) continue;
    for (const ValueReport& value : node.outputs) {
      if (!value.managed) continue;
      PlannedTensor tensor{value.name, node.key, value.bytes, value.offset, value.first, value.last, false};
      if (const std::size_t i = tensors.size();
          i < memory.requests.size() && i < memory.layout.offsets.size()) {
        const std::uint32_t input = memory.requests[i].may_reuse_input;
        tensor.onto_input = input != memory::kNoRequest && memory.layout.offsets[input] == value.offset;
      }
      tensors.push_back(std::move(tensor));
    }
  }
  return tensors;
}

// "packed product: aten::linear, aten::relu"
std::string label_of(const StepReport& step) {
  std::string text = step.kind;
  for (std::size_t i = 0; i < step.ops.size(); ++i) text += (i == 0 ? ": " : ", ") + step.ops[i];
  return text;
}

// Draws one block or plan with its upper left corner at (0, top).
class Panel {
 public:
  Panel(std::ostream& out, const PlannedMemory& planned, const std::string& planner, double top)
      : out_(out),
        memory_(*planned.memory),
        tensors_(planned.tensors),
        keys_(planned.steps),
        base_(top + kHead + kPlotHeight),
        steps_(std::max<std::size_t>(keys_.size(), 1)),
        most_(std::max({memory_.layout.total, memory_.lower_bound, memory::Bytes{1}})) {
    text(kLeft, top + 18, "start",
         planned.name + ": " + with_commas(memory_.layout.total) + " bytes planned by " + planner +
             ", lower bound " + with_commas(memory_.lower_bound) + ", without reuse " +
             with_commas(memory_.no_reuse),
         13);
    draw_axes();
    for (std::size_t i = 0; i < tensors_.size(); ++i) draw_bar(i);
    draw_alive();
    line(kLeft, y(memory_.layout.total), kLeft + kPlotWidth, "#222222", "");
    line(kLeft, y(memory_.lower_bound), kLeft + kPlotWidth, "#cc0000", " stroke-dasharray=\"8 4\"");
    for (std::size_t i = 0; i < tensors_.size(); ++i) draw_label(i);
  }

 private:
  double x(std::size_t step) const {
    return kLeft + kPlotWidth * static_cast<double>(step) / static_cast<double>(steps_);
  }
  double y(memory::Bytes offset) const {
    return base_ - kPlotHeight * static_cast<double>(offset) / static_cast<double>(most_);
  }

  void text(double at_x, double at_y, const char* anchor, const std::string& what, int size,
            const std::string& more = "") {
    out_ << "<text x=\"" << at_x << "\" y=\"" << at_y << "\" font-size=\"" << size << "\" text-anchor=\""
         << anchor << '"' << more << '>' << escaped(what) << "</text>\n";
  }
  void line(double x1, double at_y, double x2, const char* color, const char* more) {
    out_ << "<line x1=\"" << x1 << "\" x2=\"" << x2 << "\" y1=\"" << at_y << "\" y2=\"" << at_y
         << "\" stroke=\"" << color << "\" stroke-width=\"1.5\"" << more << "/>\n";
  }

  void draw_axes() {
    for (int quarter = 0; quarter <= 4; ++quarter) {
      const memory::Bytes offset = most_ * static_cast<memory::Bytes>(quarter) / 4;
      line(kLeft, y(offset), kLeft + kPlotWidth, "#e4e4e4", "");
      text(kLeft - 6, y(offset) + 4, "end", with_commas(offset), 11);
    }
    const bool named = steps_ <= kMostLabels;
    const std::size_t stride = named ? 1 : (steps_ + 19) / 20;
    for (std::size_t step = 0; step < keys_.size(); step += stride) {
      const double middle = (x(step) + x(step + 1)) / 2;
      std::ostringstream turn;
      turn << " transform=\"rotate(-55 " << middle << ' ' << base_ + 14 << ")\"";
      text(middle, base_ + 14, "end", std::to_string(step) + (named ? " " + keys_[step] : ""), 10,
           turn.str());
    }
  }

  void draw_bar(std::size_t i) {
    const PlannedTensor& tensor = tensors_[i];
    if (tensor.bytes == 0) return;
    const double width = x(tensor.last) - x(tensor.first),
                 height = y(tensor.offset) - y(tensor.offset + tensor.bytes);
    // Hues a golden angle apart: neighbours never look alike.
    const int hue = static_cast<int>(i * 137 % 360);
    out_ << "<g><title>%" << escaped(tensor.name) << " made by " << escaped(tensor.made_by) << "\n"
         << with_commas(tensor.bytes) << " bytes at " << with_commas(tensor.offset) << "\nsteps "
         << tensor.first << " to " << tensor.last - 1
         << (tensor.onto_input ? "\nwritten onto an input that dies here" : "") << "</title><rect x=\""
         << x(tensor.first) << "\" y=\"" << y(tensor.offset + tensor.bytes) << "\" width=\"" << width
         << "\" height=\"" << height << "\" fill=\"hsl(" << hue << ",60%,72%)\" stroke=\"hsl(" << hue
         << ",60%,35%)\"" << (tensor.onto_input ? " stroke-width=\"2\" stroke-dasharray=\"3 2\"" : "")
         << "/>";
    out_ << "</g>\n";
  }

  // In the part of the bar that nothing is drawn upon, if it fits.
  void draw_label(std::size_t i) {
    const PlannedTensor& tensor = tensors_[i];
    memory::Step end = tensor.last;
    for (std::size_t j = 0; j < tensors_.size(); ++j) {
      if (tensors_[j].onto_input && memory_.requests[j].may_reuse_input == i) end = tensors_[j].first;
    }
    const std::string label = "%" + tensor.name;
    const double height = y(tensor.offset) - y(tensor.offset + tensor.bytes);
    if (height < 13 || x(end) - x(tensor.first) < 7 * static_cast<double>(label.size())) return;
    text((x(tensor.first) + x(end)) / 2, y(tensor.offset) - height / 2 + 4, "middle", label, 11,
         " pointer-events=\"none\"");
  }

  // Bytes alive in each step; an output written onto its input is not counted twice.
  void draw_alive() {
    std::vector<std::ptrdiff_t> change(steps_ + 1);
    for (const PlannedTensor& tensor : tensors_) {
      const std::size_t born = tensor.first + (tensor.onto_input ? 1 : 0);
      if (born >= tensor.last) continue;
      const auto bytes = static_cast<std::ptrdiff_t>(memory::align_up(tensor.bytes));
      change[born] += bytes;
      change[tensor.last] -= bytes;
    }
    out_ << "<path fill=\"none\" stroke=\"#0044cc\" stroke-width=\"1.5\" d=\"";
    std::ptrdiff_t alive = 0;
    for (std::size_t step = 0; step < keys_.size(); ++step) {
      alive += change[step];
      const double height = y(static_cast<memory::Bytes>(alive));
      out_ << (step == 0 ? "M " : "L ") << x(step) << ' ' << height << " L " << x(step + 1) << ' ' << height
           << ' ';
    }
    out_ << "\"/>\n";
  }

  std::ostream& out_;
  const BlockMemory& memory_;
  const std::vector<PlannedTensor>& tensors_;
  const std::vector<std::string>& keys_;
  double base_;
  std::size_t steps_;
  memory::Bytes most_;
};

void draw_legend(std::ostream& out, double top) {
  auto entry = [&, at = kLeft](const char* mark, const char* what, double width) mutable {
    out << "<g transform=\"translate(" << at << ' ' << top << ")\">" << mark
        << "<text x=\"34\" y=\"4\" font-size=\"11\">" << what << "</text></g>\n";
    at += width;
  };
  entry("<rect x=\"0\" y=\"-6\" width=\"28\" height=\"12\" fill=\"#cfe3cf\" stroke=\"#3b6b3b\"/>", "a tensor",
        110);
  entry(
      "<rect x=\"0\" y=\"-6\" width=\"28\" height=\"12\" fill=\"#cfe3cf\" stroke=\"#3b6b3b\" "
      "stroke-width=\"2\" "
      "stroke-dasharray=\"3 2\"/>",
      "written onto a dying input", 210);
  entry("<line x2=\"28\" stroke=\"#222222\" stroke-width=\"1.5\"/>", "planned", 110);
  entry("<line x2=\"28\" stroke=\"#cc0000\" stroke-width=\"1.5\" stroke-dasharray=\"8 4\"/>", "lower bound",
        140);
  entry("<line x2=\"28\" stroke=\"#0044cc\" stroke-width=\"1.5\"/>", "bytes alive (with alignment)", 200);
}

}  // namespace

std::vector<PlannedMemory> planned_memories(const Report& report) {
  std::vector<PlannedMemory> all;
  for (std::size_t b = 0; b < report.blocks.size(); ++b) {
    all.push_back(
        {"block " + std::to_string(b), &report.blocks[b], tensors_of_block(report, b), keys_of(report, b)});
  }
  for (const PlanReport& plan : report.plans) {
    PlannedMemory& planned = all.emplace_back();
    planned.name = "replay of (" + plan.arguments + ")";
    planned.memory = &plan.memory;
    for (const StepReport& step : plan.steps) planned.steps.push_back(label_of(step));
    for (std::size_t i = 0; i < plan.memory.requests.size(); ++i) {
      const memory::Request& request = plan.memory.requests[i];
      planned.tensors.push_back({std::to_string(i), planned.steps[request.first], request.bytes,
                                 plan.memory.layout.offsets[i], request.first, request.last, false});
    }
  }
  return all;
}

std::string plan_svg(const Report& report, const std::string& title) {
  std::vector<PlannedMemory> panels = planned_memories(report);
  // The first block is drawn in any case: the picture then shows that there is nothing to plan.
  panels.erase(std::remove_if(panels.begin() + (panels.empty() ? 0 : 1), panels.end(),
                              [](const PlannedMemory& planned) { return planned.memory->layout.total == 0; }),
               panels.end());
  const double panel = kHead + kPlotHeight + kLabelHeight;
  const double height = 40 + panel * static_cast<double>(panels.size()) + 30;
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 "
      << kWidth << ' ' << height << "\" width=\"" << kWidth << "\" height=\"" << height
      << "\" font-family=\"sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\""
      << kLeft << "\" y=\"26\" font-size=\"16\" font-weight=\"bold\">" << escaped(title) << "</text>\n";
  for (std::size_t i = 0; i < panels.size(); ++i)
    Panel(out, panels[i], report.planner, 40 + panel * static_cast<double>(i));
  draw_legend(out, height - 16);
  out << "</svg>\n";
  return out.str();
}

std::string plan_json(const Report& report, const std::string& title) {
  nlohmann::ordered_json blocks = nlohmann::ordered_json::array(), plans = nlohmann::ordered_json::array();
  const std::vector<PlannedMemory> all = planned_memories(report);
  for (std::size_t b = 0; b < all.size(); ++b) {
    const bool is_block = b < report.blocks.size();
    nlohmann::ordered_json entry;
    if (is_block) {
      entry["block"] = b;
    } else {
      entry["arguments"] = report.plans[b - report.blocks.size()].arguments;
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
                                  {"last", tensor.last},
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

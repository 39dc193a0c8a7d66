#include "plan_picture.hpp"

#include <algorithm>
#include <cmath>

#include "svg.hpp"

namespace sr::tool {
namespace {

constexpr double kWidth = 1000, kMargin = 12, kHead = 62, kBelow = 26;
constexpr double kTallestRow = 22, kWantedHeight = 720, kLeastRow = 3;
constexpr std::size_t kLongestLabel = 52;

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
      PlannedTensor tensor{value.name, node.key, value.bytes, value.offset, value.first, value.end, false};
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

// Where the rows and columns of one block or plan are.
class Grid {
 public:
  explicit Grid(const PlannedMemory& planned)
      : rows_(std::max<std::size_t>(planned.steps.size(), 1)),
        row_(std::clamp(kWantedHeight / static_cast<double>(rows_), kLeastRow, kTallestRow)),
        most_(std::max({planned.memory->layout.total, planned.memory->lower_bound, memory::Bytes{1}})) {
    std::size_t longest = 0;
    for (const std::string& step : planned.steps) longest = std::max(longest, step.size());
    left_ = kMargin + kCharacterWidth * static_cast<double>(std::min(longest, kLongestLabel) + 5) + 8;
  }

  double left() const { return left_; }
  double right() const { return kWidth - kMargin - 8; }
  double row() const { return row_; }
  double plot_height() const { return row_ * static_cast<double>(rows_); }
  double height() const { return kHead + plot_height() + kBelow; }
  memory::Bytes most() const { return most_; }
  double x(memory::Bytes offset) const {
    return left_ + (right() - left_) * static_cast<double>(offset) / static_cast<double>(most_);
  }
  double y(std::size_t step) const { return kHead + row_ * static_cast<double>(step); }
  // Every so many steps have a label, so that labels do not touch.
  std::size_t label_stride() const { return row_ >= 11 ? 1 : static_cast<std::size_t>(std::ceil(11 / row_)); }

 private:
  std::size_t rows_;
  double row_;
  memory::Bytes most_;
  double left_ = 0;
};

// Draws one block or plan with its upper left corner at the origin.
class Panel {
 public:
  Panel(Svg& svg, const PlannedMemory& planned, const std::string& planner)
      : svg_(svg),
        memory_(*planned.memory),
        tensors_(planned.tensors),
        steps_(planned.steps),
        grid_(planned) {
    svg_.text(kMargin, 18, "start", shortened(planned.name, 130), 13, " font-weight=\"bold\"");
    svg_.text(kMargin, 36, "start",
              with_commas(memory_.layout.total) + " bytes planned by " + planner + "; lower bound " +
                  with_commas(memory_.lower_bound) + "; without reuse " + with_commas(memory_.no_reuse),
              12);
    draw_axes();
    for (std::size_t i = 0; i < tensors_.size(); ++i) draw_bar(i);
    draw_alive();
    line(memory_.layout.total, "#222222", "");
    line(memory_.lower_bound, "#cc0000", " stroke-dasharray=\"8 4\"");
    for (std::size_t i = 0; i < tensors_.size(); ++i) draw_label(i);
  }

  double height() const { return grid_.height(); }

 private:
  void line(memory::Bytes offset, const char* color, const char* more) {
    svg_.line(grid_.x(offset), kHead, grid_.x(offset), kHead + grid_.plot_height(), color, more);
  }

  void draw_axes() {
    for (memory::Bytes quarter = 0; quarter <= 4; ++quarter) {
      const memory::Bytes offset = grid_.most() / 4 * quarter + grid_.most() % 4 * quarter / 4;
      line(offset, "#e4e4e4", "");
      svg_.text(grid_.x(offset), kHead - 6,
                quarter == 0   ? "start"
                : quarter == 4 ? "end"
                               : "middle",
                with_commas(offset) + (quarter == 4 ? " bytes" : ""), 11);
    }
    for (std::size_t step = 0; step < steps_.size(); step += grid_.label_stride()) {
      const std::string label = std::to_string(step) + " " + steps_[step];
      svg_.text(grid_.left() - 8, grid_.y(step) + std::min(grid_.row(), kTallestRow) / 2 + 4, "end",
                shortened(label, kLongestLabel + 4), 11, "");
    }
  }

  void draw_bar(std::size_t i) {
    const PlannedTensor& tensor = tensors_[i];
    if (tensor.bytes == 0) return;
    // Hues a golden angle apart: neighbours never look alike.
    const int hue = static_cast<int>(i * 137 % 360);
    svg_.raw() << "<g><title>%" << escaped(tensor.name) << " made by " << escaped(tensor.made_by) << "\n"
               << with_commas(tensor.bytes) << " bytes at " << with_commas(tensor.offset) << "\nsteps "
               << tensor.first << " to " << tensor.end - 1
               << (tensor.onto_input ? "\nwritten onto an input that dies here" : "") << "</title><rect x=\""
               << grid_.x(tensor.offset) << "\" y=\"" << grid_.y(tensor.first) << "\" width=\""
               << grid_.x(tensor.offset + tensor.bytes) - grid_.x(tensor.offset) << "\" height=\""
               << grid_.y(tensor.end) - grid_.y(tensor.first) << "\" fill=\"" << color_of(hue, 0.6, 0.72)
               << "\" stroke=\"" << color_of(hue, 0.6, 0.35) << '"'
               << (tensor.onto_input ? " stroke-width=\"2\" stroke-dasharray=\"3 2\"" : "") << "/></g>\n";
  }

  // Labels the rows of the bar over which nothing else is drawn, if the label fits.
  void draw_label(std::size_t i) {
    const PlannedTensor& tensor = tensors_[i];
    memory::StepIndex end = tensor.end;
    for (std::size_t j = 0; j < tensors_.size(); ++j) {
      if (tensors_[j].onto_input && memory_.requests[j].may_reuse_input == i) end = tensors_[j].first;
    }
    const std::string label = "%" + tensor.name;
    const double height = grid_.y(end) - grid_.y(tensor.first),
                 width = grid_.x(tensor.offset + tensor.bytes) - grid_.x(tensor.offset);
    if (height < 13 || width < kCharacterWidth * static_cast<double>(label.size() + 1)) return;
    svg_.text(grid_.x(tensor.offset) + width / 2, grid_.y(tensor.first) + height / 2 + 4, "middle", label, 11,
              " pointer-events=\"none\"");
  }

  // Bytes alive in each step; an output written onto its input is not counted twice.
  void draw_alive() {
    std::vector<std::ptrdiff_t> change(std::max<std::size_t>(steps_.size(), 1) + 1);
    for (const PlannedTensor& tensor : tensors_) {
      const std::size_t born = tensor.first + (tensor.onto_input ? 1 : 0);
      if (born >= tensor.end) continue;
      const auto bytes = static_cast<std::ptrdiff_t>(memory::align_up(tensor.bytes));
      change[born] += bytes;
      change[tensor.end] -= bytes;
    }
    svg_.raw() << "<path fill=\"none\" stroke=\"#0044cc\" stroke-width=\"1.5\" d=\"";
    std::ptrdiff_t alive = 0;
    for (std::size_t step = 0; step < steps_.size(); ++step) {
      alive += change[step];
      const double at = grid_.x(static_cast<memory::Bytes>(alive));
      svg_.raw() << (step == 0 ? "M " : "L ") << at << ' ' << grid_.y(step) << " L " << at << ' '
                 << grid_.y(step + 1) << ' ';
    }
    svg_.raw() << "\"/>\n";
  }

  Svg& svg_;
  const BlockMemory& memory_;
  const std::vector<PlannedTensor>& tensors_;
  const std::vector<std::string>& steps_;
  Grid grid_;
};

void draw_legend(Svg& svg, double top) {
  auto entry = [&, at = kMargin](const char* mark, const char* what, double width) mutable {
    svg.raw() << "<g transform=\"translate(" << at << ' ' << top << ")\">" << mark
              << "<text x=\"34\" y=\"4\" font-size=\"11\">" << what << "</text></g>\n";
    at += width;
  };
  entry("<rect x=\"0\" y=\"-6\" width=\"28\" height=\"12\" fill=\"#cfe3cf\" stroke=\"#3b6b3b\"/>",
        "a tensor in the steps in which it lives", 270);
  entry(
      "<rect x=\"0\" y=\"-6\" width=\"28\" height=\"12\" fill=\"#cfe3cf\" stroke=\"#3b6b3b\" "
      "stroke-width=\"2\" stroke-dasharray=\"3 2\"/>",
      "written onto a dying input", 205);
  entry("<line x2=\"28\" stroke=\"#222222\" stroke-width=\"1.5\"/>", "planned", 100);
  entry("<line x2=\"28\" stroke=\"#cc0000\" stroke-width=\"1.5\" stroke-dasharray=\"8 4\"/>", "lower bound",
        125);
  entry("<line x2=\"28\" stroke=\"#0044cc\" stroke-width=\"1.5\"/>", "bytes alive", 110);
}

}  // namespace

std::vector<PlannedMemory> planned_memories(const Report& report) {
  std::vector<PlannedMemory> all;
  for (std::size_t b = 0; b < report.blocks.size(); ++b) {
    all.push_back({"general path, block " + std::to_string(b),
                   &report.blocks[b],
                   {},
                   {},
                   tensors_of_block(report, b),
                   keys_of(report, b)});
  }
  detail::each_plan(report, [&](const PlanReport& plan, const std::string& block) {
    PlannedMemory& planned = all.emplace_back();
    planned.name = "replay of " + (block.empty() ? block : block + " ") + "(" + plan.arguments + ")";
    planned.memory = &plan.memory;
    planned.arguments = plan.arguments;
    planned.decided_block = block;
    for (const StepReport& step : plan.steps) planned.steps.push_back(step.label());
    for (std::size_t i = 0; i < plan.memory.requests.size(); ++i) {
      const memory::Request& request = plan.memory.requests[i];
      planned.tensors.push_back({std::to_string(i), planned.steps[request.first], request.bytes,
                                 plan.memory.layout.offsets[i], request.first, request.end, false});
    }
  });
  return all;
}

std::string plan_svg(const Report& report, const std::string& title) {
  const std::vector<PlannedMemory> all = planned_memories(report);
  Svg svg(kWidth);
  svg.text(kMargin, 26, "start", shortened(title, 100), 16, " font-weight=\"bold\"");
  draw_legend(svg, 50);
  double top = 74;
  bool drawn = false;
  for (const PlannedMemory& planned : all) {
    if (planned.memory->layout.total == 0) continue;
    svg.raw() << "<g transform=\"translate(0 " << top << ")\">\n";
    const Panel panel(svg, planned, report.planner);
    svg.raw() << "</g>\n";
    top += panel.height();
    drawn = true;
  }
  if (!drawn) {
    svg.text(kMargin, top + 14, "start",
             "No tensor is planned: the calls so far need no memory between steps.", 13);
    top += 34;
  }
  return svg.finish(top);
}

}  // namespace sr::tool

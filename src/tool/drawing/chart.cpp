#include "chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iomanip>
#include <set>
#include <sstream>

#include "svg.hpp"
#include "text_table.hpp"

namespace sr::tool {
namespace {

constexpr double kWidth = 900, kLeft = 90, kRight = 220, kTop = 50, kPlotHeight = 280, kBelow = 70;
constexpr double kPlotWidth = kWidth - kLeft - kRight;
constexpr double kMostForLinear = 30;

// Four digits, but never an exponent for what is large.
std::string short_text(double value) {
  if (value >= 1e4) return number(value);
  std::ostringstream text;
  text << std::setprecision(4) << value;
  return text.str();
}

// One chart with its upper left corner at (0, top).
class ChartPicture {
 public:
  ChartPicture(std::ostream& out, const Chart& chart, double top)
      : out_(out), chart_(chart), top_(top), base_(top + kTop + kPlotHeight) {
    double least = 0;
    for (const Line& line : chart.lines) {
      for (const auto& [x, y] : line.points) {
        xs_.insert(x);
        least = least == 0 ? y : std::min(least, y);
        highest_ = std::max(highest_, y);
      }
    }
    is_logarithmic_ = highest_ > kMostForLinear * least;
    marks_ = is_logarithmic_ ? logarithmic_marks(least, highest_) : linear_marks(highest_);
  }

  void draw() {
    text(kLeft, top_ + 24, "start", chart_.title, 14);
    draw_axes();
    for (const Line& line : chart_.lines) draw_line(line);
    draw_legend();
  }

 private:
  double x_of(double x) const {
    const double first = *xs_.begin(), width = *xs_.rbegin() - first;
    return kLeft + kPlotWidth * (width == 0 ? 0.5 : (x - first) / width);
  }
  double y_of(double y) const {
    const double low = is_logarithmic_ ? std::log(marks_.front()) : 0;
    const double high = is_logarithmic_ ? std::log(marks_.back()) : marks_.back();
    return base_ - kPlotHeight * ((is_logarithmic_ ? std::log(y) : y) - low) / (high - low);
  }

  void text(double x, double y, const char* anchor, const std::string& what, int size) {
    out_ << "<text x=\"" << x << "\" y=\"" << y << "\" font-size=\"" << size << "\" text-anchor=\"" << anchor
         << "\">" << escaped(what) << "</text>\n";
  }

  void draw_axes() {
    for (const double mark : marks_) {
      out_ << "<line x1=\"" << kLeft << "\" x2=\"" << kLeft + kPlotWidth << "\" y1=\"" << y_of(mark)
           << "\" y2=\"" << y_of(mark) << "\" stroke=\"#e4e4e4\"/>\n";
      text(kLeft - 6, y_of(mark) + 4, "end", short_text(mark), 11);
    }
    // Counts next to each other would overlap; a mark at every measured place stays.
    double free_from = 0;
    for (const double x : xs_) {
      out_ << "<line x1=\"" << x_of(x) << "\" x2=\"" << x_of(x) << "\" y1=\"" << base_ << "\" y2=\""
           << base_ + 5 << "\" stroke=\"#222222\"/>\n";
      if (x_of(x) < free_from) continue;
      text(x_of(x), base_ + 18, "middle", short_text(x), 11);
      free_from = x_of(x) + 24;
    }
    out_ << "<path d=\"M " << kLeft << ' ' << base_ - kPlotHeight << " V " << base_ << " H "
         << kLeft + kPlotWidth << "\" fill=\"none\" stroke=\"#222222\"/>\n";
    text(kLeft + kPlotWidth / 2, base_ + 38, "middle", chart_.x_label, 12);
    text(kLeft, base_ - kPlotHeight - 8, "start", chart_.y_label + (is_logarithmic_ ? " (logarithmic)" : ""),
         12);
  }

  void draw_line(const Line& line) {
    const std::string color = "hsl(" + std::to_string(line.hue) + ",65%,40%)";
    out_ << "<polyline fill=\"none\" stroke=\"" << color << "\" stroke-width=\"1.8\""
         << (line.dashed ? " stroke-dasharray=\"6 4\"" : "") << " points=\"";
    for (const auto& [x, y] : line.points) out_ << x_of(x) << ',' << y_of(y) << ' ';
    out_ << "\"/>\n";
    for (const auto& [x, y] : line.points) {
      out_ << "<circle cx=\"" << x_of(x) << "\" cy=\"" << y_of(y) << "\" r=\"3\" fill=\"" << color
           << "\"><title>" << escaped(line.name) << "\n"
           << escaped(chart_.x_label) << ' ' << short_text(x) << ": " << short_text(y)
           << "</title></circle>\n";
    }
  }

  void draw_legend() {
    double y = top_ + kTop + 6;
    for (const Line& line : chart_.lines) {
      const double x = kLeft + kPlotWidth + 16;
      out_ << "<line x1=\"" << x << "\" x2=\"" << x + 26 << "\" y1=\"" << y << "\" y2=\"" << y
           << "\" stroke=\"hsl(" << line.hue << ",65%,40%)\" stroke-width=\"1.8\""
           << (line.dashed ? " stroke-dasharray=\"6 4\"" : "") << "/>\n";
      text(x + 32, y + 4, "start", line.name, 11);
      y += 16;
    }
  }

  std::ostream& out_;
  const Chart& chart_;
  double top_, base_;
  std::set<double> xs_;
  double highest_ = 0;
  bool is_logarithmic_ = false;
  std::vector<double> marks_;
};

// Tall enough for the legend.
double height_of(const Chart& chart) {
  return kTop + std::max(kPlotHeight + kBelow, 16.0 * static_cast<double>(chart.lines.size()) + 20);
}

}  // namespace

std::vector<double> linear_marks(double most) {
  const double power = std::pow(10, std::floor(std::log10(most)));
  double step = power;
  for (const double share : {0.2, 0.5, 1.0, 2.0}) {
    step = share * power;
    if (most <= 6 * step) break;
  }
  std::vector<double> marks{0};
  for (int i = 1; marks.back() < most; ++i) marks.push_back(step * i);
  return marks;
}

std::vector<double> logarithmic_marks(double least, double most) {
  std::vector<double> marks;
  for (double power = std::pow(10, std::floor(std::log10(least)));; power *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double mark = factor * power;
      if (mark <= least) marks.clear();
      marks.push_back(mark);
      if (mark >= most && marks.size() > 1) return marks;
    }
  }
}

std::string charts_svg(const std::string& title, std::span<const Chart> charts) {
  double height = 40;
  for (const Chart& chart : charts) height += height_of(chart);
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 "
      << kWidth << ' ' << height << "\" width=\"" << kWidth << "\" height=\"" << height
      << "\" font-family=\"sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\""
      << kLeft << "\" y=\"26\" font-size=\"16\" font-weight=\"bold\">" << escaped(title) << "</text>\n";
  double top = 40;
  for (const Chart& chart : charts) {
    ChartPicture(out, chart, top).draw();
    top += height_of(chart);
  }
  out << "</svg>\n";
  return out.str();
}

}  // namespace sr::tool

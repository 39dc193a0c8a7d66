// Lines against a horizontal axis, as SVG.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sr::tool {

struct Line {
  std::string name;                               // in the legend and the tooltips; empty: not in the legend
  std::vector<std::pair<double, double>> points;  // by x, which and y are positive
  int hue = 0;                                    // degrees
  bool dashed = false;
};

struct Chart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<Line> lines;  // one at least has a point
};

// Values for the marks of an axis that begins at 0: whole multiples of 1, 2 or 5 times a power of ten, three
// to seven of them, the last at `most` or above. `most` is positive.
std::vector<double> linear_marks(double most);

// Marks of a logarithmic axis around the values: powers of ten times 1, 2 and 5. 0 < least <= most.
std::vector<double> logarithmic_marks(double least, double most);

// The charts below each other. The vertical axis of one whose values differ by more than a factor of thirty
// is logarithmic, and says so.
std::string charts_svg(const std::string& title, std::span<const Chart> charts);

}  // namespace sr::tool

// What pictures written as SVG have in common.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iomanip>
#include <sstream>
#include <string>

namespace sr::tool {

inline constexpr double kCharacterWidth = 6.2;  // of text at size 11, about

// Text as it stands between tags and in attributes.
inline std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '"')
      safe += "&quot;";
    else
      safe += c;
  }
  return safe;
}

// At most so many characters, of which the last are dots where some are missing.
inline std::string shortened(const std::string& text, std::size_t most) {
  return text.size() <= most ? text : text.substr(0, most - 3) + "...";
}

// A colour as "#rrggbb", which every viewer knows. `hue` is in degrees; saturation and lightness are from 0
// to 1.
inline std::string color_of(int hue, double saturation, double lightness) {
  const double chroma = saturation * std::min(lightness, 1 - lightness);
  std::ostringstream text;
  text << '#' << std::hex << std::setfill('0');
  for (const int offset : {0, 8, 4}) {
    const double k = std::fmod(offset + hue / 30.0, 12);
    const double part = lightness - chroma * std::max(-1.0, std::min({k - 3, 9 - k, 1.0}));
    text << std::setw(2) << static_cast<int>(std::lround(255 * part));
  }
  return text.str();
}

// A white page of a given width, on which shapes are drawn in turn. Units are pixels, from the upper left
// corner.
class Svg {
 public:
  explicit Svg(double width) : width_(width) { out_ << std::fixed << std::setprecision(1); }

  // `anchor`: start, middle or end of the text is at x. `more`: further attributes.
  void text(double x, double y, const char* anchor, const std::string& what, int size,
            const std::string& more = "") {
    out_ << "<text x=\"" << x << "\" y=\"" << y << "\" font-size=\"" << size << "\" text-anchor=\"" << anchor
         << '"' << more << '>' << escaped(what) << "</text>\n";
  }
  void bar(double x, double y, double width, double height, const char* color) {
    out_ << "<rect x=\"" << x << "\" y=\"" << y << "\" width=\"" << width << "\" height=\"" << height
         << "\" fill=\"" << color << "\"/>\n";
  }
  void line(double x1, double y1, double x2, double y2, const char* color, const char* more = "") {
    out_ << "<line x1=\"" << x1 << "\" x2=\"" << x2 << "\" y1=\"" << y1 << "\" y2=\"" << y2 << "\" stroke=\""
         << color << "\" stroke-width=\"1.5\"" << more << "/>\n";
  }
  // Elements as they are.
  std::ostream& raw() { return out_; }

  // The file, with a page of that height.
  std::string finish(double height) const {
    std::ostringstream page;
    page << std::fixed << std::setprecision(1) << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 "
         << width_ << ' ' << height << "\" width=\"" << width_ << "\" height=\"" << height
         << "\" font-family=\"sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
         << out_.str() << "</svg>\n";
    return page.str();
  }

 private:
  double width_;
  std::ostringstream out_;
};

}  // namespace sr::tool

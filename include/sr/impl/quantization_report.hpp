// What a quantization report looks like as text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <string>

#include <sr/quantize.hpp>

namespace sr {

SR_INLINE std::ostream& operator<<(std::ostream& out, const QuantizationReport& report) {
  std::size_t width = 5;
  for (const QuantizedLayer& layer : report.layers) width = std::max(width, layer.name.size());
  std::ostringstream text;
  text << std::left << std::setw(static_cast<int>(width)) << "layer" << std::right << std::setw(15) << "sizes"
       << std::setw(8) << "rows" << std::setw(10) << "float us" << std::setw(10) << "int8 us" << std::setw(10)
       << "error" << '\n';
  std::int64_t quantized = 0;
  for (const QuantizedLayer& layer : report.layers) {
    text << std::left << std::setw(static_cast<int>(width)) << layer.name << std::right << std::setw(15)
         << std::to_string(layer.inputs) + "->" + std::to_string(layer.outputs) << std::setw(8) << layer.rows
         << std::fixed << std::setprecision(1) << std::setw(10) << layer.float_us << std::setw(10)
         << layer.int8_us << std::setprecision(5) << std::setw(10) << layer.error << std::defaultfloat;
    if (!layer.is_quantized) text << "  stays float: " << layer.reason;
    text << '\n';
    quantized += layer.is_quantized ? 1 : 0;
  }
  text << quantized << " of " << report.layers.size() << " layers in int8; their weights take "
       << report.int8_bytes << " bytes instead of " << report.float_bytes << ".\n"
       << std::setprecision(6) << "Against float: largest difference " << report.largest
       << ", mean difference " << report.mean << ", smallest cosine " << report.cosine;
  if (report.unequal > 0) text << ", share of other elements that differ " << report.unequal;
  text << ".\n";
  return out << text.str();
}

}  // namespace sr

// sr::quantize, compiled once.
#include <sr/base/build.hpp>

SR_SILENT_BEGIN
#include <sr/impl/quantization_report.hpp>
#include <sr/impl/quantize.hpp>
SR_SILENT_END

// Every definition of sr that is not a template's: libsr compiles them, and SR_HEADER_ONLY includes them.
#pragma once

#include <sr/impl/quantization_report.hpp>
#include <sr/impl/quantize.hpp>
#include <sr/impl/runtime.hpp>
#include <sr/memory/impl/all.hpp>

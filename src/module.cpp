// What prepares, loads and describes a module, and the benchmarks.
#include <sr/impl/load.hpp>
#include <sr/impl/report.hpp>
#include <sr/impl/static_module.hpp>

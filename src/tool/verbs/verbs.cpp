// The program sr-verbs: does what a command line of `sr` asks for.
#include <exception>
#include <iostream>
#include <string>

#include <c10/util/Exception.h>

#include <sr/error.hpp>

#include "../last_line.hpp"
#include "verb.hpp"

namespace {

int fail(const std::string& message, int code = sr::tool::kError) {
  std::cerr << "sr: " << sr::tool::last_line(message) << '\n';
  return code;
}

struct Call {
  int operator()(const sr::tool::RunOptions& options) const { return run(options); }
  int operator()(const sr::tool::BenchOptions& options) const { return bench(options); }
  int operator()(const sr::tool::InspectOptions& options) const { return inspect(options); }
  int operator()(const sr::tool::OpsOptions& options) const { return ops(options); }
  int operator()(const sr::tool::InfoOptions& options) const { return info(options); }
  int operator()(const sr::tool::TuneOptions& options) const { return tune(options); }
  int operator()(const sr::tool::QuantizeVerbOptions& options) const { return quantize(options); }
  int operator()(const sr::tool::ReportOptions& options) const { return report(options); }
  int operator()(const sr::serve::ServeOptions&) const { return fail("sr serve is the program sr-serve."); }
};

}  // namespace

int main(int argc, char** argv) try {
  const auto parsed = sr::tool::parse(argc, argv);
  if (const int* code = std::get_if<int>(&parsed)) return *code;
  return std::visit(Call(), std::get<sr::tool::Verb>(parsed));
} catch (const sr::ArgumentError& error) {
  return fail(error.what(), sr::tool::kUsage);  // what is wrong is from the command line
} catch (const c10::Error& error) {
  return fail(error.what_without_backtrace());
} catch (const std::exception& error) {
  return fail(error.what());
}

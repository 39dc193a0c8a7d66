// The program sr-serve, which `sr serve` starts.
#include <exception>
#include <iostream>

#include "../tool/verbs/verb.hpp"
#include "protocol/status.hpp"

int main(int argc, char** argv) try {
  const auto parsed = sr::tool::parse(argc, argv);
  if (const int* code = std::get_if<int>(&parsed)) return *code;
  const auto* const options = std::get_if<sr::serve::ServeOptions>(&std::get<sr::tool::Verb>(parsed));
  if (options == nullptr) {
    std::cerr << "sr: sr-serve serves models, and other verbs are those of the program sr.\n";
    return sr::tool::kUsage;
  }
  return serve(*options);
} catch (const std::exception&) {
  const sr::serve::Failure failure = sr::serve::failure_of(std::current_exception());
  std::cerr << "sr: " << failure.message << '\n';
  return failure.status == sr::serve::Status::invalid ? sr::tool::kUsage : sr::tool::kError;
}

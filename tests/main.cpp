// The main of every test program. It uses no precompiled header, because Catch2 version 2 needs this macro
// before its header.
#define CATCH_CONFIG_RUNNER
#include "support/catch.hpp"

int main(int argc, char** argv) {
  return Catch::Session().run(argc, argv);
}

// The main of every test program; it sees no precompiled header, since version 2 of Catch2 asks for this
// macro first.
#define CATCH_CONFIG_RUNNER
#include "support/catch.hpp"

int main(int argc, char** argv) {
  return Catch::Session().run(argc, argv);
}

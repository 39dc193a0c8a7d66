// Loads a model and runs it.
#include <iostream>

#include <sr/sr.hpp>

int main(int argc, char** argv) {
  const sr::StaticModule module = sr::load(argc > 1 ? argv[1] : "model.pt");
  sr::StaticRuntime<sr::memory::LinearScan> runtime{module};
  std::cout << runtime(at::ones({2, 3})).toTensor() << '\n';
}

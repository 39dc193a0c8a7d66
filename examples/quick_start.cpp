#include <iostream>

#include <sr/sr.hpp>

int main(int argc, char** argv) try {
  const sr::StaticModule module = sr::load(argc > 1 ? argv[1] : "model.pt");  // immutable, shared by threads
  sr::StaticRuntime<sr::memory::LinearScan> runtime{module};                  // one for each thread
  const c10::IValue scores = runtime(at::ones({8, 64}));                      // any shapes, on any call
  std::cout << scores.toTensor() << '\n' << runtime.report();
} catch (const sr::Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}

#include <torch/script.h>

#include <sr/sr.hpp>

at::Tensor run_in_other_file(const sr::StaticModule& module, const at::Tensor& x) {
  sr::StaticRuntime<sr::memory::LinearScan> runtime{module};
  return runtime(x).toTensor();
}

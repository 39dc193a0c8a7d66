#include "info.hpp"

#include <array>
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/version.h>

#include <sr/base/processors.hpp>
#include <sr/kernels/compiled.hpp>
#include <sr/kernels/int8_forms.hpp>
#include <sr/kernels/kernels.hpp>
#include <sr/memory/planners.hpp>
#include <sr/replay/programs/inventory.hpp>

#include "../cpu_model.hpp"

namespace sr::tool {
namespace {

using Json = nlohmann::ordered_json;

// Environment variables that change how many threads run, where they run, how they wait, or which code they
// run.
constexpr std::array kVariables{
    "OMP_NUM_THREADS", "MKL_NUM_THREADS",    "OMP_WAIT_POLICY",  "OMP_PROC_BIND",       "OMP_PLACES",
    "OMP_DYNAMIC",     "GOMP_CPU_AFFINITY",  "KMP_AFFINITY",     "KMP_BLOCKTIME",       "MKL_DYNAMIC",
    "MKL_CBWR",        "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY", "SR_CHECK"};

struct KernelSet {
  std::string name;
  const kernels::Kernels* kernels;
};

// The compiled kernel sets that this CPU can run, the simplest first.
std::vector<KernelSet> kernel_sets() {
  std::vector<KernelSet> sets{{"baseline", &kernels::baseline_kernels()}};
#if defined(__x86_64__)
  if (kernels::has_avx2()) sets.push_back({"avx2", &kernels::avx2_kernels()});
  if (kernels::has_avx512()) sets.push_back({"avx512", &kernels::fitting_avx512_kernels()});
#endif
  return sets;
}

Json gather(const std::string& version) {
  Json available = Json::array(), used;
  for (const KernelSet& set : kernel_sets()) {
    available.push_back(set.name);
    if (set.kernels == kernels::chosen) used = set.name;
  }
  Json environment;
  for (const char* variable : kVariables) {
    const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): sr never sets it
    environment[variable] = value == nullptr ? Json(nullptr) : Json(value);
  }
  const auto& planners = memory::planner_names();
  const ProcessorLimits limits = read_processor_limits();
  return {{"sr", version},
          {"torch", TORCH_VERSION},
          {"cpu", cpu_model()},
          {"hardware_threads", processors_online()},
          {"affinity_cpus", limits.affinity},
          {"cgroup_cpus", limits.cpuset == 0 ? Json(nullptr) : Json(limits.cpuset)},
          {"cgroup_quota", std::isfinite(limits.quota) ? Json(limits.quota) : Json(nullptr)},
          {"processors_allowed", processors_allowed()},
          {"intra_op_threads", at::get_num_threads()},
          {"inter_op_threads", at::get_num_interop_threads()},
          {"kernels", {{"used", used}, {"available", available}, {"int8", kernels::int8_form().name}}},
          {"aten_isa", at::get_cpu_capability()},
          {"planners", std::vector<std::string>(planners.begin(), planners.end())},
          {"operators", inventory().size()},
          {"environment", environment},
          {"parallel_info", at::get_parallel_info()}};
}

std::string joined(const Json& names) {
  std::string text;
  for (const Json& name : names) text.append(text.empty() ? "" : ", ").append(name.get<std::string>());
  return text;
}

std::string either(const Json& number, const std::string& without) {
  return number.is_null() ? without : number.dump();
}

void print(std::ostream& out, const Json& facts) {
  const auto line = [&](std::string_view name, const auto& value) {
    out << std::left << std::setw(20) << name << value << '\n';
  };
  line("sr", facts["sr"].get<std::string>());
  line("LibTorch", facts["torch"].get<std::string>());
  line("CPU", facts["cpu"].get<std::string>());
  line("hardware threads", facts["hardware_threads"].dump());
  line("processors allowed", facts["processors_allowed"].dump() + ": the affinity mask has " +
                                 facts["affinity_cpus"].dump() + ", control groups " +
                                 either(facts["cgroup_cpus"], "all") + ", with a quota of " +
                                 either(facts["cgroup_quota"], "none"));
  line("intra-op threads", facts["intra_op_threads"].dump());
  line("inter-op threads", facts["inter_op_threads"].dump());
  line("kernels", facts["kernels"]["used"].get<std::string>() +
                      "; available here: " + joined(facts["kernels"]["available"]) +
                      "; products of int8: " + facts["kernels"]["int8"].get<std::string>());
  line("ATen's kernels", facts["aten_isa"].get<std::string>());
  line("planners", joined(facts["planners"]));
  line("operators", facts["operators"].dump() + " run by sr itself (sr ops lists them)");
  out << "environment\n";
  for (const auto& [name, value] : facts["environment"].items())
    out << "  " << std::left << std::setw(20) << name
        << (value.is_null() ? "not set" : value.get<std::string>()) << '\n';
  out << "\n" << facts["parallel_info"].get<std::string>();
}

}  // namespace

int info(const InfoOptions& options) {
  const Json facts = gather(options.version);
  if (options.json) {
    std::cout << facts.dump(1) << '\n';
  } else {
    print(std::cout, facts);
  }
  return 0;
}

}  // namespace sr::tool

#include "bench.hpp"

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <ATen/Parallel.h>

#include "../text_file.hpp"
#include "model_bench.hpp"

namespace sr::tool {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

int bench(const BenchOptions& options) {
  at::set_num_threads(options.threads);
  if (options.interop_threads > 0) at::set_num_interop_threads(options.interop_threads);
  if (!options.ops_picture.empty() && options.models.size() != 1)
    throw ArgumentError("--ops-plot draws the steps of one model, but " +
                        std::to_string(options.models.size()) + " are given.");
  Json results = Json::array(), of_python = Json::object();
  bool differs = false;
  for (const std::string& model : options.models) {
    std::cerr << "sr bench: " << model << '\n';
    const ModelBench bench(options, model);
    print_table(std::cout, bench.measured());
    if (!options.ops_picture.empty())
      write_text(options.ops_picture, steps_svg(bench.measured().entries[0].programs, model));
    add_results(results, bench.measured(), options);
    if (const std::vector<PythonRow> rows = bench.from_python(); !rows.empty()) {
      print_python_rows(std::cout, rows);
      of_python[model] = json_of(rows);
    }
    differs |= bench.differs();
  }
  if (differs)
    std::cerr << "sr: A RESULT OF SR DIFFERS FROM THE INTERPRETER'S, see the lines marked !!! above.\n";
  if (!options.json.empty()) {
    Json record{{"context", context_of(options)}, {"results", results}};
    if (!of_python.empty()) record["from_python"] = of_python;
    write_text(options.json, record.dump(1) + '\n');
  }
  return differs ? kDiffers : 0;
}

}  // namespace sr::tool

// Adds the options that name a model and describe its arguments.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "../inputs/inputs.hpp"

namespace sr::tool {

// For programs of torch.export, whose signature tells the other sizes.
inline void add_open_size(CLI::App& app, InputOptions& inputs) {
  app.add_option(
         "--batch", inputs.open_size,
         "Value of the sizes that an exported program leaves open (Dim), without --inputs and --shape")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 32))
      ->capture_default_str()
      ->excludes("--inputs")
      ->excludes("--shape");
}

inline void add_inputs(CLI::App& app, InputOptions& inputs) {
  CLI::Option* file = app.add_option("--inputs", inputs.file,
                                     "File of torch.save (a list of positional arguments, or a list of "
                                     "argument lists), or .npy or .npz of NumPy")
                          ->type_name("FILE");
  app.add_option(
         "--shape", inputs.shapes,
         "Random argument; repeat it for each argument: \"f32[8,50]\", \"i64[8]:0..999\", int:5, float:0.5, "
         "bool:true, none")
      ->type_name("SPEC")
      ->allow_extra_args(false)
      ->take_all()
      ->excludes(file);
  CLI::Option* stream =
      app.add_option(
             "--stream", inputs.streams,
             "Sizes that vary: \"f32[n,50]\" with uniform:1..256, zipf:1..256, once:1..256 or list:1,8,32 "
             "for n; with n= in front if there are several")
          ->type_name("SIZES")
          ->allow_extra_args(false)
          ->take_all()
          ->excludes(file);
  app.add_option("--stream-calls", inputs.stream_calls, "Input sets that are drawn from the streams")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str()
      ->needs(stream);
  app.add_option("--seed", inputs.seed, "Seed of random arguments, and of streams")->capture_default_str();
}

inline void add_inputs_and_open_size(CLI::App& app, InputOptions& inputs) {
  add_inputs(app, inputs);
  add_open_size(app, inputs);
}

inline void add_model(CLI::App& app, std::string& model) {
  app.add_option("model", model, "File of torch.jit.save or torch.export.save")
      ->required()
      ->type_name("MODEL.pt");
}

}  // namespace sr::tool

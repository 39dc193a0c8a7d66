// Between the tensors of a request and the values of a model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <sr/static_module.hpp>

#include "../protocol/message.hpp"

namespace sr::serve {

// The arguments and results of one model under their names in the protocol.
class ModelValues {
 public:
  // Throws UnsupportedOpError if the model needs an argument that no tensor can be: a list, a dict, a string.
  explicit ModelValues(const StaticModule& module);

  // The positional arguments of a call: tensors as they are, and numbers of tensors with one element. Throws
  // RequestError for a name that the model does not have, one that is given twice, or one that is missing.
  std::vector<c10::IValue> arguments(const std::vector<WireTensor>& inputs) const;

  // The tensors of a result, depth first: "output_0", "output_1" for the elements of a tuple, "output_0_1"
  // for those of a list in it, and by their keys in a dict. Numbers become tensors without dimensions. Throws
  // RequestError for a result that the protocol has no datatype for.
  std::vector<WireTensor> results(const c10::IValue& result) const;

  // Keeps the outputs that are asked for, in that order. Throws RequestError for a name that is not there.
  static std::vector<WireTensor> chosen(std::vector<WireTensor> outputs,
                                        const std::vector<std::string>& names);

  // Where the signature does not say what the results are: those of a call, all of whose sizes may vary.
  void learn_outputs(const std::vector<WireTensor>& results);

  std::vector<TensorMetadata> inputs() const { return inputs_; }
  std::vector<TensorMetadata> outputs() const { return outputs_; }

 private:
  struct Argument {
    std::string name;
    enum class Kind { tensor, integer, real, boolean } kind;
    std::optional<c10::IValue> default_value;
    bool is_served = true;  // else it keeps its default
  };

  std::vector<Argument> arguments_;
  std::vector<std::string> result_names_;
  std::vector<TensorMetadata> inputs_, outputs_;
};

}  // namespace sr::serve

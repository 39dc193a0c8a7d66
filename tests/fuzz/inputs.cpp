#include "fuzz/inputs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fuzz/random.hpp"

namespace sr::fuzz {

namespace {

at::ScalarType scalar_type(Dtype dtype) {
  static constexpr at::ScalarType types[] = {at::kFloat, at::kDouble, at::kLong,    at::kInt,
                                             at::kBool,  at::kHalf,   at::kBFloat16};
  return types[static_cast<std::size_t>(dtype)];
}

at::Tensor filled(const std::vector<std::int64_t>& sizes, const TensorSpec& spec, Random& random,
                  bool special) {
  at::Tensor values = at::empty(sizes, is_floating(spec.dtype) ? at::kDouble : at::kLong);
  const std::int64_t count = values.numel();
  if (is_floating(spec.dtype)) {
    static const double rare[] = {0.0, -0.0, std::numeric_limits<double>::infinity(),
                                  std::numeric_limits<double>::quiet_NaN(), 1.0};
    double* out = values.mutable_data_ptr<double>();
    for (std::int64_t i = 0; i < count; ++i) {
      // The sum of three uniform numbers: close to a normal distribution, and the same on every machine.
      out[i] = 2 * (random.unit() + random.unit() + random.unit() - 1.5);
      if (special && random.chance(10)) out[i] = random.of(rare);
    }
  } else {
    std::int64_t* out = values.mutable_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < count; ++i) {
      out[i] = spec.dtype == Dtype::boolean ? random.between(0, 1)
               : spec.bound > 0             ? random.between(0, spec.bound - 1)
                                            : random.between(-4, 5);
    }
  }
  return values.to(scalar_type(spec.dtype));
}

// Copies the values to another memory layout.
at::Tensor laid_out(const at::Tensor& tensor, std::size_t kind) {
  if (tensor.dim() == 0) return tensor;
  switch (kind) {
    case 0:
      return test::transposed(tensor);
    case 1:
      return test::stepped(tensor);
    case 2:
      if (tensor.size(0) == 0) return tensor;
      return tensor.narrow(0, 0, 1).expand_as(tensor);
    default:
      return at::cat({tensor.flatten().narrow(0, 0, 0), tensor.new_zeros({3}), tensor.flatten()})
          .narrow(0, 3, tensor.numel())
          .view(tensor.sizes());
  }
}

// The same for all dimensions with these two sizes, so that operands that fit go on to fit.
std::int64_t drawn_size(const Dim& dim, std::size_t seed) {
  static const std::int64_t sizes[] = {0, 1,  2,  2,  3,  3,  4,  5,  6,  7,  8,
                                       9, 11, 13, 16, 17, 20, 31, 32, 33, 50, 64};
  Random random(seed, static_cast<std::uint64_t>(dim.a * 1000 + dim.b));
  return random.of(sizes);
}

std::vector<std::int64_t> sizes_of(const TensorSpec& spec, const Run& run, bool concerned) {
  std::vector<std::int64_t> sizes;
  for (const Dim& dim : spec.shape) {
    const bool is_drawn = run.change == Change::any_sizes && dim.a != dim.b;
    sizes.push_back(is_drawn                            ? drawn_size(dim, run.other)
                    : run.change == Change::other_sizes ? dim.b
                                                        : dim.a);
  }
  if (run.change == Change::bad_size && concerned) {
    if (sizes.empty())
      sizes.push_back(2);
    else
      ++sizes.back();
  }
  return sizes;
}

// Drawn sizes may make so large an argument that results which grow with its square fill the memory.
bool is_too_large(const Case& program, const Run& run) {
  constexpr std::int64_t kMostElements = 4096;
  for (const Parameter& parameter : program.parameters) {
    for (const TensorSpec& spec : parameter.tensors) {
      std::int64_t count = 1;
      for (const std::int64_t size : sizes_of(spec, run, /*concerned=*/false)) count *= size;
      if (count > kMostElements) return true;
    }
  }
  return false;
}

c10::IValue number(const std::string& type, Random& random) {
  if (type == "int") return random.between(0, 3);
  if (type == "float") return 0.25 * static_cast<double>(random.between(-4, 8));
  if (type == "bool") return random.chance(50);
  if (type == "str") return random.chance(50) ? "a" : "text";
  return c10::List<std::int64_t>({random.between(0, 3), 2});
}

}  // namespace

test::InputSet make_inputs(const Case& program, std::size_t index) {
  Run run = program.runs[index];
  if (run.change == Change::any_sizes && is_too_large(program, run)) run.change = Change::other_sizes;
  Random random(program.data, index + 1);
  const bool converts = std::any_of(program.body.begin(), program.body.end(), [](const std::string& line) {
    return line.find("torch.int") != line.npos || line.find("long()") != line.npos;
  });
  const bool special =
      random.chance(5) && !converts;  // no integer is converted from NaN: machines differ there
  std::vector<at::Tensor> tensors;
  for (const Parameter& parameter : program.parameters) {
    for (TensorSpec spec : parameter.tensors) {
      const bool concerned = tensors.size() == run.which;
      if (run.change == Change::dtype && concerned) spec.dtype = run.dtype;
      tensors.push_back(filled(sizes_of(spec, run, concerned), spec, random, special));
      if (run.change == Change::layout && concerned) tensors.back() = laid_out(tensors.back(), run.other);
      if (run.setting == Setting::offset) tensors.back() = laid_out(tensors.back().contiguous(), 3);
    }
  }
  if (run.which < tensors.size() && run.other < tensors.size()) {
    at::Tensor &a = tensors[run.which], &b = tensors[run.other];
    if (run.change == Change::same_tensor) b = a;
    if (run.change == Change::overlap) {
      const std::int64_t count = a.numel(), shift = count / 2;
      const at::Tensor both = at::cat({a.flatten(), b.flatten()});
      a = both.narrow(0, 0, count).view(a.sizes());
      b = both.narrow(0, shift, b.numel()).view(b.sizes());
    }
  }
  test::InputSet inputs;
  std::size_t next = 0;
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    const Parameter& parameter = program.parameters[i];
    if (parameter.tensors.empty()) {
      // The same value in most runs, so that a plan for one value is used again.
      Random usual(program.data + i), other(program.data + i, index + 1);
      inputs.push_back(number(parameter.type, other.chance(25) ? other : usual));
    } else if (parameter.type == "Tensor") {
      inputs.emplace_back(tensors[next++]);
    } else if (parameter.type.rfind("Optional", 0) == 0) {
      inputs.emplace_back(run.change == Change::absent ? c10::IValue() : c10::IValue(tensors[next]));
      ++next;
    } else {
      std::vector<c10::IValue> elements;
      for (std::size_t k = 0; k < parameter.tensors.size(); ++k) elements.emplace_back(tensors[next++]);
      if (parameter.type.rfind("Tuple", 0) == 0) {
        inputs.push_back(c10::ivalue::Tuple::create(std::move(elements)));
      } else {
        c10::List<at::Tensor> list;
        for (const c10::IValue& element : elements) list.push_back(element.toTensor());
        inputs.emplace_back(list);
      }
    }
  }
  return inputs;
}

std::vector<std::pair<std::string, c10::IValue>> make_attributes(const Case& program) {
  std::vector<std::pair<std::string, c10::IValue>> attributes;
  Random random(program.data, 0);
  for (const Attribute& attribute : program.attributes)
    attributes.emplace_back(
        attribute.name, filled(sizes_of(attribute.tensor, Run{}, false), attribute.tensor, random, false));
  return attributes;
}

at::Tensor make_weight(const Case& program, std::size_t attribute, std::size_t run) {
  constexpr std::uint64_t kStreamsOfInputs = 1U << 20;
  Random random(program.data + attribute, kStreamsOfInputs + run);
  const TensorSpec& spec = program.attributes[attribute].tensor;
  return filled(sizes_of(spec, Run{}, false), spec, random, false);
}

}  // namespace sr::fuzz

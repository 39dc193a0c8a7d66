// Elements and rows chosen by index tensors.
#include <algorithm>

#include "fuzz/generator.hpp"

namespace sr::fuzz {

void Generator::lookup() {
  case_.mark(Feature::embedding);
  switch (random_.below(4)) {
    case 0:
      return bags();
    case 1:
      return advanced_index();
    default:
      return gather();
  }
}

// The indices are zeros and ones of the tensor's own shape, or the positions of its largest elements.
void Generator::gather() {
  const auto x = any_tensor(1);
  if (!x || !known(x->shape)) return;
  const std::size_t rank = x->shape.size(), dim = random_.below(rank);
  const std::int64_t size = std::min(x->shape[dim].a, x->shape[dim].b);
  const auto like = pick([&](const Variable& v) {
    return v.kind == Kind::tensor && v.shape == x->shape && decides(v) && v.dtype != Dtype::boolean;
  });
  if (!like || size < 2) return;
  const bool takes = random_.chance(40);
  const std::string call = takes ? "torch.take_along_dim(" : "torch.gather(";
  const std::string along = axis(*x, dim);
  const auto finish = [&](const std::string& index, const Shape& shape) {
    define(call + x->name + ", " + (takes ? index + ", " + along : along + ", " + index) + ")", x->dtype,
           shape, x->stable, x->magnitude);
  };
  Shape shape = x->shape;
  if (random_.chance(30)) {
    shape[dim] = Dim{};
    return finish("torch.argmax(" + like->name + ", " + along + ", keepdim=True)", shape);
  }
  std::string index = "(" + like->name + " > 0)" + (random_.chance(80) ? ".long()" : ".to(torch.int64)");
  if (random_.chance(40)) {
    const std::size_t part = random_.below(rank);
    if (takes && part != dim) return;  // sizes would have to broadcast
    if (std::min(shape[part].a, shape[part].b) < 1) return;
    shape[part] = Dim{};
    index += ".narrow(" + std::to_string(part) + ", 0, 1)";
  } else if (takes && random_.chance(30)) {
    Dim all;
    for (const Dim& each : shape) all = {all.a * each.a, all.b * each.b};
    define("torch.take_along_dim(" + x->name + ", " + index + ")", x->dtype, {all}, x->stable, x->magnitude);
    return;
  }
  finish(index, shape);
}

// x[i], x[:, i], x[i, i], x[i, :, i], from the front or the back.
void Generator::advanced_index() {
  const auto index = pick([](const Variable& v) {
    return v.kind == Kind::tensor && v.bound > 0 && v.shape.size() <= 2 && v.dtype == Dtype::i64;
  });
  const auto x = any_tensor(1);
  if (!index || !x) return;
  const auto is_large = [&](std::size_t d) {
    return d < x->shape.size() && std::min(x->shape[d].a, x->shape[d].b) >= index->bound;
  };
  const std::string from_front = index->name, from_back = index->name + " - " + std::to_string(index->bound);
  const auto one = [&] { return random_.chance(70) ? from_front : from_back; };
  const std::size_t kind = random_.below(4);
  Shape shape = x->shape;
  const auto replace = [&](std::size_t at, std::size_t removed, std::size_t also) {
    if (also != removed) shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(also));
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(removed));
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(at), index->shape.begin(), index->shape.end());
  };
  std::string text;
  if (kind == 0 && is_large(0)) {
    text = one();
    replace(0, 0, 0);
  } else if (kind == 1 && is_large(1)) {
    text = ":, " + one();
    replace(1, 1, 1);
  } else if (kind == 2 && is_large(0) && is_large(1)) {
    text = one() + ", " + one();
    replace(0, 0, 1);
  } else if (kind == 3 && is_large(0) && is_large(2)) {
    text = one() + ", :, " + one();
    replace(0, 0, 2);
  } else {
    return;
  }
  if (shape.size() > 5 || numel(shape) > 800) return;
  define(x->name + "[" + text + "]", x->dtype, shape, x->stable, x->magnitude);
}

void Generator::bags() {
  const auto index = pick([](const Variable& v) {
    return v.kind == Kind::tensor && v.bound > 0 && (v.shape.size() == 1 || v.shape.size() == 2) &&
           v.dtype == Dtype::i64 && known(v.shape);
  });
  if (!index) return;
  const auto table = pick([&](const Variable& v) {
    return v.kind == Kind::tensor && v.shape.size() == 2 && v.dtype == Dtype::f32 && room(v.magnitude) &&
           std::min(v.shape[0].a, v.shape[0].b) >= index->bound;
  });
  const bool computed = table && random_.chance(40);
  const Dim columns = computed ? table->shape[1] : feature_dim();
  const std::string rows = computed ? table->name : attribute({{index->bound, index->bound}, columns});
  if (!computed) case_.mark(Feature::constant_weights);
  std::string indices = index->name, offsets;
  Dim bags_made;
  if (index->shape.size() == 2) {
    bags_made = index->shape[0];
    // Bags without columns have no step. With indices but without offsets, LibTorch reads out of bounds.
    if (std::min(index->shape[1].a, index->shape[1].b) < 1) return;
    indices += ".reshape(-1)";
    offsets = "torch.arange(0, " + index->name + ".numel(), " + index->name + ".size(1))";
  } else {
    const std::int64_t least = std::min(index->shape[0].a, index->shape[0].b);
    const std::int64_t first = random_.between(0, least);
    offsets = "torch.tensor([0, " + std::to_string(first) + ", " +
              std::to_string(random_.between(first, least)) + "])";
    bags_made = {3, 3};
  }
  const std::size_t mode = random_.below(3);
  const std::string padding =
      random_.chance(40) ? ", False, " + std::to_string(random_.between(0, 5) % index->bound) : "";
  define("torch.embedding_bag(" + rows + ", " + indices + ", " + offsets + ", False, " +
             std::to_string(mode) + ", False, None" + padding + ")[0]",
         Dtype::f32, {bags_made, columns}, mode == 2 && (!computed || table->stable),
         (computed ? table->magnitude : 0.5) + 1);
}

}  // namespace sr::fuzz

// Convolution, pooling, batch norm and attention.
#include <algorithm>
#include <array>
#include <cmath>

#include "fuzz/generator.hpp"

namespace sr::fuzz {

namespace {

// A window that moves along one dimension.
struct Window {
  std::int64_t kernel = 1, step = 1, pad = 0, dilation = 1;

  std::int64_t results(std::int64_t size) const {
    const std::int64_t reach = (kernel - 1) * dilation + 1;
    return size + 2 * pad < reach ? 0 : (size + 2 * pad - reach) / step + 1;
  }
  // The size whose convolution has this size.
  std::int64_t transposed(std::int64_t size) const {
    return (size - 1) * step - 2 * pad + (kernel - 1) * dilation + 1;
  }
};
using Windows = std::array<Window, 2>;

std::string list_of(const Windows& windows, std::int64_t Window::*member) {
  return "[" + std::to_string(windows[0].*member) + ", " + std::to_string(windows[1].*member) + "]";
}

}  // namespace

void Generator::image() {
  const auto x = pick([&](const Variable& v) {
    return v.kind == Kind::tensor && (v.dtype == Dtype::f32 || v.dtype == Dtype::f64) && known(v.shape) &&
           (v.shape.size() == 3 || v.shape.size() == 4) && room(v.magnitude + 1.5);
  });
  if (!x) return;
  const std::size_t rank = x->shape.size();
  Windows windows;
  Shape shape = x->shape;
  for (std::size_t d = 0; d < 2; ++d) {
    Window& window = windows[d];
    window.kernel = d == 1 && random_.chance(70) ? windows[0].kernel
                    : random_.chance(10)         ? 5
                                                 : random_.between(1, 3);
    window.step = random_.between(1, random_.chance(60) ? 1 : 3);
    window.pad = random_.between(0, window.kernel / 2);
    window.dilation = random_.chance(15) ? 2 : 1;
    Dim& size = shape[rank - 2 + d];
    size = {window.results(size.a), window.results(size.b)};
    if (size.a <= 0 || size.b <= 0) return;
  }
  case_.mark(Feature::images);
  const std::string moves = list_of(windows, &Window::step) + ", " + list_of(windows, &Window::pad);
  const Dim channels = x->shape[rank - 3];
  if (x->dtype == Dtype::f32 && channels.a == channels.b && channels.a > 0 && random_.chance(60)) {
    const Dim out = feature_dim();
    if (out.a == 0) return;
    const bool grouped = random_.chance(20);  // one group a channel
    const bool transposed = random_.chance(is_of_images_ ? 8 : 25);
    const bool halved =
        !grouped && !transposed && channels.a % 2 == 0 && out.a % 2 == 0 && random_.chance(15);
    for (std::size_t d = 0; transposed && d < 2; ++d) {
      const Dim& before = x->shape[rank - 2 + d];
      shape[rank - 2 + d] = {windows[d].transposed(before.a), windows[d].transposed(before.b)};
      if (shape[rank - 2 + d].a <= 0 || shape[rank - 2 + d].b <= 0) return;
    }
    shape[rank - 3] = grouped ? channels : out;
    if (numel(shape) > most_elements_) return;
    case_.mark(Feature::constant_weights);
    const std::int64_t groups = grouped ? channels.a : halved ? 2 : 1;
    const Dim inner{channels.a / groups, channels.a / groups};
    const Dim rows{windows[0].kernel, windows[0].kernel}, columns{windows[1].kernel, windows[1].kernel};
    const std::string weight = transposed ? attribute({channels, grouped ? inner : out, rows, columns})
                                          : attribute({shape[rank - 3], inner, rows, columns});
    const std::string bias = random_.chance(60) ? attribute({shape[rank - 3]}) : "None";
    const bool is_last = rank == 4 && random_.chance(is_of_images_ ? 5 : 30);
    const std::string dilations = list_of(windows, &Window::dilation), of_groups = std::to_string(groups);
    const Variable made = define(
        (transposed ? "torch.conv_transpose2d(" : "torch.conv2d(") + x->name +
            (is_last ? ".permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2), " : ", ") + weight + ", " +
            bias + ", " + moves + ", " +
            (transposed ? "[0, 0], " + of_groups + ", " + dilations : dilations + ", " + of_groups) + ")",
        Dtype::f32, shape, false, x->magnitude + std::log10(static_cast<double>(9 * inner.a)) / 2 + 0.3);
    if (random_.chance(50)) behind_convolution(made);
    return;
  }
  if (numel(shape) > most_elements_) return;
  const bool dilated = windows[0].dilation * windows[1].dilation != 1;
  if (dilated || random_.chance(50)) {
    define("torch.max_pool2d(" + x->name + ", " + list_of(windows, &Window::kernel) + ", " + moves + ", " +
               list_of(windows, &Window::dilation) + ")",
           x->dtype, shape, x->stable, x->magnitude);
  } else {
    define("torch.avg_pool2d(" + x->name + ", " + list_of(windows, &Window::kernel) + ", " + moves +
               (random_.chance(50) ? ", False, False)" : ")"),
           x->dtype, shape, false, x->magnitude);
  }
}

// A few convolutions of 8-bit integers, as PT2E writes them. Scales and biases are multiples of powers of
// two, so that sums of floats are exact and may decide about integers.
void Generator::int8_images() {
  const auto x = pick([&](const Variable& v) {
    return v.kind == Kind::tensor && v.dtype == Dtype::f32 && v.shape.size() == 4 && known(v.shape) &&
           v.stable && v.magnitude < 3 && v.shape[1].a == v.shape[1].b && v.shape[1].a > 0 &&
           v.shape[2].a > 0 && v.shape[2].b > 0 && v.shape[3].a > 0 && v.shape[3].b > 0;
  });
  if (!x) return;
  case_.mark(Feature::images);
  case_.mark(Feature::constant_weights);
  case_.mark(Feature::int8_weights);
  const bool is_signed = random_.chance(40);
  const std::string zero = random_.chance(50) ? "0" : is_signed ? "-3" : "128";
  const auto dequantized = [&](const Variable& of) {
    const std::string range = is_signed ? ", -128, 127).to(torch.int8)" : ", 0, 255).to(torch.uint8)";
    const std::string integers = "torch.clamp(torch.round(" + of.name + " * 16.0) + " + zero + range;
    return define("(" + integers + ".to(torch.float32) - " + zero + ") * 0.0625", Dtype::f32, of.shape,
                  of.stable, 1);
  };
  std::optional<Variable> before;
  Variable image = *x;
  for (std::int64_t i = random_.between(1, 4); i > 0; --i) {
    image = dequantized(image);
    const bool is_depthwise = random_.chance(35), is_wide = random_.chance(55);
    const std::int64_t kernel = !is_wide ? 1 : random_.chance(30) ? 5 : random_.between(2, 3);
    const Window window{kernel, random_.chance(30) ? 2 : 1, random_.between(0, kernel / 2), 1};
    Shape shape = image.shape;
    for (std::size_t d = 2; d < 4; ++d) shape[d] = {window.results(shape[d].a), window.results(shape[d].b)};
    const Dim channels = image.shape[1], made = is_depthwise ? channels : feature_dim();
    if (shape[2].a <= 0 || shape[2].b <= 0 || shape[3].a <= 0 || shape[3].b <= 0 || made.a == 0) return;
    shape[1] = made;
    if (numel(shape) > most_elements_) return;
    const Dim side{kernel, kernel}, inner = is_depthwise ? Dim{1, 1} : channels;
    const std::string weight = "(torch.clamp(torch.round(" + attribute({made, inner, side, side}) +
                               " * 60), -128, 127).to(torch.int8).to(torch.float32) - 0) * torch.where(" +
                               attribute({made, Dim{}, Dim{}, Dim{}}) + " > 0, 0.0078125, 0.00390625)";
    const std::string bias =
        random_.chance(70) ? "torch.round(" + attribute({made}) + " * 8.0) * 0.125" : "None";
    const auto pair = [](std::int64_t n) { return "[" + std::to_string(n) + ", " + std::to_string(n) + "]"; };
    image =
        define("torch.conv2d(" + image.name + ", " + weight + ", " + bias + ", " + pair(window.step) + ", " +
                   pair(window.pad) + ", [1, 1], " + std::to_string(is_depthwise ? channels.a : 1) + ")",
               Dtype::f32, shape, true, 1.5);
    if (before && before->shape == shape && random_.chance(70))
      image = define(image.name + " + " + before->name, Dtype::f32, shape, true, 1.8);
    before = image;
    static constexpr std::array kActivations{"torch.relu(", "torch.relu6(", "torch.neg("};
    if (random_.chance(70))
      image = define(random_.of(kActivations) + image.name + ")", Dtype::f32, shape, true, 1.8);
    if (random_.chance(50)) before = dequantized(image);
  }
}

// What the step of a convolution may do, too: add another image, scale, and activate.
void Generator::behind_convolution(Variable image) {
  const bool in_place = random_.chance(30);
  if (in_place) case_.mark(Feature::in_place);
  if (random_.chance(60)) {
    const auto other = pick([&](const Variable& v) {
      return v.kind == Kind::tensor && v.dtype == Dtype::f32 && v.shape == image.shape;
    });
    const double magnitude = std::max(image.magnitude, other->magnitude) + 0.3;
    if (!room(magnitude)) return;
    if (in_place) {
      line(image.name + ".add_(" + other->name + ")");
      wrote(image, false, magnitude);
      image.magnitude = magnitude;
    } else {
      image = define(random_.chance(50) ? image.name + " + " + other->name : other->name + " + " + image.name,
                     Dtype::f32, image.shape, false, magnitude);
    }
  }
  if (in_place && random_.chance(50)) {
    line(image.name + (random_.chance(50) ? ".relu_()" : ".clamp_(-0.3, 0.4)"));
    wrote(image, false, image.magnitude);
    return;
  }
  const bool has_norm =
      image.shape.size() == 4 && image.shape[1].known() && image.shape[1].a == image.shape[1].b;
  if (has_norm && random_.chance(30)) image = norm_of(image);
  static constexpr std::array kClamps{"torch.relu(",  "torch.relu6(", "torch.hardtanh(",
                                      "torch.clamp(", "torch.silu(",  "torch.leaky_relu("};
  static constexpr std::array kBounds{")", ")", ", -0.3, 0.4)", ", None, 0.2)", ")", ", 0.1)"};
  const std::size_t i = random_.below(kClamps.size());
  image = define(kClamps[i] + image.name + kBounds[i], Dtype::f32, image.shape, false, image.magnitude);
  if (has_norm && random_.chance(40)) norm_of(image);
}

void Generator::batch_norm() {
  if (const auto x = with_channels()) norm_of(*x);
}

Variable Generator::norm_of(const Variable& x) {
  case_.mark(Feature::images);
  case_.mark(Feature::constant_weights);
  const Shape channels{x.shape[1]};
  const bool scales = random_.chance(70);
  const std::string gamma = scales ? attribute(channels) : "None";
  const std::string beta = scales && random_.chance(80) ? attribute(channels) : "None";
  return define("torch.batch_norm(" + x.name + ", " + gamma + ", " + beta + ", " + attribute(channels) +
                    ", torch.abs(" + attribute(channels) + ") + 0.5, False, 0.1, 1e-5, True)",
                Dtype::f32, x.shape, false, std::max(1.0, x.magnitude) + 0.5);
}

void Generator::attention() {
  const auto query = pick([&](const Variable& v) {
    return v.kind == Kind::tensor && v.dtype == Dtype::f32 && v.shape.size() >= 3 && v.magnitude < 1.5;
  });
  if (!query) return;
  const auto other = [&] {
    const auto found = pick([&](const Variable& v) {
      return v.kind == Kind::tensor && v.dtype == Dtype::f32 && v.shape == query->shape && v.magnitude < 3;
    });
    return found ? *found : *query;
  };
  const Variable key = other(), value = other();
  if (key.magnitude > 1.5) return;
  case_.mark(Feature::products);
  const std::size_t rank = query->shape.size();
  std::string mask = random_.chance(25) ? ", is_causal=True" : "";
  if (mask.empty() && random_.chance(30)) {
    const Shape scores{query->shape[rank - 2], query->shape[rank - 2]};
    const auto found = pick([&](const Variable& v) {
      return v.kind == Kind::tensor && v.dtype == Dtype::f32 && v.shape == scores && v.magnitude < 1.5;
    });
    if (found) mask = ", attn_mask=" + found->name;
  }
  define("torch.scaled_dot_product_attention(" + query->name + ", " + key.name + ", " + value.name + mask +
             (random_.chance(30) ? ", scale=0.5)" : ")"),
         Dtype::f32, query->shape, false, value.magnitude + 0.3);
}

}  // namespace sr::fuzz

#include "stress/programs.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <ATen/ATen.h>

#include <sr/base/intra_op_width.hpp>
#include <sr/static_runtime.hpp>

#include "support/ir.hpp"

namespace sr::stress {

namespace {

struct Source {
  const char* name;
  const char* text;
  std::vector<std::vector<c10::IValue>> args;
  // True if a call has at most two answers under fast numerics: the general path's and the replay's.
  bool may_be_fast = true;
  int intra_op_threads = 1;
};

at::Tensor number(at::IntArrayRef sizes, at::ScalarType dtype = at::kFloat) {
  return at::randn(sizes, at::kDouble).mul(3).to(dtype);
}

std::vector<Source> sources() {
  const auto wide = [](std::int64_t batch) {
    return std::vector<c10::IValue>{number({batch, 1, 32}), number({batch, 1, 32}), number({batch, 50})};
  };
  return {
      {"deep and wide",
       "def forward(self, ad, user, wide):\n    n = torch.clamp((wide + self.mu) * self.sigma, -10.0, 10.0)\n"
       "    dp = torch.bmm(ad, user.transpose(1, 2)).flatten(1)\n"
       "    return torch.sigmoid(torch.addmm(self.b, torch.cat([dp, n], 1), self.w))\n",
       {wide(1), wide(3), wide(20), {number({2, 1, 32}), number({3, 1, 32}), number({2, 50})}}},
      {"pointwise of any dtype",
       "def forward(self, x, y):\n    z = torch.relu(x + y) * 2 - y\n    return z, z.sum(-1), (x > y).t()\n",
       {{number({4, 6}), number({4, 6})},
        {number({7, 3}), number({3})},
        {number({5, 5}, at::kDouble), number({5, 1}, at::kDouble)},
        {number({2, 9}, at::kLong), number({2, 9}, at::kLong)},
        {number({0, 3}), number({3})},
        {number({4, 6}), number({4, 5})}}},
      {"a loop, a branch and an exception",
       "def forward(self, x, n: int):\n    if n < 0:\n        raise RuntimeError(\"negative\")\n"
       "    for i in range(n):\n        if i % 2 == 0:\n            x = torch.softmax(x, -1) + i\n"
       "        else:\n            x = torch.mm(x, x.t()).tanh()\n    return x\n",
       {{number({3, 3}), 3}, {number({4, 4}), 0}, {number({5, 5}), 6}, {number({3, 3}), -1}}},
      {"forks",
       "def leaf(self, x):\n    return torch.mm(x, x) + 1\n"
       "def body(self, x, n: int):\n    f = fork(self.leaf, x)\n    y = torch.exp(x * 0.1)\n"
       "    return torch.wait(f) + y + n\n"
       "def forward(self, x, n: int):\n    futures = [fork(self.body, x, 0)]\n    for i in range(n):\n"
       "        futures.append(fork(self.body, x + i, i))\n    total = x * 0\n    for f in futures:\n"
       "        total = total + torch.wait(f)\n    return total\n",
       {{number({4, 4}), 2}, {number({6, 6}), 4}, {number({2, 3}), 1}},
       false},  // each body runs one or the other
      {"products that threads share",
       "def forward(self, x):\n    for i in range(3):\n        x = torch.relu(torch.linear(x, self.square))\n"
       "    return x\n",
       {{number({40, 200})}, {number({33, 200})}, {number({64, 200})}, {number({40, 100})}},
       true,
       2},
  };
}

c10::IValue detached(const c10::IValue& value) {
  return value.deepcopy();
}

// Adds the answers of a runtime that calls with so many intra-op threads.
void add_answers(const Program& program, int threads, Case& one) {
  const IntraOpWidth width(threads);
  StaticRuntime<> runtime{StaticModule(program.module(), program.options)};
  std::vector<c10::IValue> answers;
  int thrown = 0;
  for (int i = 0; i < 4; ++i) {
    try {
      c10::IValue answer = detached(runtime(one.args));
      const bool known = std::ranges::any_of(answers, [&](const c10::IValue& a) { return same(a, answer); });
      if (!known) answers.push_back(std::move(answer));
    } catch (const std::exception&) {
      ++thrown;
    }
  }
  const std::size_t most = program.options.numerics == Numerics::exact ? 1 : 2;
  if (thrown % 4 != 0 || answers.size() > most) {
    throw std::runtime_error(
        "The program '" + program.name + "' does not repeat itself when it runs alone: " +
        std::to_string(answers.size()) + " answers, " + std::to_string(thrown) + " of 4 calls threw.");
  }
  one.right.insert(one.right.end(), answers.begin(), answers.end());
}

Program make(const Source& source, Numerics numerics) {
  const at::Tensor w = number({51, 1}), b = number({1}), mu = number({1, 50}), sigma = number({1, 50}),
                   square = number({200, 200}).div_(60);
  const std::string text = source.text;
  const auto script = [=] {
    return test::script(text, {{"w", w}, {"b", b}, {"mu", mu}, {"sigma", sigma}, {"square", square}});
  };
  Program program{.name = source.name,
                  .module = script,
                  .options = {.numerics = numerics},
                  .intra_op_threads = source.intra_op_threads,
                  .cases = {}};
  for (const auto& args : source.args) {
    Case one{detached(c10::ivalue::Tuple::create(args)).toTupleRef().elements().vec(), {}};
    for (int threads = 1; threads <= program.intra_op_threads; ++threads) add_answers(program, threads, one);
    program.cases.push_back(std::move(one));
  }
  return program;
}

}  // namespace

bool same(const c10::IValue& a, const c10::IValue& b) {
  if (a.tagKind() != b.tagKind()) return false;
  if (a.isTensor()) {
    const at::Tensor &x = a.toTensor(), &y = b.toTensor();
    if (x.scalar_type() != y.scalar_type() || x.sizes() != y.sizes()) return false;
    const at::Tensor left = x.contiguous(), right = y.contiguous();
    return std::memcmp(left.const_data_ptr(), right.const_data_ptr(), left.nbytes()) == 0;
  }
  if (a.isTuple()) {
    return std::ranges::equal(a.toTupleRef().elements(), b.toTupleRef().elements(), same);
  }
  return a == b;
}

std::vector<Program> make_programs() {
  at::manual_seed(11);
  std::vector<Program> programs;
  for (const Source& source : sources()) {
    programs.push_back(make(source, Numerics::exact));
    if (source.may_be_fast) programs.push_back(make(source, Numerics::fast));
  }
  return programs;
}

}  // namespace sr::stress

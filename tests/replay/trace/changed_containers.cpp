// Programs that change lists and dictionaries of the caller.
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/replay.hpp"
#include "support/samples.hpp"

namespace sr::test::changed_containers_tests {

namespace {

using Tensors = c10::List<at::Tensor>;
using Named = c10::Dict<std::string, at::Tensor>;

torch::jit::Module model(const std::string& parameters, const std::string& body) {
  return script("def forward(self, " + parameters + "):\n    " + body + "\n",
                {{"w", sample({2, 3})}, {"h", at::zeros({2, 3})}});
}

InputSet with_list(std::size_t length = 3) {
  Tensors list;
  for (std::size_t i = 0; i < length; ++i) list.push_back(sample({2, 3}));
  return {sample({2, 3}), list};
}

InputSet with_dict() {
  Named dict;
  for (const char* key : {"b", "a", "c"}) dict.insert(key, sample({2, 3}));
  return {sample({2, 3}), dict};
}

InputSet with_nested() {
  c10::List<Tensors> nested;
  for (int i = 0; i < 2; ++i) nested.push_back(Tensors({sample({2, 3}), sample({2, 3})}));
  return {sample({2, 3}), nested};
}

InputSet with_numbers() {
  return {sample({2, 3}), c10::List<std::int64_t>({3, 1, 2})};
}

struct Case {
  std::string parameters, body;
  InputSet (*inputs)();
};

InputSet three() {
  return with_list(3);
}

const std::vector<Case> kCases{
    {"x, l: List[Tensor]", "l[0] = torch.cat([l[0], x])\n    return l[0] * 2", three},
    {"x, l: List[Tensor]", "l.append(x)\n    return x * 2", three},
    {"x, l: List[Tensor]", "l.append(x * 2)\n    y = l[-1] + 1\n    return y, l[-1]", three},
    {"x, l: List[Tensor]", "l.pop(0)\n    l.append(x + 1)\n    return l", three},
    {"x, l: List[Tensor]", "y = l[0] + l[1]\n    l.clear()\n    return y", three},
    {"x, l: List[Tensor]", "l.reverse()\n    return l[0] - l[1], l", three},
    {"x, l: List[Tensor]", "l[1] = l[0]\n    l[0] = x[1:]\n    return l[2] * x", three},
    {"x, l: List[Tensor]", "l[1].add_(x)\n    l[0] = l[1] * 2\n    return x", three},
    {"x, l: List[Tensor]", "l.extend([x.relu(), self.w])\n    return l[-1] + x", three},
    {"x, l: List[Tensor]", "l.append(torch.ones([2]))\n    return x + 1", three},
    {"x, l: List[Tensor]", "for i in range(len(l)):\n        l[i] = l[i] * x\n    return [l, [x]]", three},
    {"x, l: List[Tensor]", "return x * 2, l", three},
    {"x, d: Dict[str, Tensor]", "d['a'] = d['b'] + x\n    d['z'] = x * 2\n    return d['z'] + 1", with_dict},
    {"x, d: Dict[str, Tensor]", "y = d.pop('b')\n    return y * x, d", with_dict},
    {"x, d: Dict[str, Tensor]", "del d['a']\n    d['a'] = x.sum()\n    return d['c']", with_dict},
    {"x, d: Dict[str, Tensor]", "d.clear()\n    return {'x': x * 2}", with_dict},
    {"x, l: List[List[Tensor]]", "l[0][1] = x * 2\n    return l[0][1] + l[1][0]", with_nested},
    {"x, l: List[List[Tensor]]", "l[0], l[1] = l[1], l[0]\n    l[0].append(x)\n    return x + 1",
     with_nested},
    {"x, l: List[List[Tensor]]", "k = l.pop(0)\n    k.append(x * 2)\n    l.append([x])\n    return k",
     with_nested},
    {"x, l: List[int]", "l.append(x.size(0))\n    l[0] += 2\n    return x * l[0]", with_numbers},
    {"x, l: List[int]", "l.sort()\n    return x.view(l[1], l[2]) if l[1] == 2 else x * 3", with_numbers},
};

}  // namespace

TEST_CASE("lists and dictionaries of the caller change as the interpreter changes them", "[replay]") {
  at::manual_seed(5);
  for (const Case& each : kCases) {
    CAPTURE(each.body);
    std::vector<InputSet> runs;
    for (int i = 0; i < 4; ++i) runs.push_back(each.inputs());
    OracleOptions options = close();
    options.rounds = 2;
    options.use_counts = each.body.find("self.w") == std::string::npos;  // others hold a weight
    check_model(model(each.parameters, each.body), runs, options);
  }
}

TEST_CASE("calls that change lists and dictionaries are replayed", "[replay]") {
  for (const Case& each : kCases) {
    CAPTURE(each.body);
    torch::jit::Module reference = model(each.parameters, each.body);
    StaticRuntime<> runtime{StaticModule(reference, {.debug = {.check_every = 1}})};
    for (int call = 0; call < 5; ++call) {
      const InputSet inputs = each.inputs();
      const InputSet expected = copy_inputs(inputs);
      const c10::IValue result = reference.forward(expected);
      CHECK(difference(result, runtime(inputs), close()) == "");
      CHECK(difference(expected[1], inputs[1], close()) == "");
    }
    CAPTURE(runtime.report().bailouts);
    CHECK(runtime.replayed_calls() >= 3);
  }
}

TEST_CASE("a list that grows call by call is replayed for all lengths of its tensors", "[replay]") {
  const torch::jit::Module module =
      model("x, l: List[Tensor]", "l[0] = torch.cat([l[0], x])\n    return l[0].sum(0)");
  StaticRuntime<> runtime{StaticModule(module)};
  Tensors cache({at::zeros({0, 3})});
  at::Tensor expected = cache.get(0);
  for (int call = 0; call < 20; ++call) {
    const at::Tensor x = sample({2, 3});
    expected = at::cat({expected, x});
    CHECK(at::allclose(runtime({x, cache}).toTensor(), expected.sum(0), 1e-5, 1e-5));
    CHECK(at::equal(cache.get(0), expected));
  }
  CHECK(runtime.replayed_calls() >= 10);
}

TEST_CASE("results and changed elements are the tensors of the interpreter", "[replay]") {
  StaticRuntime<> runtime{
      StaticModule(model("x, l: List[Tensor]", "y = x * 2\n    l[0] = y\n    l[1] = x\n    return y, l"))};
  for (int call = 0; call < 4; ++call) {
    const InputSet inputs = with_list();
    const at::Tensor kept = inputs[1].toTensorList().get(2);
    const c10::IValue result = runtime(inputs);
    const Tensors list = inputs[1].toTensorList();
    CHECK(result.toTupleRef().elements()[1].is(inputs[1]));
    CHECK(list.get(0).is_same(result.toTupleRef().elements()[0].toTensor()));
    CHECK(list.get(1).is_same(inputs[0].toTensor()));
    CHECK(list.get(2).is_same(kept));
  }
  CHECK(runtime.replayed_calls() >= 2);
}

TEST_CASE("a list that is given twice is changed once, on the general path", "[replay]") {
  const std::string parameters = "x, l: List[Tensor], m: List[Tensor]";
  torch::jit::Module reference = model(parameters, "l.append(x)\n    return x * len(m)");
  StaticRuntime<> runtime{StaticModule(reference)};
  for (int call = 0; call < 4; ++call) CHECK(runtime({sample({2, 3}), Tensors(), Tensors()}).isTensor());
  const std::uint64_t replayed = runtime.replayed_calls();
  CHECK(replayed >= 2);
  const Tensors both;
  const at::Tensor x = sample({2, 3});
  CHECK(at::equal(runtime({x, both, both}).toTensor(), x));
  CHECK(both.size() == 1);
  CHECK(runtime.replayed_calls() == replayed);
  CHECK(says(runtime.report(), "is given twice"));
}

TEST_CASE("a call that data send elsewhere changes a list once", "[replay]") {
  const torch::jit::Module module = model(
      "x, l: List[Tensor]", "y = [x, x * 2][int(x.sum() > 0)]\n    l.append(x * 3)\n    return y + len(l)");
  torch::jit::Module reference = module.deepcopy();
  StaticRuntime<> runtime{StaticModule(module)};
  for (int call = 0; call < 8; ++call) {
    const at::Tensor x = at::full({2, 3}, call % 3 == 2 ? 1.0 : -1.0);
    const Tensors mine, its;
    CHECK(difference(reference.forward({x, its}), runtime({x, mine})) == "");
    CHECK(difference(its, mine) == "");
  }
}

TEST_CASE("after a call that throws, lists change as before", "[replay]") {
  StaticRuntime<> runtime{
      StaticModule(model("x, l: List[Tensor], i", "l.append(x)\n    return torch.index_select(x, 0, i)"))};
  const auto call = [&](const Tensors& list, std::int64_t row) {
    return runtime({at::ones({2, 3}), list, at::tensor({row})});
  };
  for (int i = 0; i < 3; ++i) call(Tensors(), 1);
  CHECK(runtime.replayed_calls() >= 1);
  CHECK_THROWS(call(Tensors(), 7));
  const Tensors list;
  call(list, 0);
  CHECK(list.size() == 1);
}

TEST_CASE("what a call stores in a list of the caller is not the module's memory", "[replay][session]") {
  const StaticModule module(
      model("x, l: List[Tensor]",
            "self.h.add_(x)\n    l.append(torch.ones([2, 3]))\n    l.append(self.h)\n    "
            "return x + l[-2]"));
  const StaticModule stateless(
      model("x, l: List[Tensor]", "l.append(torch.ones([2, 3]))\n    return x + l[-1]"));
  StaticRuntime<> runtime{stateless};
  const Session session = module.session();
  const at::Tensor x = at::ones({2, 3});
  for (int call = 1; call < 6; ++call) {
    const Tensors list;
    CHECK(at::equal(session({x, list}).toTensor(), x + 1));
    REQUIRE(list.size() == 2);
    CHECK(at::equal(list.get(1), at::full({2, 3}, call)));
    for (const at::Tensor& tensor : list) tensor.fill_(100);
    const Tensors other;
    CHECK(at::equal(runtime({x, other}).toTensor(), x + 1));
    REQUIRE(other.size() == 1);
    other.get(0).fill_(100);
  }
  CHECK(runtime.replayed_calls() >= 3);
}

TEST_CASE("outputs, bound calls and batches change lists as calls do", "[replay][batcher]") {
  const std::string parameters = "x, l: List[int]";
  const StaticModule module(model(parameters, "l.append(7)\n    return x * len(l)"));
  StaticRuntime<> runtime{module};
  const at::Tensor x = at::ones({2, 3}), out = at::zeros({2, 3});
  for (int call = 0; call < 5; ++call) {
    const c10::List<std::int64_t> list({1});
    runtime.run_into({x, list}, {out});
    CHECK(at::equal(out, x * 2));
    CHECK(list.size() == 2);
  }
  CHECK(runtime.replayed_calls() >= 2);

  // A bound call copies the list once. Each of its calls changes that copy.
  const c10::List<std::int64_t> given({1});
  BoundCall bound = runtime.bind({x, given});
  for (int call = 0; call < 4; ++call) {
    bound();
    CHECK(at::equal(bound.outputs()[0], x * (2 + call)));
  }
  CHECK(given.size() == 1);

  BatcherOptions options;
  options.max_wait = std::chrono::milliseconds(20);
  const Batcher batcher(module, options);
  std::vector<c10::List<std::int64_t>> lists;
  std::vector<c10::intrusive_ptr<c10::ivalue::Future>> results;
  for (int request = 0; request < 4; ++request) {
    lists.push_back(c10::List<std::int64_t>({1}));
    results.push_back(batcher.submit({x, lists.back()}));
  }
  for (int request = 0; request < 4; ++request) {
    const auto& result = results[static_cast<std::size_t>(request)];
    result->wait();
    CHECK(at::equal(result->value().toTensor(), x * 2));
    CHECK(lists[static_cast<std::size_t>(request)].size() == 2);
  }
}

}  // namespace sr::test::changed_containers_tests

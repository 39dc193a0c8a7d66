// Whole models against the interpreter, without fallback nodes.
#include <sr/memory/linear_scan.hpp>
#include <sr/sr.hpp>

#include "models/models.hpp"
#include "support/catch.hpp"
#include "support/oracle.hpp"

namespace sr::test::small_models_tests {

namespace {

void check(const SmallModel& model) {
  OracleOptions options = close(1e-4);
  options.rounds = 3;
  check_model(model.module, model.runs, options);
  const sr::StaticModule prepared(model.module);
  sr::StaticRuntime<sr::memory::LinearScan> runtime(prepared);
  for (const InputSet& run : model.runs) {
    for (int i = 0; i < 3; ++i) runtime(run);
  }
  const sr::Report report = runtime.report();
  for (const sr::NodeReport& node : report.nodes) {
    CAPTURE(model.name, node.text, node.why);
    CHECK(node.path != sr::NodeKind::fallback);
  }
  CHECK(report.fallbacks == 0);
  for (const sr::PlanReport& plan : report.plans) {
    CAPTURE(model.name, plan.arguments);
    CHECK(plan.memory.layout.total <= plan.memory.lower_bound + plan.memory.lower_bound / 50);
  }
}

}  // namespace

TEST_CASE("a convnet for digits", "[models]") {
  check(digits_convnet());
}
TEST_CASE("a BERT-like encoder", "[models]") {
  check(bert_like_encoder());
}
TEST_CASE("a ResNet-18-like network", "[models]") {
  check(resnet_like());
}
TEST_CASE("an LSTM tagger", "[models]") {
  check(lstm_tagger());
}
TEST_CASE("a DLRM-like model", "[models]") {
  check(dlrm_like());
}
TEST_CASE("a detection head with control flow", "[models]") {
  check(detection_head());
}

}  // namespace sr::test::small_models_tests

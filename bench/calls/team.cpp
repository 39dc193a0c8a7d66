// What two threads gain when both processors are free, and what they cost when another process takes one of
// them. `bench_team [--rounds N]`. Every round calls with one thread and with two in turn.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <iostream>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <ATen/ATen.h>

#include <sr/base/intra_op_width.hpp>
#include <sr/sr.hpp>

#include "../output.hpp"
#include "../rounds.hpp"
#include "support/ir.hpp"

namespace sr::bench {
namespace {

struct TeamModel {
  std::string name;
  torch::jit::Module module;
  at::Tensor input;
};

at::Tensor weight(at::IntArrayRef sizes) {
  return at::randn(sizes) / std::sqrt(static_cast<double>(sizes.back()));
}

TeamModel perceptron(std::int64_t width, std::int64_t batch, int layers) {
  test::Attributes weights;
  std::string body = "def forward(self, x):\n";
  for (int i = 0; i < layers; ++i) {
    const std::string w = "w" + std::to_string(i);
    weights.emplace_back(w, weight({width, width}));
    body += "    x = torch.relu(torch.linear(x, self." + w + "))\n";
  }
  return {
      std::to_string(layers) + " linears of " + std::to_string(width) + ", batch " + std::to_string(batch),
      test::script(body + "    return x\n", weights), at::randn({batch, width})};
}

TeamModel encoder() {
  test::Attributes weights;
  std::string body = "def forward(self, x):\n";
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i);
    weights.emplace_back("qkv" + n, weight({1152, 384}));
    weights.emplace_back("o" + n, weight({384, 384}));
    weights.emplace_back("up" + n, weight({1536, 384}));
    weights.emplace_back("down" + n, weight({384, 1536}));
    body += "    q, k, v = torch.linear(x, self.qkv" + n +
            ").reshape([8, 64, 3, 12, 32]).permute([2, 0, 3, 1, 4]).unbind(0)\n"
            "    a = torch.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape([8, 64, 384])\n"
            "    x = torch.layer_norm(x + torch.linear(a, self.o" +
            n +
            "), [384])\n"
            "    x = torch.layer_norm(x + torch.linear(torch.gelu(torch.linear(x, self.up" +
            n + ")), self.down" + n + "), [384])\n";
  }
  return {"encoder, 4 layers of 384, 8 x 64", test::script(body + "    return x\n", weights),
          at::randn({8, 64, 384})};
}

TeamModel convolutions() {
  test::Attributes weights;
  std::string body = "def forward(self, x):\n";
  for (int i = 0; i < 4; ++i) {
    weights.emplace_back("w" + std::to_string(i), at::randn({64, 64, 3, 3}) / 24);
    body += "    x = torch.relu(torch.conv2d(x, self.w" + std::to_string(i) + ", None, [1, 1], [1, 1]))\n";
  }
  return {"4 convolutions 3 x 3, 64 channels of 28 x 28, batch 4",
          test::script(body + "    return x\n", weights), at::randn({4, 64, 28, 28})};
}

struct Times {
  std::vector<double> one, two;  // microseconds of a call
};

double percentile(std::vector<double> values, double part) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

class Pair {
 public:
  explicit Pair(const TeamModel& model) : Pair(model, StaticModule(model.module)) {}

  Times time(int rounds) {
    Times times;
    for (int round = -20; round < rounds; ++round) {
      const double one = call(one_, 1), two = call(two_, 2);
      if (round < 0) continue;
      times.one.push_back(one);
      times.two.push_back(two);
    }
    return times;
  }
  // The processor time of the process, in seconds a second, at so many calls a second.
  double usage(int threads, double calls_per_second) {
    using namespace std::chrono_literals;
    constexpr int kCalls = 400;
    const auto begin = Clock::now();
    const double before = used();
    for (int i = 0; i < kCalls; ++i) {
      call(threads == 1 ? one_ : two_, threads);
      std::this_thread::sleep_until(begin + std::chrono::duration<double>((i + 1) / calls_per_second));
    }
    return (used() - before) / std::chrono::duration<double>(Clock::now() - begin).count();
  }

 private:
  Pair(const TeamModel& model, const StaticModule& module)
      : input_(model.input), one_(module), two_(module) {}

  double call(StaticRuntime<>& runtime, int threads) const {
    const IntraOpWidth width(threads);
    const auto begin = Clock::now();
    runtime({input_}, {});
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  }
  static double used() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }

  at::Tensor input_;
  StaticRuntime<> one_, two_;
};

// A process that uses one processor while it lives.
class Burner {
 public:
  Burner() : child_(fork()) {
    if (child_ == 0) {
      std::atomic<unsigned> count = 0;
      for (;;) ++count;
    }
  }
  Burner(const Burner&) = delete;
  Burner& operator=(const Burner&) = delete;
  ~Burner() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }

 private:
  pid_t child_;
};

void run(int rounds) {
  at::manual_seed(1);
  std::vector<Row> rows{{"", "one thread, us", "quiet: one / two", "busy: two / one, p50", "p99",
                         "one thread busy, p50", "p99"}};
  for (const TeamModel& model :
       {perceptron(2048, 8, 6), perceptron(256, 16, 12), encoder(), convolutions()}) {
    std::cerr << model.name << '\n';
    Pair pair(model);
    const Times quiet = pair.time(rounds);
    Times busy;
    {
      const Burner burner;
      busy = pair.time(rounds);
    }
    rows.push_back({model.name, number(median_of(quiet.one)), number(median_ratio(quiet.one, quiet.two), 2),
                    number(percentile(busy.two, 0.5) / percentile(busy.one, 0.5), 2),
                    number(percentile(busy.two, 0.99) / percentile(busy.one, 0.99), 2),
                    number(percentile(busy.one, 0.5)), number(percentile(busy.one, 0.99))});
  }
  print_table(std::cout, rows);
  Pair pair(perceptron(512, 8, 4));
  pair.time(50);
  for (const double rate : {6.0, 200.0}) {
    if (rate < 10 && rounds < 200) continue;
    const double one = pair.usage(1, rate), two = pair.usage(2, rate);
    std::cout << "4 linears of 512, batch 8, " << rate << " calls a second: " << number(100 * one, 3)
              << " % of a processor with one thread, " << number(100 * two, 3) << " % with two\n";
  }
}

}  // namespace
}  // namespace sr::bench

int main(int argc, char** argv) {
  int rounds = 200;
  if (argc == 3 && std::string(argv[1]) == "--rounds") rounds = std::atoi(argv[2]);
  sr::bench::run(rounds);
}

// Sizes that vary between calls.
#include "../src/tool/inputs/size_streams.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <sr/error.hpp>

#include "support/catch.hpp"

namespace sr::test::size_streams_tests {
namespace {

using Shapes = std::vector<std::string>;

std::vector<int> sizes(const std::string& stream, std::size_t calls, std::uint64_t seed = 0) {
  std::vector<int> found;
  for (const Shapes& shapes : tool::varied({"f32[n,50]"}, {stream}, calls, seed)) {
    CHECK(shapes[0].starts_with("f32["));
    CHECK(shapes[0].ends_with(",50]"));
    found.push_back(std::stoi(shapes[0].substr(4)));
  }
  return found;
}

TEST_CASE("sizes are drawn from a stream", "[tool]") {
  const std::vector<int> uniform = sizes("uniform:3..9", 200), zipf = sizes("zipf:1..256", 400);
  CHECK(*std::ranges::min_element(uniform) == 3);
  CHECK(*std::ranges::max_element(uniform) == 9);
  CHECK(uniform == sizes("n=uniform:3..9", 200));
  CHECK(uniform != sizes("uniform:3..9", 200, /*seed=*/1));
  CHECK(std::ranges::count(zipf, 1) > 30);
  CHECK(*std::ranges::max_element(zipf) > 50);
  const std::vector<int> once = sizes("once:2..17", 16);
  CHECK(std::set<int>(once.begin(), once.end()).size() == 16);
  CHECK(sizes("list:1,8,32", 5) == std::vector<int>{1, 8, 32, 1, 8});
  CHECK(sizes("list:7", 2) == std::vector<int>{7, 7});
}

TEST_CASE("names are replaced where sizes stand", "[tool]") {
  const auto calls =
      tool::varied({"f32[batch,length,8]:0..1", "int:length", "i64[batch]:0..9", "none", "str:batch"},
                   {"batch=list:2,3", "length=list:5"}, 2, 0);
  CHECK(calls == std::vector<Shapes>{{"f32[2,5,8]:0..1", "int:5", "i64[2]:0..9", "none", "str:batch"},
                                     {"f32[3,5,8]:0..1", "int:5", "i64[3]:0..9", "none", "str:batch"}});
  CHECK(tool::varied({"f32[8,50]"}, {}, 1, 0) == std::vector<Shapes>{{"f32[8,50]"}});
}

TEST_CASE("streams that cannot be drawn are refused", "[tool]") {
  for (const char* const stream :
       {"uniform", "uniform:3", "uniform:9..3", "uniform:a..3", "uniform:1..2000000", "normal:1..3",
        "list:", "list:1,,2", "m=uniform:1..3", "uniform:-1..3"}) {
    INFO(stream);
    CHECK_THROWS_AS(tool::varied({"f32[n]"}, {stream}, 2, 0), ArgumentError);
  }
  CHECK_THROWS_AS(tool::varied({"f32[n,m]"}, {"uniform:1..3"}, 2, 0), ArgumentError);
  CHECK_THROWS_AS(tool::varied({"f32[n,m]"}, {"n=uniform:1..3"}, 2, 0), ArgumentError);
  CHECK_THROWS_AS(tool::varied({"f32[n]"}, {"n=list:1", "n=list:2"}, 2, 0), ArgumentError);
  CHECK_THROWS_AS(tool::varied({"f32[3]"}, {"uniform:1..3"}, 2, 0), ArgumentError);
  CHECK_THROWS_AS(tool::varied({"f32[n]"}, {}, 1, 0), ArgumentError);
}

}  // namespace
}  // namespace sr::test::size_streams_tests

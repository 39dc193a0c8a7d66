#include <array>
#include <memory>
#include <vector>

#include <sr/replay/sizes/arithmetic.hpp>
#include <sr/replay/sizes/values.hpp>

#include "../../support/catch.hpp"

using namespace sr::replay;

namespace {

// A recording with two symbols, whose recorded values are 7 and 12.
struct Recording {
  std::shared_ptr<SizeExpressions> expressions = std::make_shared<SizeExpressions>();
  SizeScope scope{*expressions};
  Size s = expressions->add_symbol(7), t = expressions->add_symbol(12);

  bool accepts(std::int64_t s_value, std::int64_t t_value = 12) const {
    SizeValues values(expressions);
    return values.assign(std::array{s_value, t_value});
  }
  std::int64_t value(const Size& size, std::int64_t s_value, std::int64_t t_value) const {
    SizeValues values(expressions);
    REQUIRE(values.assign(std::array{s_value, t_value}));
    return values(size);
  }
  bool has_no_guards() const {
    return expressions->guards().empty() && accepts(2, 2) && accepts(1 << 20, 1 << 20);
  }
};

}  // namespace

TEST_CASE("Expressions of sizes are equal whenever they are the same polynomial", "[sizes]") {
  const Recording r;
  CHECK(Size::always_equal(r.s * 51 - r.s * 50, r.s));
  CHECK(Size::always_equal((r.s + r.t) * (r.s - r.t), r.s * r.s - r.t * r.t));
  CHECK(Size::always_equal(r.s * 50 * r.t / r.t, r.s * 50));
  CHECK(Size::always_equal((r.s * 6 + 9) / 3, r.s * 2 + 3));
  CHECK((r.s - r.s).is_constant());
  CHECK((r.s * 0).is_constant());
  CHECK_FALSE(Size::always_equal(r.s, Size(7)));
  CHECK((r.s * 50 + r.t).recorded() == 362);
  CHECK(r.has_no_guards());
}

TEST_CASE("Expressions of sizes have the values that integers have", "[sizes]") {
  const Recording r;
  const std::vector<Size> sizes{r.s + r.t,       r.s * r.t - 3,         (r.s * r.s + 1) / 4, (r.s - 20) / 3,
                                (r.s - 20) % 3,  min_of(r.s * 3, r.t),  r.t / r.s,           r.t % r.s,
                                (r.s + r.t) / 2, min_of(r.s / 2, 3) * 5};
  for (const std::int64_t s : {2, 3, 7, 64, 1001}) {
    for (const std::int64_t t : {2, 12, 13, 999}) {
      const auto floor = [](std::int64_t a, std::int64_t b) { return (a - ((a % b) + b) % b) / b; };
      const std::vector<std::int64_t> expected{s + t,
                                               s * t - 3,
                                               (s * s + 1) / 4,
                                               floor(s - 20, 3),
                                               s - 20 - 3 * floor(s - 20, 3),
                                               std::min(s * 3, t),
                                               t / s,
                                               t % s,
                                               (s + t) / 2,
                                               std::min<std::int64_t>(s / 2, 3) * 5};
      for (std::size_t i = 0; i < sizes.size(); ++i) CHECK(r.value(sizes[i], s, t) == expected[i]);
    }
  }
}

TEST_CASE("A comparison whose answer no size can change notes nothing", "[sizes]") {
  const Recording r;
  CHECK(r.s != 1);
  CHECK(r.s * 50 > 1);
  CHECK(r.s * r.t >= 4);
  CHECK_FALSE(r.s < 2);
  CHECK(r.s * 2 == r.s + r.s);
  CHECK(Size::always_equal(min_of(r.s, r.s + 1), r.s));
  CHECK(r.has_no_guards());
}

TEST_CASE("A comparison holds for the sizes on its side of the border", "[sizes]") {
  const Recording r;
  SECTION("smaller") {
    CHECK(r.s * 50 <= 1024);
    CHECK(r.accepts(2));
    CHECK(r.accepts(20));
    CHECK_FALSE(r.accepts(21));
  }
  SECTION("larger") {
    CHECK_FALSE(r.s * 3 - 1 < 10);
    CHECK_FALSE(r.accepts(3));
    CHECK(r.accepts(4));
    CHECK(r.accepts(1 << 30));
  }
  SECTION("a square") {
    CHECK(r.s * r.s * 64 < 100'000);
    CHECK(r.accepts(39));
    CHECK_FALSE(r.accepts(40));
  }
  SECTION("unequal to a number") {
    CHECK(r.s != 50);
    CHECK(r.s * 2 != 51);  // never
    CHECK(r.accepts(49));
    CHECK_FALSE(r.accepts(50));
    CHECK(r.accepts(51));
  }
  SECTION("equal to a number") {
    CHECK(r.s == 7);
    CHECK(r.accepts(7));
    CHECK_FALSE(r.accepts(8));
    CHECK_FALSE(r.accepts(6));
  }
  SECTION("pinned") {
    CHECK((r.s * 5 + 1).pin() == 36);
    CHECK(r.accepts(7, 99));
    CHECK_FALSE(r.accepts(8, 99));
  }
  SECTION("two symbols") {
    CHECK(r.s < r.t);
    CHECK(r.accepts(11, 12));
    CHECK_FALSE(r.accepts(12, 12));
    CHECK(r.accepts(12, 13));
  }
  SECTION("two symbols that differ") {
    CHECK_FALSE(r.s == r.t);
    CHECK_FALSE(r.accepts(12, 12));
    CHECK(r.accepts(13, 12));
  }
  SECTION("a quotient") {
    CHECK(r.s / 2 == 3);
    CHECK(r.accepts(6));
    CHECK(r.accepts(7));
    CHECK_FALSE(r.accepts(8));
  }
  SECTION("a divisor") {
    const Size quotient = Size(100) / (r.s - 2);
    CHECK_FALSE(r.accepts(2));
    CHECK(r.value(quotient, 3, 12) == 100);
  }
}

TEST_CASE("Sizes 0 and 1, and values that overflow, are refused", "[sizes]") {
  const Recording r;
  CHECK_FALSE(r.accepts(0));
  CHECK_FALSE(r.accepts(1));
  CHECK_FALSE(r.accepts(-5));
  CHECK_FALSE(r.accepts(std::int64_t{1} << 40));
  const Size large = r.s * r.s * r.s * r.t;
  SizeValues values(r.expressions);
  REQUIRE(values.assign(std::array<std::int64_t, 2>{1 << 30, 1 << 30}));
  values(large);
  CHECK(values.overflows());
}

TEST_CASE("Guards and sizes have texts", "[sizes]") {
  const Recording r;
  CHECK(r.expressions->text_of(r.s * 50 - 3) == "50*s0 - 3");
  CHECK(r.expressions->text_of(r.s * r.t + r.s) == "s0*s1 + s0");
  CHECK(r.expressions->text_of(min_of(r.s, 20)) == "min(s0, 20)");
  CHECK(r.expressions->text_of((r.s + 1) / 2) == "((s0 + 1) // 2)");
  CHECK(r.s < r.t);
  REQUIRE(r.expressions->guards().size() == 1);
  CHECK(r.expressions->text_of(r.expressions->guards()[0]) == "s1 - s0 - 1 >= 0");
}

TEST_CASE("A size with symbols is of no use outside of its recording", "[sizes]") {
  Size escaped;
  {
    const Recording r;
    escaped = r.s;
  }
  CHECK_THROWS_AS(escaped + 1, sr::InternalError);
}

#include "exhaustive/report.hpp"

#include <cmath>
#include <cstdio>
#include <ostream>
#include <string>

#include "exhaustive/bounds.hpp"

namespace sr::exhaustive {

namespace {

// The truth is itself rounded to a double, so half an ulp may appear slightly larger.
constexpr double kTolerance = 0x1p-20;

template <class... Values>
std::string formatted(const char* format, Values... values) {
  char text[128];
  std::snprintf(text, sizeof(text), format, values...);
  return text;
}

std::string operands(const Row& row, const Worst& worst) {
  std::string text;
  for (std::size_t o = 0; o < row.operands; ++o) {
    text += formatted(o == 0 ? "%a" : ", %a", static_cast<double>(worst.in[o]));
  }
  return text;
}

std::string ulps(const Worst& worst) {
  return std::isinf(worst.ulps) ? "wrong" : formatted("%.3f", worst.ulps < 0 ? 0.0 : worst.ulps);
}

}  // namespace

void print_head(std::ostream& out, const Sets& sets) {
  out << formatted("%-12s %10s", "vector op", "inputs");
  for (const kernels::Kernels* set : sets) out << formatted(" %8s", set->table.name);
  out << "  bound  ok   largest at\n";
}

void print_row(std::ostream& out, const Row& row, const Verdict& verdict, bool ok) {
  out << formatted("%-12s %10llu", row.name, static_cast<unsigned long long>(verdict.inputs));
  for (const Worst& worst : verdict.sets) out << formatted(" %8s", ulps(worst).c_str());
  out << formatted("  %5.2f  %-4s", row.ulps, ok ? "yes" : "NO");
  std::string before;
  for (const Worst& worst : verdict.sets) {
    const std::string at = worst.ulps > 0 ? operands(row, worst) : "";
    if (!at.empty() && at != before) out << " (" << at << ')';
    before = at;
  }
  out << '\n';
  if (row.unit != Unit::result) out << formatted("%12s in ulps %s\n", "", text_of(row.unit));
  for (const Exception& exception : kExceptions) {
    if (exception.vector_op != row.vector_op) continue;
    out << formatted("%12s exception, as in ATen: from %a to %a it is %a, ", "",
                     static_cast<double>(exception.first), static_cast<double>(exception.last),
                     static_cast<double>(exception.result))
        << exception.reason << '\n';
  }
  out << std::flush;
}

bool judge(std::ostream& errors, const Row& row, const Sets& sets, const Verdict& verdict) {
  bool ok = true;
  for (std::size_t s = 0; s < sets.size(); ++s) {
    const Worst& worst = verdict.sets[s];
    if (worst.ulps <= row.ulps + kTolerance) continue;
    ok = false;
    errors << "sr_exhaustive: " << row.name << '(' << operands(row, worst) << ") on " << sets[s]->table.name
           << " is " << formatted("%a", static_cast<double>(worst.got)) << ", but the function is "
           << formatted("%a", worst.truth) << "; "
           << (std::isinf(worst.ulps) ? "a special value is not the stated one"
                                      : "the error is " + ulps(worst) + " ulps, and at most " +
                                            formatted("%g", row.ulps) + " are stated")
           << ".\n";
  }
  if (verdict.unlike_first != 0) {
    ok = false;
    errors << "sr_exhaustive: " << row.name << " is exact, but " << verdict.unlike_first
           << " results of other instruction sets have other bits than those of " << sets[0]->table.name
           << ".\n";
  }
  return ok;
}

}  // namespace sr::exhaustive

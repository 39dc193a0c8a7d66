// The table on a terminal, as a page, and as JSON.
#include <algorithm>
#include <cctype>
#include <cstdlib>

#include <sr/kernels/kernels.hpp>

#include "../output.hpp"
#include "blas.hpp"
#include "cpu_model.hpp"
#include "roofline.hpp"

namespace sr::bench {
namespace {

struct Section {
  std::string title;
  std::vector<Row> rows;
};

std::string rate(double amount, double ns) {
  return amount == 0 ? "-" : number(amount / ns, 1);
}
std::string percent(double share) {
  return number(100 * share) + " %";
}
std::string capitalised(std::string text) {
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

Section peaks_section(const Peaks& peaks) {
  Section section{"Peaks", {{"peak", "load", "store", "copy"}}};
  for (const Bandwidth& level : peaks.levels) {
    section.rows.push_back(
        {level.level + " (GB/s)", number(level.load, 1), number(level.store, 1), number(level.copy, 1)});
  }
  const auto compute = [&](const char* name, double value) {
    section.rows.push_back({std::string(name) + " (G/s)", number(value, 1), "", ""});
  };
  compute("operations, as multiply-adds", peaks.operations);
  compute("divisions", peaks.divisions);
  compute("square roots", peaks.roots);
  return section;
}

Row cells(const Measured& row) {
  return {row.kernel,
          row.size,
          number(row.ns, row.ns < 1000 ? 1 : 0),
          number(row.ns / row.elements, 4),
          rate(row.work.rated_operations(), row.ns),
          rate(row.work.bytes(), row.ns),
          row.bound.by,
          percent(row.share())};
}

const Row kColumns{"kernel", "size", "ns", "ns an element", "GF/s", "GB/s", "bound", "share of it"};

// Kernels with references have their own table, with columns for the references.
std::vector<Section> sections(const std::vector<Measured>& all) {
  std::vector<Section> sections{{"Kernels", {kColumns}}};
  for (const Measured& row : all) {
    if (row.references.empty()) {
      sections.front().rows.push_back(cells(row));
      continue;
    }
    const std::string title = capitalised(row.kernel);
    auto section = std::ranges::find(sections, title, &Section::title);
    if (section == sections.end()) {
      section = sections.insert(section, {title, {kColumns}});
      Row& header = section->rows.front();
      for (const Measured::Rival& other : row.references) header.push_back(other.name + ", GF/s");
      header.push_back("best/sr");
    }
    Row& line = section->rows.emplace_back(cells(row));
    for (const Measured::Rival& other : row.references)
      line.push_back(rate(row.work.rated_operations(), other.ns));
    line.push_back(number(row.best()->ratio, 2));
  }
  std::erase_if(sections, [](const Section& section) { return section.rows.size() == 1; });
  return sections;
}

// One line for each such kernel; empty without any.
std::string summary(const std::vector<Measured>& all) {
  struct Ratios {
    std::string kernel;
    std::vector<double> all = {};
    const Measured* worst = nullptr;
  };
  std::vector<Ratios> kernels;
  for (const Measured& row : all) {
    if (row.best() == nullptr) continue;
    auto ratios = std::ranges::find(kernels, row.kernel, &Ratios::kernel);
    if (ratios == kernels.end()) ratios = kernels.insert(ratios, {row.kernel});
    ratios->all.push_back(row.best()->ratio);
    if (ratios->worst == nullptr || row.best()->ratio < ratios->worst->best()->ratio) ratios->worst = &row;
  }
  const auto kept = [](bool holds) { return holds ? "kept" : "missed"; };
  std::string text;
  for (const Ratios& ratios : kernels) {
    const double median = median_of(ratios.all), least = ratios.worst->best()->ratio;
    text += (text.empty() ? "" : "\n\n") + capitalised(ratios.kernel) +
            ", the time of LibTorch's fastest over sr's: median " + number(median, 2) +
            " (bound: at least 1.0, " + kept(median >= 1) + "), worst " + number(least, 2) +
            " at M, N, K = " + ratios.worst->size + " (bound: at least 0.9, " + kept(least >= 0.9) + "), " +
            std::to_string(ratios.all.size()) + " shapes.";
  }
  return text;
}

void write_pipes(std::ostream& out, const Section& section) {
  const auto line = [&](const Row& row) {
    for (const std::string& cell : row) out << "| " << cell << ' ';
    out << "|\n";
  };
  out << "\n## " << section.title << "\n\n";
  line(section.rows.front());
  out << "|---|";
  for (std::size_t i = 1; i < section.rows.front().size(); ++i) out << "---:|";
  out << '\n';
  for (std::size_t i = 1; i < section.rows.size(); ++i) line(section.rows[i]);
}

}  // namespace

const Measured::Rival* Measured::best() const {
  const auto fastest = std::ranges::min_element(references, {}, &Rival::ns);
  return fastest == references.end() ? nullptr : &*fastest;
}

void write_terminal(std::ostream& out, const Peaks& peaks, const std::vector<Measured>& all) {
  print_table(out, peaks_section(peaks).rows);
  for (const Section& section : sections(all)) {
    out << '\n';
    print_table(out, section.rows);
  }
  out << '\n' << summary(all) << std::endl;
}

void write_markdown(std::ostream& out, const Peaks& peaks, const std::vector<Measured>& all,
                    const RooflineOptions& options) {
  double load[1] = {};
  getloadavg(load, 1);
  out << "# Kernels against the machine: " << tool::cpu_model() << ", " << kernels::kernels().table.name
      << ", LibTorch " << blas::libtorch_version() << "\n\n"
      << "Written by `./dev bench roofline` (" << options.rounds << " interleaved rounds of "
      << number(options.slice_ms, 2) << " ms, one thread, load average of the machine at the end "
      << number(load[0], 1) << "): kernels by the median of their rounds, peaks by the fastest. "
      << "The bound is the longest of the times that arithmetic (a fused multiply-add counts two), "
         "divisions, "
         "roots, loads, stores and copies take at their peaks, with as much of the operands in each cache as "
         "it holds.\n";
  write_pipes(out, peaks_section(peaks));
  for (const Section& section : sections(all)) write_pipes(out, section);
  out << '\n' << summary(all) << '\n';
}

void write_csv(std::ostream& out, const std::vector<Measured>& all) {
  out << "kernel,size,elements,ns,operations,divisions,roots,read,written,bound_ns,bound,reference,ratio\n";
  for (const Measured& row : all) {
    out << row.kernel << ",\"" << row.size << "\"," << number(row.elements) << ',' << number(row.ns, 2) << ','
        << number(row.work.operations) << ',' << number(row.work.divisions) << ',' << number(row.work.roots)
        << ',' << number(row.work.read) << ',' << number(row.work.written) << ',' << number(row.bound.ns, 2)
        << ',' << row.bound.by;
    const Measured::Rival* best = row.best();
    out << ",\"" << (best == nullptr ? "" : best->name) << "\","
        << (best == nullptr ? "" : number(best->ratio, 3)) << '\n';
  }
}

}  // namespace sr::bench

#include "python_rivals.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

#include <ATen/core/List.h>
#include <c10/util/StringUtil.h>

#include <sr/error.hpp>

#include "../drawing/text_table.hpp"

extern char** environ;

namespace sr::tool {
namespace {

// A new folder, removed with what is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "sr-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw LoadError("A temporary folder '" + name + "' cannot be made: " + std::strerror(errno) + ".");
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \n") + 1;  // 0 of nothing but space
  if (end == 0) return "it said nothing.";
  const std::size_t begin = text.rfind('\n', end - 1) + 1;
  return text.substr(begin, end - begin);
}

// Waits for the program. Its output goes to the files. Returns its exit code.
int run(std::vector<std::string> command, const std::string& out, const std::string& errors) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int kMode = 0600;
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT, kMode);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), O_WRONLY | O_CREAT, kMode);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw LoadError("'" + command[0] + "' cannot be run: " + std::strerror(failed) + ".");
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

std::vector<PythonRow> time_in_python(const std::string& model, const std::vector<ArgumentList>& sets,
                                      const std::vector<std::string>& names, int threads, double seconds) {
  const TemporaryFolder folder;
  std::vector<c10::IValue> lists;
  for (const ArgumentList& set : sets) {
    c10::impl::GenericList list(c10::AnyType::get());
    for (const c10::IValue& value : set) list.push_back(value);
    lists.emplace_back(std::move(list));
  }
  write_values(folder.file("inputs.pt"), lists);
  const std::string runners = c10::Join(",", names);
  const char* const chosen = std::getenv("SR_PYTHON");
  const std::string python = chosen == nullptr ? "python3" : chosen;
  const std::string out = folder.file("out"), errors = folder.file("errors");
  const int code = run({python, "-m", "sr.rivals", model, "--inputs", folder.file("inputs.pt"), "--runners",
                        runners, "--threads", std::to_string(threads), "--seconds", std::to_string(seconds)},
                       out, errors);
  if (code != 0) {
    throw LoadError("The rivals " + runners + " are timed by '" + python +
                    " -m sr.rivals', which ended with " + std::to_string(code) + ": " +
                    last_line(content_of(errors)) +
                    " The variable SR_PYTHON names a Python that has the package sr and the rivals.");
  }
  std::vector<PythonRow> rows;
  for (const auto& row : nlohmann::json::parse(last_line(content_of(out)))) {  // runtimes may print, too
    rows.push_back({.runner = row.at("runner"),
                    .seconds = row.contains("seconds") ? std::optional<double>(row["seconds"]) : std::nullopt,
                    .difference = row.value("difference", 0.0),
                    .error = row.value("error", std::string())});
  }
  return rows;
}

void print_python_rows(std::ostream& out, const std::vector<PythonRow>& rows) {
  if (rows.empty()) return;
  const std::optional<double> ours = rows[0].seconds;
  std::vector<std::vector<std::string>> cells{{"called from Python", "median ns", "of sr", "max diff"}};
  for (const PythonRow& row : rows) {
    std::vector<std::string>& cell = cells.emplace_back();
    cell.push_back(row.runner);
    if (!row.seconds) continue;
    cell.push_back(number(*row.seconds * 1e9));
    cell.push_back(ours ? number(*row.seconds / *ours, 2) : "-");
    std::ostringstream difference;
    difference.precision(2);
    difference << row.difference;
    cell.push_back(difference.str());
  }
  print_rows(out, cells, 1);
  for (const PythonRow& row : rows) {
    if (!row.error.empty()) out << "    " << row.runner << ": " << row.error << '\n';
  }
  out << '\n';
}

nlohmann::ordered_json json_of(const std::vector<PythonRow>& rows) {
  auto all = nlohmann::ordered_json::array();
  for (const PythonRow& row : rows) {
    nlohmann::ordered_json one{{"runner", row.runner}};
    if (row.seconds) {
      one["median_ns"] = *row.seconds * 1e9;
      one["max_abs_diff"] = row.difference;
    }
    if (!row.error.empty()) one["error"] = row.error;
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace sr::tool

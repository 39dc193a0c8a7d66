// `sr ops`: which operators sr runs, and how.
#pragma once

namespace sr::tool {

struct OpsOptions {
  bool json = false;
  bool markdown = false;  // docs/reference/operators.md
};

// Returns the exit code of the program.
int ops(const OpsOptions& options);

}  // namespace sr::tool

// A memory plan to look at: offset against time, one bar a tensor.
#pragma once

#include <string>
#include <vector>

#include <sr/memory/request.hpp>
#include <sr/report.hpp>

namespace sr::tool {

struct PlannedTensor {
  std::string name;
  std::string made_by;  // key of the node
  memory::Bytes bytes = 0;
  memory::Bytes offset = 0;
  memory::Step first = 0;  // half-open, in steps of the block
  memory::Step last = 0;
  bool onto_input = false;  // written onto the bytes of an input that dies in the same step
};

// The managed tensors of a block in the order of its requests.
std::vector<PlannedTensor> planned_tensors(const Report& report, std::size_t block);

// One panel for each block that manages a tensor: time in steps to the right, offset upwards.
std::string plan_svg(const Report& report, const std::string& title);
std::string plan_json(const Report& report, const std::string& title);

// By the end of the name, .svg or .json. Throws ArgumentError for another one, LoadError if it can not be
// written.
void write_plan(const std::string& path, const Report& report, const std::string& title);

}  // namespace sr::tool

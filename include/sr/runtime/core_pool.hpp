// The runtimes of a StaticModule's own calls, and of a forked body.
#pragma once

#include <memory>
#include <utility>

#include <sr/pool/object_pool.hpp>
#include <sr/runtime/runtime_core.hpp>

namespace sr::detail {

class CorePool : public pool::ObjectPool<RuntimeCore> {
 public:
  // The planner is a constant of the program.
  CorePool(std::shared_ptr<const PreparedModule> content, const memory::PlannerOps& planner)
      : ObjectPool(kOwnRuntimes, [content = std::move(content), &planner] {
          return std::make_unique<RuntimeCore>(content, nullptr, planner);
        }) {}
};

}  // namespace sr::detail

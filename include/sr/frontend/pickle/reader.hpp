// Reads the pickle of a torch.save file. LibTorch's own reader knows no int beyond 32 bits (unless it takes
// eight bytes), no dtype newer than bfloat16 and no filled OrderedDict; this one does. It runs no code: a
// global name is one of the few below or an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>
#include <torch/custom_class.h>

#include <sr/base/error.hpp>
#include <sr/frontend/archive/pickle_instructions.hpp>
#include <sr/frontend/archive/pickle_outline.hpp>
#include <sr/frontend/pickle/scalar_type_names.hpp>
#include <sr/frontend/pickle/stored_tensors.hpp>

namespace sr::detail {

class PickleReader {
 public:
  // What a call of a function or class means that the reader does not know. It may call back `call`.
  using Foreign = std::function<c10::IValue(const PickleReader&, const std::string& name,
                                            std::vector<c10::IValue> arguments)>;

  // `archive` must outlive the reader.
  PickleReader(const PickleArchive& archive, Foreign foreign)
      : archive_(archive),
        foreign_(std::move(foreign)),
        tensors_(archive),
        pickle_(text_of(archive.record("data.pkl"))),
        instructions_(pickle_) {}

  c10::IValue read() {
    constexpr std::uint32_t kDeepest = 500;  // values are destroyed by recursion
    const std::string_view problem = PickleOutline(pickle_).problem(kDeepest);
    if (problem == PickleOutline::kTooDeep || problem == PickleOutline::kTuplesTooDeep)
      archive_.reject("its pickle nests values too deep");
    if (problem == PickleOutline::kChangesPart)
      archive_.reject("values in its pickle contain themselves, or change once they are parts of others");
    try {
      while (step()) {
      }
      return pop();
    } catch (const LoadError&) {
      throw;
    } catch (const c10::Error& error) {
      archive_.reject(error.what_without_backtrace());
    } catch (const std::exception& error) {
      archive_.reject(error.what());
    }
  }

  // Calls a function or class of that name.
  c10::IValue call(const std::string& name, std::vector<c10::IValue> arguments) const {
    const std::size_t count = arguments.size();
    if (name == "torch._utils._rebuild_tensor_v2" && count >= 6)
      return tensors_.tensor(arguments, nullptr, 6);
    if (name == "torch._utils._rebuild_tensor_v3" && count >= 7) {
      const auto type = static_cast<c10::ScalarType>(arguments[6].toInt());
      return tensors_.tensor(arguments, find_scalar_type(&ScalarTypeName::type, type), 7);
    }
    if (name == "torch._utils._rebuild_parameter" && count >= 2) {
      return arguments[0].toTensor().requires_grad_(arguments[1].toBool());
    }
    if (name == "collections.OrderedDict" && count == 0) return empty_dict();
    if (name == "torch.Size" && count == 1) return arguments[0];
    if (name == "torch.device" && count >= 1) {
      std::string device = arguments[0].toStringRef();
      if (count > 1) device += ":" + std::to_string(arguments[1].toInt());
      return c10::Device(device);
    }
    if ((name == "builtins.complex" || name == "__builtin__.complex") && count == 2) {
      return c10::complex<double>(arguments[0].toDouble(), arguments[1].toDouble());
    }
    return foreign_(*this, name, std::move(arguments));
  }

  // No class, function or bare storage is left, and nothing contains itself.
  void check_plain(const c10::IValue& value, int depth = 0) const {
    if (depth > 200) archive_.reject("its values are nested more than 200 deep, or contain themselves");
    if (value.isCapsule()) archive_.reject("it holds a class, a function or a storage as a value");
    if (value.isTuple()) {
      for (const c10::IValue& item : value.toTupleRef().elements()) check_plain(item, depth + 1);
    } else if (value.isList() && value.toList().elementType()->kind() == c10::TypeKind::AnyType) {
      for (const c10::IValue& item : value.toListRef()) check_plain(item, depth + 1);
    } else if (value.isGenericDict()) {
      for (const auto& item : value.toGenericDict()) check_plain(item.value(), depth + 1);
    }
  }

  // Returns the name of a class or function that the pickle mentions.
  std::string global_name(const c10::IValue& value) const {
    if (value.isCapsule()) {
      const auto capsule = value.toCapsule();
      if (const auto* global = dynamic_cast<const Global*>(capsule.get())) return global->name;
    }
    archive_.reject("its pickle has a " + value.tagKind() + " where a class or function belongs");
  }

 private:
  struct Global : torch::CustomClassHolder {
    explicit Global(std::string n) : name(std::move(n)) {}
    std::string name;
  };

  static std::string_view text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  void push(c10::IValue value) { stack_.push_back(std::move(value)); }

  c10::IValue pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back()))
      archive_.reject("its pickle takes more values than it has");
    c10::IValue value = std::move(stack_.back());
    stack_.pop_back();
    return value;
  }

  std::vector<c10::IValue> pop(std::size_t count) {
    std::vector<c10::IValue> values(count);
    for (std::size_t i = count; i-- > 0;) values[i] = pop();
    return values;
  }

  std::vector<c10::IValue> pop(const PickleInstruction& next) {
    if (next.count != PickleInstruction::kToMark) return pop(next.count);
    if (marks_.empty()) archive_.reject("its pickle has an end of a list without a begin");
    std::vector<c10::IValue> values = pop(stack_.size() - marks_.back());
    marks_.pop_back();
    return values;
  }

  void push_tuple(std::vector<c10::IValue> items) { push(c10::ivalue::Tuple::create(std::move(items))); }

  void append(std::vector<c10::IValue> items) {
    c10::IValue target = pop();
    if (!target.isList()) archive_.reject("its pickle appends to something that is no list");
    c10::List<c10::IValue> list = target.toList();
    for (c10::IValue& item : items) list.push_back(std::move(item));
    push(std::move(target));
  }

  void insert(std::vector<c10::IValue> items) {
    c10::IValue target = pop();
    if (!target.isGenericDict() || items.size() % 2 != 0)
      archive_.reject("its pickle sets an item of something that is no dict");
    c10::Dict<c10::IValue, c10::IValue> dict = target.toGenericDict();
    for (std::size_t i = 0; i < items.size(); i += 2)
      dict.insert_or_assign(std::move(items[i]), std::move(items[i + 1]));
    push(std::move(target));
  }

  void remember(std::int64_t number) {
    if (stack_.empty()) archive_.reject("its pickle remembers a value before it has one");
    memo_[number == PickleInstruction::kNext ? memo_.size() : static_cast<std::uint64_t>(number)] =
        stack_.back();
  }

  void recall(std::int64_t number) {
    const auto found = memo_.find(static_cast<std::uint64_t>(number));
    if (found == memo_.end()) archive_.reject("its pickle recalls a value it never had");
    push(found->second);
  }

  static c10::IValue empty_dict() { return c10::impl::GenericDict(c10::AnyType::get(), c10::AnyType::get()); }

  // One instruction; false after the last.
  bool step() {
    using Kind = PickleInstruction::Kind;
    const PickleInstruction next = instructions_.next();
    // clang-format off
    switch (next.kind) {
      case Kind::stop: return false;
      case Kind::nothing: break;
      case Kind::none: push({}); break;
      case Kind::boolean: push(next.number != 0); break;
      case Kind::integer:
        if (next.is_wide) archive_.reject("an integer in it takes more than 64 bits");
        push(next.number);
        break;
      case Kind::real: push(next.real()); break;
      case Kind::text: push(std::string(next.text)); break;
      case Kind::mark: marks_.push_back(stack_.size()); break;
      case Kind::drop: pop(next); break;
      case Kind::empty_list: push(c10::impl::GenericList(c10::AnyType::get())); break;
      case Kind::empty_dict: push(empty_dict()); break;
      case Kind::empty_tuple: push_tuple({}); break;
      case Kind::tuple: push_tuple(pop(next)); break;
      case Kind::append: append(pop(next)); break;
      case Kind::set_items: insert(pop(next)); break;
      case Kind::remember: remember(next.number); break;
      case Kind::recall: recall(next.number); break;
      case Kind::global: push_global(std::string(next.module) + "." + std::string(next.text)); break;
      case Kind::stack_global: {
        const std::vector<c10::IValue> names = pop(2);
        push_global(names[0].toStringRef() + "." + names[1].toStringRef());
        break;
      }
      case Kind::storage: push(storage(pop())); break;
      case Kind::call: {
        const c10::IValue arguments = pop();
        const c10::IValue function = pop();
        if (!arguments.isTuple()) archive_.reject("its pickle calls something without arguments");
        push(call(global_name(function), arguments.toTupleRef().elements().vec()));
        break;
      }
      case Kind::set_state:  // of an object that `foreign` has made, which means nothing
        pop();
        if (stack_.empty() || !stack_.back().isCapsule())
          archive_.reject("its pickle gives a state to a value that has none");
        break;
      case Kind::unknown:
        archive_.reject("its pickle has the instruction " + std::to_string(next.code) +
                        ", which torch.save does not write");
      case Kind::cut_short: archive_.reject("its pickle ends in the middle of a value");
    }
    // clang-format on
    return true;
  }

  void push_global(std::string name) {
    constexpr std::string_view prefix = "torch.";
    if (name.starts_with(prefix)) {  // a dtype is an int in TorchScript
      const auto* type =
          find_scalar_type(&ScalarTypeName::python, std::string_view(name).substr(prefix.size()));
      if (type != nullptr) return push(static_cast<std::int64_t>(type->type));
    }
    push(c10::IValue::make_capsule(c10::make_intrusive<Global>(std::move(name))));
  }

  // ("storage", class, key, device, number of elements)
  c10::IValue storage(const c10::IValue& id) {
    if (!id.isTuple() || id.toTupleRef().size() < 5 || !id.toTupleRef().elements()[2].isString()) {
      archive_.reject("its pickle refers to something that is no storage");
    }
    const auto& parts = id.toTupleRef().elements();
    return tensors_.storage(global_name(parts[1]), parts[2].toStringRef());
  }

  const PickleArchive& archive_;
  Foreign foreign_;
  StoredTensors tensors_;
  std::string_view pickle_;
  PickleInstructions instructions_;
  std::vector<c10::IValue> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, c10::IValue> memo_;
};

}  // namespace sr::detail

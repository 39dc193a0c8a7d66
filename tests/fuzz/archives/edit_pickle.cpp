// The instructions are those of PyTorch's picklers: Python's pickletools describes them all.
#include <algorithm>
#include <optional>
#include <string_view>

#include "fuzz/archives/edits.hpp"

namespace sr::fuzz {

namespace {

// How an instruction's operand is written: in `width` bytes, or, if `is_length`, as a length of `width` bytes
// and then as many bytes as the length says.
struct Operand {
  std::size_t width = 0;
  bool is_length = false;
};

std::optional<Operand> operand_of(char code) {
  switch (code) {
    case '\x80':  // PROTO
    case 'K':     // BININT1
    case 'h':     // BINGET
    case 'q':     // BINPUT
      return Operand{1};
    case 'M':  // BININT2
      return Operand{2};
    case 'J':  // BININT
    case 'j':  // LONG_BINGET
    case 'r':  // LONG_BINPUT
      return Operand{4};
    case 'G':  // BINFLOAT
      return Operand{8};
    case 'U':     // SHORT_BINSTRING
    case '\x8a':  // LONG1
    case '\x8c':  // SHORT_BINUNICODE
      return Operand{1, true};
    case 'X':  // BINUNICODE
    case 'T':  // BINSTRING
    case 'B':  // BINBYTES
      return Operand{4, true};
    default:
      return std::nullopt;
  }
}

std::uint64_t length_at(std::string_view text, std::size_t width) {
  std::uint64_t length = 0;
  for (std::size_t i = std::min(width, text.size()); i-- > 0;)
    length = length << 8 | static_cast<unsigned char>(text[i]);
  return length;
}

std::size_t size_of_instruction(std::string_view rest) {
  if (rest[0] == 'c') {  // GLOBAL: two lines
    const std::size_t first = rest.find('\n');
    const std::size_t second = first == std::string_view::npos ? first : rest.find('\n', first + 1);
    return second == std::string_view::npos ? rest.size() : second + 1;
  }
  const Operand operand = operand_of(rest[0]).value_or(Operand{});
  const std::uint64_t named = operand.is_length ? length_at(rest.substr(1), operand.width) : 0;
  return std::min<std::uint64_t>(rest.size(), 1 + operand.width + named);
}

std::vector<std::string> instructions_of(std::string_view pickle) {
  std::vector<std::string> found;
  while (!pickle.empty()) {
    const std::size_t size = size_of_instruction(pickle);
    found.emplace_back(pickle.substr(0, size));
    pickle.remove_prefix(size);
  }
  return found;
}

void change_operand(std::string& instruction, Random& random) {
  if (instruction[0] == 'c') {
    static constexpr const char* kGlobals[] = {"ctorch._utils\n_rebuild_tensor_v2\n",
                                               "ccollections\nOrderedDict\n",
                                               "ctorch\nFloatStorage\n",
                                               "ctorch.jit._pickle\nbuild_intlist\n",
                                               "ctorch.jit._pickle\nrestore_type_tag\n",
                                               "c__torch__\nOther\n",
                                               "ctorch.jit._pickle\nbuild_tensor_from_id\n",
                                               "ctorch\ndevice\n"};
    instruction = random.of(kGlobals);
    return;
  }
  const auto operand = operand_of(instruction[0]);
  if (!operand) {  // another instruction without operand
    static constexpr char kCodes[] = {'(', ')', '}',    ']',    't', '\x85', '\x86', '\x87', 's', 'u', 'a',
                                      'e', 'N', '\x88', '\x89', 'R', 'b',    'Q',    '.',    '0', '2'};
    instruction = std::string(1, random.of(kCodes));
    return;
  }
  const std::size_t head = 1 + operand->width;
  if (operand->is_length && instruction.size() > head && random.chance(70)) {
    std::string text = instruction.substr(head);
    edit_bytes(text, random);
    if (operand->width == 1) text.resize(std::min<std::size_t>(text.size(), 255));
    instruction.resize(head);
    test::put(instruction, 1, text.size(), static_cast<unsigned>(operand->width));
    instruction += text;
    return;
  }
  if (instruction.size() < head) return;
  test::put(instruction, 1, static_cast<std::uint64_t>(extreme_number(random)),
            static_cast<unsigned>(operand->width));
}

std::string nested(Random& random) {
  static constexpr const char* kShapes[][2] = {{"(", "t"}, {"", "\x85"}, {"](", "e"}, {"}(N", "u"}};
  const auto& shape = random.of(kShapes);
  const std::size_t depth = std::size_t{1} << random.below(14);
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += shape[0];
  text += "K\1";
  for (std::size_t i = 0; i < depth; ++i) text += shape[1];
  return text;
}

}  // namespace

void edit_pickle(std::string& pickle, Random& random) {
  std::vector<std::string> instructions = instructions_of(pickle);
  if (instructions.empty()) return edit_bytes(pickle, random);
  std::string& one = random.of(instructions);
  const auto at = instructions.begin() + static_cast<std::ptrdiff_t>(random.below(instructions.size()));
  switch (random.below(8)) {
    case 0:
      one.clear();
      break;
    case 1:
      one += one;
      break;
    case 2:
      std::swap(one, random.of(instructions));
      break;
    case 3:
      one = random.of(instructions);
      break;
    case 4: {  // a piece of the program, once more or not at all
      const auto end = at + static_cast<std::ptrdiff_t>(
                                random.below(static_cast<std::size_t>(instructions.end() - at) + 1));
      const std::vector<std::string> piece(at, end);
      if (random.chance(50)) {
        instructions.erase(at, end);
      } else {
        instructions.insert(at, piece.begin(), piece.end());
      }
      break;
    }
    case 5:
      one = random.chance(30) ? nested(random) : one + "q" + static_cast<char>(random.below(4));
      break;
    default:
      change_operand(one, random);
  }
  pickle.clear();
  for (const std::string& kept : instructions) pickle += kept;
}

}  // namespace sr::fuzz

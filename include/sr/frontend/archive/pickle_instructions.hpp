// Decodes the instructions of a pickle one by one. Three readers use it: the outline, the reader of values,
// and the reader of debug records.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sr::detail {

// Its texts point into the pickle. The opcodes are those of protocols 2 to 4 (Lib/pickletools.py of Python)
// that LibTorch or torch.save writes.
struct PickleInstruction {
  enum class Kind : std::uint8_t {
    stop,
    nothing,  // PROTO, FRAME
    none,
    boolean,  // `number`
    integer,  // `number`, unless it `is_wide`; of LONG1 and LONG4, `count` has its bytes
    real,     // `number` has its bits
    text,     // `text`
    global,   // `module` and `text`, its name
    empty_list,
    empty_dict,
    empty_tuple,
    tuple,         // of the last `count` values
    append,        // the last `count` values to a list
    set_items,     // the last `count` values, keys and values in turn, of a dict
    mark,          // where a later `count` of kToMark begins
    drop,          // the last `count` values
    stack_global,  // the last two values are its module and its name
    storage,       // that the last value names
    call,          // of a function or class, with a tuple
    set_state,     // of an object
    remember,      // the last value, as `number`
    recall,        // the value that was remembered as `number`
    unknown,
    cut_short  // the pickle ends in the middle of it
  };
  static constexpr std::size_t kToMark = SIZE_MAX;  // all values since the last mark
  static constexpr std::int64_t kNext = -1;         // as the number of values remembered so far

  Kind kind = Kind::unknown;
  unsigned char code = 0;
  std::size_t count = 0;
  std::int64_t number = 0;
  bool is_wide = false;  // an integer of more than 64 bits
  std::string_view module = {}, text = {};

  double real() const { return std::bit_cast<double>(number); }
};

// The pickle must outlive it.
class PickleInstructions {
 public:
  explicit PickleInstructions(std::string_view pickle) : rest_(pickle) {}

  PickleInstruction next() {
    is_cut_ = false;
    PickleInstruction instruction = decode(static_cast<unsigned char>(number(1)));
    if (is_cut_) instruction.kind = PickleInstruction::Kind::cut_short;
    return instruction;
  }

 private:
  using Kind = PickleInstruction::Kind;

  PickleInstruction decode(unsigned char code) {
    constexpr std::size_t kToMark = PickleInstruction::kToMark;
    PickleInstruction made;
    made.code = code;
    const auto is = [&](Kind kind, std::size_t count = 0) {
      made.kind = kind;
      made.count = count;
      return made;
    };
    const auto numbered = [&](Kind kind, std::int64_t number) {
      made.number = number;
      return is(kind);
    };
    const auto text = [&](unsigned width) {
      made.text = take(number(width));
      return is(Kind::text);
    };
    const auto natural = [&](unsigned width) { return static_cast<std::int64_t>(number(width)); };
    // clang-format off
    switch (code) {
      case '.': return is(Kind::stop);
      case 0x80: take(1); return is(Kind::nothing);                                         // PROTO
      case 0x95: take(8); return is(Kind::nothing);                                         // FRAME
      case 'N': return is(Kind::none);
      case 0x88: return numbered(Kind::boolean, 1);                                         // NEWTRUE
      case 0x89: return numbered(Kind::boolean, 0);                                         // NEWFALSE
      case 'K': return numbered(Kind::integer, natural(1));                                 // BININT1
      case 'M': return numbered(Kind::integer, natural(2));                                 // BININT2
      case 'J': return numbered(Kind::integer, static_cast<std::int32_t>(number(4)));       // BININT
      case 0x8a: return long_integer(made, number(1));                                      // LONG1
      case 0x8b: return long_integer(made, number(4));                                      // LONG4
      case 'G': return numbered(Kind::real, big_endian(take(8)));                           // BINFLOAT
      case 0x8c: case 'U': return text(1);                      // SHORT_BINUNICODE, SHORT_BINSTRING
      case 'X': case 'T': return text(4);                       // BINUNICODE, BINSTRING
      case 0x8d: return text(8);                                // BINUNICODE8
      case 'c': made.module = line(); made.text = line(); return is(Kind::global);          // GLOBAL
      case 0x93: return is(Kind::stack_global);                 // STACK_GLOBAL
      case ']': return is(Kind::empty_list);
      case '}': return is(Kind::empty_dict);
      case ')': return is(Kind::empty_tuple);
      case 0x85: return is(Kind::tuple, 1);
      case 0x86: return is(Kind::tuple, 2);
      case 0x87: return is(Kind::tuple, 3);
      case 't': return is(Kind::tuple, kToMark);
      case 'a': return is(Kind::append, 1);
      case 'e': return is(Kind::append, kToMark);
      case 's': return is(Kind::set_items, 2);
      case 'u': return is(Kind::set_items, kToMark);
      case '(': return is(Kind::mark);
      case '0': return is(Kind::drop, 1);                       // POP
      case '1': return is(Kind::drop, kToMark);                 // POP_MARK
      case 'Q': return is(Kind::storage);                       // BINPERSID
      case 'R': case 0x81: return is(Kind::call);               // REDUCE, NEWOBJ
      case 'b': return is(Kind::set_state);                     // BUILD
      case 'q': return numbered(Kind::remember, natural(1));    // BINPUT
      case 'r': return numbered(Kind::remember, natural(4));    // LONG_BINPUT
      case 0x94: return numbered(Kind::remember, PickleInstruction::kNext);                 // MEMOIZE
      case 'h': return numbered(Kind::recall, natural(1));      // BINGET
      case 'j': return numbered(Kind::recall, natural(4));      // LONG_BINGET
      default: return made;
    }
    // clang-format on
  }

  // Returns an empty view if the pickle is shorter.
  std::string_view take(std::uint64_t count) {
    is_cut_ |= count > rest_.size();
    const std::string_view taken = rest_.substr(0, is_cut_ ? 0 : count);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  // Without its end.
  std::string_view line() {
    const std::string_view text = take(std::min(rest_.find('\n'), rest_.size()));
    take(1);
    return text;
  }
  // Little-endian, of `width` bytes.
  std::uint64_t number(unsigned width) {
    std::uint64_t value = 0;
    const std::string_view bytes = take(width);
    for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
  }
  static std::int64_t big_endian(std::string_view bytes) {
    std::uint64_t value = 0;
    for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
    return static_cast<std::int64_t>(value);
  }
  // In two's complement, of any width.
  PickleInstruction long_integer(PickleInstruction made, std::uint64_t width) {
    const std::string_view bytes = take(width);
    const char sign = !bytes.empty() && (bytes.back() & 0x80) != 0 ? '\xff' : '\0';
    std::uint64_t value = sign != 0 ? ~std::uint64_t{0} : 0;
    for (std::size_t i = bytes.size(); i-- > 0;) {
      made.is_wide |= i >= 8 && bytes[i] != sign;
      if (i < 8) value = value << 8 | static_cast<unsigned char>(bytes[i]);
    }
    made.kind = Kind::integer;
    made.count = bytes.size();
    made.number = static_cast<std::int64_t>(value);
    made.is_wide |= (made.number < 0) != (sign != 0);
    return made;
  }

  std::string_view rest_;
  bool is_cut_ = false;  // the instruction that is read
};

}  // namespace sr::detail

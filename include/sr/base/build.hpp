// Where the definitions of sr are compiled, and how false warnings about them are silenced.
#pragma once

// The public headers declare, and libsr holds the definitions. A program without the library defines
// SR_HEADER_ONLY before it includes <sr/sr.hpp> in one file, which then holds all definitions and operators:
// `used` keeps those that the file itself does not call. Several files may define it; that costs only time.
#ifdef SR_HEADER_ONLY
#define SR_INLINE [[gnu::used]] inline
#else
#define SR_INLINE
#endif

// g++ 12 inlines the destructor of an IValue whose kind it knows, and warns of an overflow in a branch for
// another kind. These two switch the warning off for the functions between them, and leave a user's own
// functions alone.
#if defined(__GNUC__) && !defined(__clang__)
#define SR_SILENT_BEGIN \
  _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wstringop-overflow\"")
#define SR_SILENT_END _Pragma("GCC diagnostic pop")
#else
#define SR_SILENT_BEGIN
#define SR_SILENT_END
#endif

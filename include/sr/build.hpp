// What says whether a definition of sr is compiled once, in libsr, or in the program.
#pragma once

// The public headers declare, and libsr holds the definitions. A program without the library defines
// SR_HEADER_ONLY before it includes <sr/sr.hpp> in one file, which then holds all definitions and operators:
// `used` keeps those that the file itself does not call. Several files may define it; that costs only time.
#ifdef SR_HEADER_ONLY
#define SR_INLINE [[gnu::used]] inline
#else
#define SR_INLINE
#endif

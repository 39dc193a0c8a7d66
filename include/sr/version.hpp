// The version of sr that a program was compiled with.
#pragma once

#define SR_VERSION "0.1.0"
// major * 10000 + minor * 100 + patch, for the preprocessor.
#define SR_VERSION_NUMBER 100

/* Vectors of FMIDENT_LANES numbers, which the C compiler maps to the registers that a processor
 * has. Functions with `CLONES` are compiled for several generations of processors. */
#ifndef FMIDENT_LANES_H
#define FMIDENT_LANES_H

#include <string.h>

#include "model_sizes.h"

typedef double vec __attribute__((vector_size(8 * FMIDENT_LANES)));
#define ZERO ((vec){0.0})
#define GET(from) ({ vec v_; memcpy(&v_, from, sizeof v_); v_; })
#define PUT(to, value) \
  do { const vec to_ = (value); memcpy(to, &to_, sizeof to_); } while (0)
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) && \
    __GNUC__ >= 12
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES
#endif

#endif

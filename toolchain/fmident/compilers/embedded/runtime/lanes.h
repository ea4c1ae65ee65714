/* Vectors of FMIDENT_LANES numbers, which the C compiler maps to the registers that a processor
 * has. Functions with `CLONES` are compiled for several generations of processors. */
#ifndef FMIDENT_LANES_H
#define FMIDENT_LANES_H

#include <string.h>

enum { FMIDENT_LANES = 8 };

#define GET_AS(vec, from) ({ vec v_; memcpy(&v_, from, sizeof v_); v_; })
#define PUT_AS(vec, to, value) \
  do { const vec to_ = (value); memcpy(to, &to_, sizeof to_); } while (0)
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) && \
    __GNUC__ >= 12
#define FMIDENT_GENERATIONS 1
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FMIDENT_GENERATIONS 0
#define CLONES
#endif

#endif

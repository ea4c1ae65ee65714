/* Numbers side by side in vector registers: one lane for each simulation of a batch. */
#ifndef FMIDENT_REGISTERS_H
#define FMIDENT_REGISTERS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 8 };
typedef double vec __attribute__((vector_size(8 * LANES)));
typedef int64_t mask __attribute__((vector_size(8 * LANES)));

#define UNUSED __attribute__((unused))
#define EACH_LANE for (int i_ = 0; i_ < LANES; ++i_)
#define ALL(value) ((value) - (vec){0.0}) /* -0 remains -0 */
#define READ(from, element) (*(const vec *)((from) + LANES * (element)))
#define WRITE(to, element, value) (*(vec *)((to) + LANES * (element)) = (value))
#define TRUTH(test) ((vec)((mask)ALL(1.0) & (test)))
#define WHERE(test, value) ((vec)((test) & (mask)(value)))
#define SELECT(test, a, b) ((vec)(((test) & (mask)(a)) | (~(test) & (mask)(b))))
#define MAGNITUDE(value) ((vec)((mask)(value) & ~(mask)ALL(-0.0)))

/* What C has no operators for, as instructions: the compiler's header of all of them takes longer to
 * read than everything else takes to compile. */
typedef unsigned char Bits; /* one for each lane */

static inline vec root(vec value) {
  vec result;
  __asm__("vsqrtpd %1, %0" : "=v"(result) : "v"(value));
  return result;
}
#define ROOT(value) root(value)

/* c + a * b and c - a * b, rounded once */
static inline vec fused_add(vec c, vec a, vec b) {
  __asm__("vfmadd231pd %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
  return c;
}

static inline vec fused_subtract(vec c, vec a, vec b) {
  __asm__("vfnmadd231pd %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
  return c;
}

static inline Bits are_zero(vec value) {
  Bits result;
  __asm__("vcmppd $0, %2, %1, %0" : "=k"(result) : "v"(value), "v"((vec){0.0}));
  return result;
}

/* Where both have at least the size of a number; not where one is not a number. */
static inline Bits have_size(vec a, vec b, double least) {
  vec lesser;
  Bits result;
  __asm__("vrangepd $10, %2, %1, %0" : "=v"(lesser) : "v"(a), "v"(b));
  __asm__("vcmppd $30, %2, %1, %0" : "=k"(result) : "v"(lesser), "v"(ALL(least)));
  return result;
}

/* Infinite or not a number. */
static inline Bits not_numbers(vec value) {
  Bits result;
  __asm__("vfpclasspd $0x99, %1, %0" : "=k"(result) : "v"(value));
  return result;
}

static inline int any(mask test) {
  Bits result;
  __asm__("vptestmq %1, %1, %0" : "=k"(result) : "v"(test));
  return result != 0;
}

/* 1/b, for quotients by it; not a number where these are not exact. */
static inline vec reciprocal(vec b) {
  const vec size = MAGNITUDE(b), y = 1.0 / b;
  return SELECT((size > 0x1p-900) & (size < 0x1p900), y, y - y + NAN);
}

/* a/b, rounded as the processor's division does (P. Markstein, Computation of elementary functions
 * on the IBM RISC System/6000 processor, 1990, theorem 8.6), in far less time where several
 * numbers are divided by the same one. `y` is its reciprocal. */
static inline vec quotient(vec a, vec b, vec y) {
  const vec q = a * y;
  const vec closer = fused_add(q, fused_subtract(a, b, q), y);
  const vec found = fused_add(closer, fused_subtract(a, b, closer), y);
  const Bits zero = are_zero(a);
  if (__builtin_expect((Bits)(zero | have_size(a, q, 0x1p-900)) != 255 || not_numbers(q), 0)) {
    return a / b;
  }
  return zero ? SELECT(a == 0.0, q, found) : found;
}

#define REAL vec
#define BITS mask
#define FUNCTION(name) lanes_##name
#define AS_BITS(value) ((mask)(value))
#define AS_REAL(value) ((vec)(value))
#include "series.h"
#undef REAL
#undef BITS
#undef FUNCTION
#undef AS_BITS
#undef AS_REAL

#endif

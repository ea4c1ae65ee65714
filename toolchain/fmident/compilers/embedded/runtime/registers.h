/* Numbers side by side in vector registers: one lane for each simulation of a batch. */
#ifndef FMIDENT_REGISTERS_H
#define FMIDENT_REGISTERS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include <immintrin.h>

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
#define ROOT(value) ((vec)_mm512_sqrt_pd((__m512d)(value)))

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
  const __m512d a_ = (__m512d)a, b_ = (__m512d)b, y_ = (__m512d)y, q_ = (__m512d)q;
  const __m512d closer = _mm512_fmadd_pd(_mm512_fnmadd_pd(b_, q_, a_), y_, q_);
  const __m512d found = _mm512_fmadd_pd(_mm512_fnmadd_pd(b_, closer, a_), y_, closer);
  const __mmask8 zero = _mm512_cmp_pd_mask(a_, _mm512_setzero_pd(), _CMP_EQ_OQ);
  const __mmask8 large = _mm512_cmp_pd_mask(_mm512_range_pd(a_, q_, 0xa), /* the lesser size */
                                            _mm512_set1_pd(0x1p-900), _CMP_GT_OQ);
  const __mmask8 lost = _mm512_fpclass_pd_mask(q_, 0x99); /* infinite, not a number */
  if (__builtin_expect((unsigned char)(zero | large) != 255 || lost, 0)) return a / b;
  return (vec)_mm512_mask_mov_pd(found, zero, q_);
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

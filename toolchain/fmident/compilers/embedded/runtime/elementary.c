#include "elementary.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline int64_t bits_of(double x) {
  int64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline double with_bits(int64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

#define REAL double
#define BITS int64_t
#define FUNCTION(name) one_##name
#define ALL(value) (value)
#define AS_BITS(value) bits_of(value)
#define AS_REAL(value) with_bits(value)
#define SELECT(test, a, b) ((test) ? (a) : (b))
#include "series.h"

double fmident_exp(double x) { return one_exp(x); }

double fmident_tanh(double x) { return one_tanh(x); }

double fmident_ln(double x) { return one_ln(x); }

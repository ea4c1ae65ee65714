/* Nothing but sums, products, quotients and shifts of bits: the same on every machine. */
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

/* exp(r) - 1 for |r| <= ln(2)/2: its series, of which 0.35^14/14! = 5e-18 is left. */
static inline double near_zero(double r) {
  const double square = r * r, fourth = square * square;
  const double low = (1.0 / 2 + r * (1.0 / 6)) + square * (1.0 / 24 + r * (1.0 / 120));
  const double middle =
      (1.0 / 720 + r * (1.0 / 5040)) + square * (1.0 / 40320 + r * (1.0 / 362880));
  const double high = (1.0 / 3628800 + r * (1.0 / 39916800)) +
                      square * (1.0 / 479001600 + r * (1.0 / 6227020800));
  return r + square * (low + fourth * (middle + fourth * high));
}

/* The nearest whole number, |x| < 2^51. */
static inline double nearest(double x) { return (x + 0x1.8p52) - 0x1.8p52; }

/* 2^k for a whole number, -1022 <= k <= 1023. */
static inline double two_to(double k) { return with_bits(bits_of(k + (0x1.8p52 + 1023.0)) << 52); }

/* x - k*ln(2); the first part of ln(2) has 32 bits, so that its multiples are exact. */
static inline double reduced(double x, double k) {
  return (x - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;
}

double fmident_exp(double x) {
  double k, half;
  x = x > 710.0 ? 710.0 : x;
  x = x < -746.0 ? -746.0 : x;
  k = nearest(x * 0x1.71547652b82fep+0);
  half = nearest(0.5 * k);
  return (1.0 + near_zero(reduced(x, k))) * two_to(half) * two_to(k - half);
}

/* (exp(2|x|) - 1)/(exp(2|x|) + 1) with the sign of x. */
double fmident_tanh(double x) {
  const int64_t sign = bits_of(x) & bits_of(-0.0);
  double twice = with_bits(bits_of(x + x) ^ sign), k, scale, above;
  twice = twice > 44.0 ? 44.0 : twice;
  k = nearest(twice * 0x1.71547652b82fep+0);
  scale = two_to(k);
  above = scale * near_zero(reduced(twice, k)) + (scale - 1.0);
  return with_bits(bits_of(above / (above + 2.0)) ^ sign);
}

/* ln(x) for 0 < x < infinity, not for subnormal numbers, to 1e-15 or so: x = 2^k*m, and the
 * series of the inverse hyperbolic tangent of (m - 1)/(m + 1). */
double fmident_ln(double x) {
  const int64_t bits = bits_of(x);
  const int64_t from = bits - bits_of(0x1.6a09e667f3bcdp-1); /* sqrt(1/2) */
  const int64_t power = from & bits_of(-INFINITY);             /* its upper 12 bits */
  const double m = with_bits(bits - power), s = (m - 1.0) / (m + 1.0);
  const double q = s * s, q2 = q * q, q4 = q2 * q2;
  const double low = (1.0 / 3 + q * (1.0 / 5)) + q2 * (1.0 / 7 + q * (1.0 / 9));
  const double high = (1.0 / 11 + q * (1.0 / 13)) + q2 * (1.0 / 15 + q * (1.0 / 17));
  /* As a number of 12 bits and a sign: 2^52 + 2^11 + k, from bits that are k*2^52. */
  const double k = with_bits((power >> 52) + bits_of(0x1.8p52)) - 0x1.8p52;
  return (2.0 * s + 2.0 * s * (q * (low + q4 * (high + q4 * (1.0 / 19))))) + k * 0x1.62e42fefa39efp-1;
}

/* Elementary functions that give the same bits for one number as for several side by side, and on
 * every machine: nothing but sums, products, quotients and shifts of bits.
 *
 * Included once for each type. `REAL` and `BITS` are the types, of numbers and of their bits;
 * `FUNCTION(name)` is what a function is called; `ALL(value)` is one number as a `REAL`;
 * `SELECT(test, a, b)` chooses. */

/* exp(r) - 1 for |r| <= ln(2)/2: its series, of which 0.35^14/14! = 5e-18 is left. */
static inline REAL FUNCTION(near_zero)(REAL r) {
  const REAL square = r * r, fourth = square * square;
  const REAL low = (1.0 / 2 + r * (1.0 / 6)) + square * (1.0 / 24 + r * (1.0 / 120));
  const REAL middle =
      (1.0 / 720 + r * (1.0 / 5040)) + square * (1.0 / 40320 + r * (1.0 / 362880));
  const REAL high = (1.0 / 3628800 + r * (1.0 / 39916800)) +
                    square * (1.0 / 479001600 + r * (1.0 / 6227020800));
  return r + square * (low + fourth * (middle + fourth * high));
}

/* The nearest whole number, |x| < 2^51. */
static inline REAL FUNCTION(nearest)(REAL x) { return (x + 0x1.8p52) - 0x1.8p52; }

/* 2^k for a whole number, -1022 <= k <= 1023. */
static inline REAL FUNCTION(two_to)(REAL k) {
  return AS_REAL(AS_BITS(k + (0x1.8p52 + 1023.0)) << 52);
}

/* x - k*ln(2); the first part of ln(2) has 32 bits, so that its multiples are exact. */
static inline REAL FUNCTION(reduced)(REAL x, REAL k) {
  return (x - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;
}

static inline REAL FUNCTION(exp)(REAL x) {
  REAL k, half;
  x = SELECT(x > ALL(710.0), ALL(710.0), x);
  x = SELECT(x < ALL(-746.0), ALL(-746.0), x);
  k = FUNCTION(nearest)(x * 0x1.71547652b82fep+0);
  half = FUNCTION(nearest)(0.5 * k);
  return (1.0 + FUNCTION(near_zero)(FUNCTION(reduced)(x, k))) * FUNCTION(two_to)(half) *
         FUNCTION(two_to)(k - half);
}

/* (exp(2|x|) - 1)/(exp(2|x|) + 1) with the sign of x. */
static inline REAL FUNCTION(tanh)(REAL x) {
  const BITS sign = AS_BITS(x) & AS_BITS(ALL(-0.0));
  REAL twice = AS_REAL(AS_BITS(x + x) ^ sign), k, scale, above;
  twice = SELECT(twice > ALL(44.0), ALL(44.0), twice);
  k = FUNCTION(nearest)(twice * 0x1.71547652b82fep+0);
  scale = FUNCTION(two_to)(k);
  above = scale * FUNCTION(near_zero)(FUNCTION(reduced)(twice, k)) + (scale - 1.0);
  return AS_REAL(AS_BITS(above / (above + 2.0)) ^ sign);
}

/* ln(x) for 0 < x < infinity, not for subnormal numbers, to 1e-15 or so: x = 2^k*m, and the
 * series of the inverse hyperbolic tangent of (m - 1)/(m + 1). */
static inline REAL FUNCTION(ln)(REAL x) {
  const BITS bits = AS_BITS(x);
  const BITS from = bits - AS_BITS(ALL(0x1.6a09e667f3bcdp-1)); /* sqrt(1/2) */
  const BITS power = from & AS_BITS(ALL(-INFINITY));        /* its upper 12 bits */
  const REAL m = AS_REAL(bits - power), s = (m - 1.0) / (m + 1.0);
  const REAL q = s * s, q2 = q * q, q4 = q2 * q2;
  const REAL low = (1.0 / 3 + q * (1.0 / 5)) + q2 * (1.0 / 7 + q * (1.0 / 9));
  const REAL high = (1.0 / 11 + q * (1.0 / 13)) + q2 * (1.0 / 15 + q * (1.0 / 17));
  /* As a number of 12 bits and a sign: 2^52 + 2^11 + k, from bits that are k*2^52. */
  const REAL k =
      AS_REAL(((power >> 52) + AS_BITS(ALL(0x1.8p52)))) - 0x1.8p52;
  return (2.0 * s + 2.0 * s * (q * (low + q4 * (high + q4 * (1.0 / 19))))) + k * 0x1.62e42fefa39efp-1;
}

#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#pragma GCC optimize("O3") /* vectors for the loops over lanes; others have them anyway */
#endif

#include "columns.h"

#if FMIDENT_STATES

#include <math.h>

#include "lanes.h"
#include "linear.h"

#define N ((int)FMIDENT_NX)
enum { LANES = FMIDENT_LANES };
typedef double vec __attribute__((vector_size(8 * FMIDENT_LANES)));
#define ZERO ((vec){0.0})
#define GET(from) GET_AS(vec, from)
#define PUT(to, value) PUT_AS(vec, to, value)

CLONES void fmident_combine(double *to, const double *from, const double *const *terms,
                            const double *factors, int count, size_t length) {
  for (size_t i = 0; i < length; i += LANES) {
    vec sum = from ? GET(from + i) : ZERO;
    for (int k = 0; k < count; ++k) sum += factors[k] * GET(terms[k] + i);
    PUT(to + i, sum);
  }
}

CLONES double fmident_worst(const double *errors, const double *next, const double *sizes,
                            const double *floors, size_t length) {
  double worst[LANES] = {0.0}, sum[LANES] = {0.0}, most = 0.0, all = 0.0;
  for (size_t i = 0; i < length; i += LANES) {
    for (int lane = 0; lane < LANES; ++lane) {
      const size_t k = i + (size_t)lane;
      const double after = fabs(next[k]), before = sizes[k], least = floors[k];
      const double larger = after > before ? after : before;
      const double error = fabs(errors[k]) / (larger > least ? larger : least);
      worst[lane] = error > worst[lane] ? error : worst[lane];
      sum[lane] += error;
    }
  }
  for (int lane = 0; lane < LANES; ++lane) {
    most = most > worst[lane] ? most : worst[lane];
    all += sum[lane];
  }
  return all <= 1e300 ? most : INFINITY; /* not a number is not larger than anything */
}

CLONES void fmident_advance(double *states, double *sizes, const double *next, size_t length) {
  for (size_t i = 0; i < length; i += LANES) {
    for (int lane = 0; lane < LANES; ++lane) {
      const size_t k = i + (size_t)lane;
      const double size = fabs(next[k]);
      states[k] = next[k];
      sizes[k] = size > sizes[k] ? size : sizes[k];
    }
  }
}

CLONES double fmident_column_radius(const double *slope, const double *slope_next,
                                    const double *at, const double *at_next, size_t count,
                                    size_t stride) {
  double radius = 0.0;
  for (size_t begin = 0; begin < stride; begin += LANES) {
    vec slopes = ZERO, states = ZERO;
    for (int i = 0; i < N; ++i) {
      const size_t k = (size_t)i * stride + begin;
      const double scale = 1.0 / fabs(fmident_nominals[i]);
      const vec dk = scale * (GET(slope_next + k) - GET(slope + k));
      const vec dx = scale * (GET(at_next + k) - GET(at + k));
      slopes += dk * dk;
      states += dx * dx;
    }
    for (int lane = 0; lane < LANES; ++lane) {
      if (begin + (size_t)lane < count && states[lane] > 0.0) radius = fmax(radius, slopes[lane] / states[lane]);
    }
  }
  return sqrt(radius);
}

CLONES void fmident_add_product(double *sum, const double *elements, const Elements *places,
                                const double *columns, size_t stride) {
  for (size_t begin = 0; begin < stride; begin += LANES) {
    for (int column = 0; column < N; ++column) {
      const vec value = GET(columns + (size_t)column * stride + begin);
      for (int e = places->starts[column]; e < places->starts[column + 1]; ++e) {
        double *to = sum + (size_t)places->rows[e] * stride + begin;
        PUT(to, GET(to) + elements[e] * value);
      }
    }
  }
}

CLONES int fmident_factorise(double *A, int *pivots, int n) {
  if (n <= SMALL_MATRIX) return factorise(A, pivots, n);
  for (int k = 0; k < n; ++k) {
    double *const column = A + (size_t)n * (size_t)k;
    int pivot = k, bottom = k; /* below it there are zeros */
    for (int i = k + 1; i < n; ++i) {
      if (fabs(column[i]) > fabs(column[pivot])) pivot = i;
      if (column[i] != 0.0) bottom = i;
    }
    pivots[k] = pivot;
    if (!(fabs(column[pivot]) > 0.0)) return 1;
    for (int j = 0; pivot != k && j < n; ++j) {
      double *const other = A + (size_t)n * (size_t)j;
      const double value = other[k];
      other[k] = other[pivot];
      other[pivot] = value;
    }
    for (int i = k + 1; i <= bottom; ++i) column[i] /= column[k];
    for (int j = k + 1; j < n; ++j) {
      double *const other = A + (size_t)n * (size_t)j;
      const double factor = other[k];
      if (factor == 0.0) continue;
      for (int i = k + 1; i <= bottom; ++i) other[i] -= column[i] * factor;
    }
  }
  return 0;
}

CLONES void fmident_solve(const double *A, const int *pivots, int n, const int *rows, double *b,
                          size_t stride) {
  int top[n], bottom[n]; /* above and below, a column has zeros */
  for (int k = 0; k < n; ++k) {
    const double *const column = A + (size_t)n * (size_t)k;
    top[k] = 0;
    bottom[k] = n - 1;
    if (n <= SMALL_MATRIX) continue;
    while (column[top[k]] == 0.0) ++top[k];
    while (column[bottom[k]] == 0.0) --bottom[k];
  }
  for (size_t begin = 0; begin < stride; begin += LANES) {
    double *const first = b + begin;
#define ROW(i) (first + (size_t)(rows ? rows[i] : (i)) * stride)
    for (int k = 0; k < n; ++k) {
      const vec value = GET(ROW(pivots[k]));
      if (pivots[k] == k) continue;
      PUT(ROW(pivots[k]), GET(ROW(k)));
      PUT(ROW(k), value);
    }
    for (int k = 0; k < n; ++k) {
      const double *const column = A + (size_t)n * (size_t)k;
      const vec value = GET(ROW(k));
      for (int i = k + 1; i <= bottom[k]; ++i) PUT(ROW(i), GET(ROW(i)) - column[i] * value);
    }
    for (int k = n - 1; k >= 0; --k) {
      const double *const column = A + (size_t)n * (size_t)k;
      const vec value = GET(ROW(k)) * (1.0 / column[k]);
      PUT(ROW(k), value);
      for (int i = top[k]; i < k; ++i) PUT(ROW(i), GET(ROW(i)) - column[i] * value);
    }
#undef ROW
  }
}

#else
typedef int fmident_no_columns; /* an empty translation unit is not valid C */
#endif

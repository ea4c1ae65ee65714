/* Linear equations with a full matrix, column-major. */
#ifndef FMIDENT_LINEAR_H
#define FMIDENT_LINEAR_H

#include <math.h>

/* Gaussian elimination with partial pivoting; 0 unless the matrix is singular. */
static inline int factorise(double *A, int *pivots, int n) {
  for (int k = 0; k < n; ++k) {
    int pivot = k;
    for (int i = k + 1; i < n; ++i) {
      if (fabs(A[i + n * k]) > fabs(A[pivot + n * k])) pivot = i;
    }
    pivots[k] = pivot;
    if (!(fabs(A[pivot + n * k]) > 0.0)) return 1;
    if (pivot != k) {
      for (int j = 0; j < n; ++j) {
        const double value = A[k + n * j];
        A[k + n * j] = A[pivot + n * j];
        A[pivot + n * j] = value;
      }
    }
    for (int i = k + 1; i < n; ++i) A[i + n * k] /= A[k + n * k];
    for (int j = k + 1; j < n; ++j) {
      const double factor = A[k + n * j];
      if (factor == 0.0) continue;
      for (int i = k + 1; i < n; ++i) A[i + n * j] -= A[i + n * k] * factor;
    }
  }
  return 0;
}

/* Replace `count` right-hand sides, which are row-major, by the solutions. */
static inline void solve(const double *A, const int *pivots, int n, double *b, int count) {
  for (int k = 0; k < n; ++k) {
    if (pivots[k] == k) continue;
    for (int j = 0; j < count; ++j) {
      const double value = b[pivots[k] * count + j];
      b[pivots[k] * count + j] = b[k * count + j];
      b[k * count + j] = value;
    }
  }
  for (int k = 0; k < n; ++k) {
    for (int i = k + 1; i < n; ++i) {
      const double factor = A[i + n * k];
      if (factor == 0.0) continue;
      for (int j = 0; j < count; ++j) b[i * count + j] -= factor * b[k * count + j];
    }
  }
  for (int k = n - 1; k >= 0; --k) {
    for (int j = 0; j < count; ++j) b[k * count + j] /= A[k + n * k];
    for (int i = 0; i < k; ++i) {
      const double factor = A[i + n * k];
      if (factor == 0.0) continue;
      for (int j = 0; j < count; ++j) b[i * count + j] -= factor * b[k * count + j];
    }
  }
}

#endif

/* Arithmetic of matrices with a row for each state and a column for each known. `length` is the
 * number of their elements, `stride` that of a row: a multiple of the lanes. */
#ifndef FMIDENT_COLUMNS_H
#define FMIDENT_COLUMNS_H

#include <stddef.h>

#include "model.h"

/* to = from + sum of factors * terms; from may be NULL, for 0. */
void fmident_combine(double *to, const double *from, const double *const *terms,
                     const double *factors, int count, size_t length);

/* The largest of errors over the largest of |next|, `sizes` and `floors`; infinite if one is not
 * a number. */
double fmident_worst(const double *errors, const double *next, const double *sizes,
                     const double *floors, size_t length);

/* states = next, sizes = larger of sizes and |next| */
void fmident_advance(double *states, double *sizes, const double *next, size_t length);

/* The spectral radius of what takes the difference of two matrices to that of their slopes, in
 * that of `count` columns that says most; rows are weighed by 1 over the nominal values. */
double fmident_column_radius(const double *slope, const double *slope_next, const double *at,
                             const double *at_next, size_t count, size_t stride);

/* sum += matrix * columns, by the elements of the matrix */
void fmident_add_product(double *sum, const double *elements, const Elements *places,
                         const double *columns, size_t stride);

/* As in linear.h, for large matrices, which may have many zeros, and many right-hand sides: that of
 * equation i begins at row `rows[i]`, or i where `rows` is NULL. */
enum { SMALL_MATRIX = 64 }; /* not searched for zeros up to here */
int fmident_factorise(double *A, int *pivots, int n);
void fmident_solve(const double *A, const int *pivots, int n, const int *rows, double *b,
                   size_t stride);

#endif

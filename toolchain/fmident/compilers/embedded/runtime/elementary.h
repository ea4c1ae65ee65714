/* Elementary functions that give the same bits on every machine. */
#ifndef FMIDENT_ELEMENTARY_H
#define FMIDENT_ELEMENTARY_H

double fmident_exp(double x);
double fmident_tanh(double x);
double fmident_ln(double x); /* 0 < x < infinity */

#endif

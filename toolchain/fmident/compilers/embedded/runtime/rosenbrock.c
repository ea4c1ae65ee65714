/* A step of Rodas5P, a Rosenbrock method of order 5 with an embedded one of order 4, for stiff
 * right-hand sides: stiffly accurate, A-stable, with the analytic Jacobian (G. Steinebach,
 * Construction of Rosenbrock-Wanner method Rodas5P, BIT Numerical Mathematics 63, 2023).
 *
 * Stage i solves (1/(gamma h) - J) U_i = f(t + c_i h, x + sum a_ij U_j) + sum C_ij/h U_j + h d_i f_t
 * (Hairer and Wanner, Solving ODEs II, section IV.7). */
#include "integrator.h"
#include "linear.h"

#if FMIDENT_STATES

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = FMIDENT_NX, STAGES = 8 };

static const double g = 0.21193756319429014;
static const double c[STAGES] = {
    0.0, 0.6358126895828704, 0.4095798393397535, 0.9769306725060716, 0.4288403609558664,
    1.0, 1.0,                1.0};
static const double d[STAGES] = {0.21193756319429014, -0.42387512638858027, -0.3384627126235924,
                                 1.8046452872882734,  2.325825639765069,    0.0,
                                 0.0,                 0.0};
/* The last three stages go on from the sixth, by U_6 and U_7. */
static const double a[6][5] = {
    {0.0},
    {3.0},
    {2.849394379747939, 0.45842242204463923},
    {-6.954028509809101, 2.489845061869568, -10.358996098473584},
    {2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641},
    {-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256,
     0.030198172008377946}};
static const double C[STAGES][STAGES - 1] = {
    {0.0},
    {-14.155112264123755},
    {-17.97296035885952, -2.859693295451294},
    {147.12150275711716, -1.41221402718213, 71.68940251302358},
    {165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306},
    {24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125,
     -0.6610691825249471},
    {30.91273214028599, -3.1208243349937974, 77.79954646070892, 34.28646028294783,
     -19.097331116725623, -28.087943162872662},
    {37.80277123390563, -3.2571969029072276, 112.26918849496327, 66.9347231244047,
     -40.06618937091002, -54.66780262877968, -9.48861652309627}};

/* Between the ends of a step, of order 4: 1, t and t^2 times these. */
static const double h[3][STAGES] = {
    {25.948786856663858, -2.5579724845846235, 10.433815404888879, -2.3679251022685204,
     0.524948541321073, 1.1241088310450404, 0.4272876194431874, -0.17202221070155493},
    {-9.91568850695171, -0.9689944594115154, 3.0438037242978453, -24.495224566215796,
     20.176138334709044, 15.98066361424651, -6.789040303419874, -6.710236069923372},
    {11.419903575922262, 2.8879645146136994, 72.92137995996029, 80.12511834622643,
     -52.072871366152654, -59.78993625266729, -0.15582684282751913, 4.883087185713722}};

struct Rosenbrock {
  double jacobian[N * N]; /* column-major, as the next */
  double matrix[N * N];   /* its factors L and U */
  int pivots[N];
  double in_time[N]; /* df/dt, with the slopes of the inputs */
  double u[STAGES][N];
  double at[N], slope[N];
};

Rosenbrock *fmident_rosenbrock_new(void) { return calloc(1, sizeof(Rosenbrock)); }

/* Of the spectrum, from the sum of the eigenvalues and that of their squares: right where one or
 * a pair of them is far larger than the others, and whatever the units of the states are. */
static double radius_of(const Rosenbrock *r) {
  const double *J = r->jacobian;
  double sum = 0.0, squares = 0.0;
  for (int j = 0; j < N; ++j) {
    sum += J[j + N * j];
    for (int i = 0; i < N; ++i) squares += J[i + N * j] * J[j + N * i];
  }
  return fmax(fabs(sum), sqrt(fabs(squares)));
}

/* Where a derivative is not finite, as that of a square root at 0, none is taken: steps are
 * explicit there, and as short as their errors ask for. */
static void linearise(Instance *m, Rosenbrock *r, Path *s) {
  if (fmident_jacobian_at(m, s->t, s->x, r->jacobian) ||
      fmident_time_derivative_at(m, s->t, s->x, r->in_time)) {
    memset(r->jacobian, 0, sizeof r->jacobian);
    memset(r->in_time, 0, sizeof r->in_time);
  }
  s->linearised = 1;
}

double fmident_rosenbrock_radius(Instance *m, Rosenbrock *r, Path *s) {
  if (!s->linearised) linearise(m, r, s);
  return radius_of(r);
}

int fmident_rosenbrock_step(Instance *m, Rosenbrock *r, Path *s, double size) {
  const double per_size = 1.0 / size, diagonal = per_size / g;
  if (!s->linearised) linearise(m, r, s);
  for (int i = 0; i < N * N; ++i) r->matrix[i] = -r->jacobian[i];
  for (int i = 0; i < N; ++i) r->matrix[i + N * i] += diagonal;
  if (factorise(r->matrix, r->pivots, N)) {
    snprintf(m->trouble, sizeof m->trouble, "the matrix of an implicit step is singular at %.17g",
             m->now.t + s->t);
    return 1;
  }
  memcpy(r->at, s->x, sizeof r->at);
  for (int stage = 0; stage < STAGES; ++stage) {
    double *u = r->u[stage];
    const double *slope = s->slope;
    if (stage > 5) {
      for (int i = 0; i < N; ++i) r->at[i] += r->u[stage - 1][i];
    } else if (stage > 0) {
      for (int i = 0; i < N; ++i) {
        double sum = s->x[i];
        for (int j = 0; j < stage; ++j) sum += a[stage][j] * r->u[j][i];
        r->at[i] = sum;
      }
    }
    if (stage > 0) {
      if (fmident_rhs_at(m, s->t + c[stage] * size, r->at, r->slope)) return 1;
      slope = r->slope;
    }
    for (int i = 0; i < N; ++i) {
      double sum = 0.0;
      for (int j = 0; j < stage; ++j) sum += C[stage][j] * r->u[j][i];
      u[i] = slope[i] + per_size * sum + size * d[stage] * r->in_time[i];
    }
    solve(r->matrix, r->pivots, N, u, 1);
  }
  for (int i = 0; i < N; ++i) {
    s->error[i] = r->u[STAGES - 1][i];
    s->next[i] = r->at[i] + s->error[i];
  }
  s->radius = radius_of(r);
  return 0;
}

void fmident_rosenbrock_between(const Rosenbrock *r, const Path *s, double fraction, double *x) {
  const double rest = 1.0 - fraction;
  for (int i = 0; i < N; ++i) {
    double bend = 0.0;
    for (int power = 2; power >= 0; --power) {
      double sum = 0.0;
      for (int j = 0; j < STAGES; ++j) sum += h[power][j] * r->u[j][i];
      bend = bend * fraction + sum;
    }
    x[i] = rest * s->x[i] + fraction * (s->next[i] + rest * bend);
  }
}

#else
typedef int fmident_no_rosenbrock; /* an empty translation unit is not valid C */
#endif

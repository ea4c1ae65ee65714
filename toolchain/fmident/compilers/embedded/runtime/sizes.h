/* Sizes of a model: constants in files that are compiled for each model, and what this model has in
 * files that are compiled once for all. FMIDENT_STATES, FMIDENT_EVENTS, FMIDENT_ITERATIONS (of
 * algebraic loops) and FMIDENT_CONSTRAINED of model_kind.h say whether there are any: what there is of the runtime depends on it. */
#ifndef FMIDENT_SIZES_H
#define FMIDENT_SIZES_H

typedef struct {
  unsigned nx, nu, ny, np, nc, nw, na; /* states, inputs, outputs, parameters, ... as in model.h */
  unsigned nh, nr, ns, nd, ndv;        /* of events */
  unsigned nz, nk;                     /* of loops */
  unsigned modes, jacobian_elements, calculated_elements, switched_elements;
  unsigned sz_arg, sz_res, sz_iw, sz_w;
  double cost_rhs, cost_jacobian;
} Sizes;
extern const Sizes fmident_sizes;

#include "model_kind.h"
#ifdef FMIDENT_ANY_MODEL
#define FMIDENT_NX fmident_sizes.nx
#define FMIDENT_NU fmident_sizes.nu
#define FMIDENT_NY fmident_sizes.ny
#define FMIDENT_NP fmident_sizes.np
#define FMIDENT_NC fmident_sizes.nc
#define FMIDENT_NW fmident_sizes.nw
#define FMIDENT_NA fmident_sizes.na
#define FMIDENT_NH fmident_sizes.nh
#define FMIDENT_NR fmident_sizes.nr
#define FMIDENT_NS fmident_sizes.ns
#define FMIDENT_ND fmident_sizes.nd
#define FMIDENT_NDV fmident_sizes.ndv
#define FMIDENT_NZ fmident_sizes.nz
#define FMIDENT_NK fmident_sizes.nk
#define FMIDENT_MODES fmident_sizes.modes
#define FMIDENT_JACOBIAN_ELEMENTS fmident_sizes.jacobian_elements
#define FMIDENT_CALCULATED_ELEMENTS fmident_sizes.calculated_elements
#define FMIDENT_SWITCHED_ELEMENTS fmident_sizes.switched_elements
#define FMIDENT_SZ_ARG fmident_sizes.sz_arg
#define FMIDENT_SZ_RES fmident_sizes.sz_res
#define FMIDENT_SZ_IW fmident_sizes.sz_iw
#define FMIDENT_SZ_W fmident_sizes.sz_w
#define FMIDENT_COST_RHS fmident_sizes.cost_rhs
#define FMIDENT_COST_JACOBIAN fmident_sizes.cost_jacobian
#else
#include "model_sizes.h"
#endif

#endif

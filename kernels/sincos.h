/*
 * Sine and cosine together, within one unit in the last place for |x| < 1e6, from additions and multiplications
 * alone, so that every IEEE 754 build (compiled without contraction) returns the same bits.
 *
 * Reduction: Cody and Waite, pi/2 in parts of 33 bits, so that the products with |k| < 2^20 are exact. Polynomials:
 * the minimax ones of fdlibm's __kernel_sin and __kernel_cos, which take the reduced angle as a sum hi + lo.
 */
#ifndef KINEPACK_SINCOS_H
#define KINEPACK_SINCOS_H

#include <stdint.h>

#define KP_ANGLE_LIMIT 1e6

typedef union {
    double f;
    uint64_t u;
} kp_double_bits;

static inline double kp_kernel_sin(double x, double y)
{
    double z = x * x, v = z * x;
    double r = 8.33333333332248946124e-03 +
               z * (-1.98412698298579493134e-04 +
                    z * (2.75573137070700676789e-06 +
                         z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)));
    return x - ((z * (0.5 * y - v * r) - y) - v * -1.66666666666666324348e-01);
}

static inline double kp_kernel_cos(double x, double y)
{
    double z = x * x, w = z * z;
    double r = z * (4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 + z * 2.48015872894767294178e-05)) +
               w * w * (-2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11));
    double half = 0.5 * z, one_less = 1.0 - half;
    return one_less + (((1.0 - one_less) - half) + (z * r - x * y));
}

/* No branches: the compiler turns a loop over this into vector code. */
static inline void kp_sincos_one(double x, double *sine, double *cosine)
{
    const double round_by = 6755399441055744.0; /* 1.5 * 2^52: adding it rounds to an integer in the low bits */
    kp_double_bits turns, s, c, swapped_s, swapped_c;
    turns.f = x * 6.36619772367581382433e-01 + round_by;
    double k = turns.f - round_by;
    double coarse = x - k * 1.57079632673412561417e+00;
    double middle = k * 6.07710050630396597660e-11;
    double reduced = coarse - middle;
    double error = ((coarse - reduced) - middle) - k * 2.02226624879595063154e-21;
    double hi = reduced + error, lo = (reduced - hi) + error;
    s.f = kp_kernel_sin(hi, lo);
    c.f = kp_kernel_cos(hi, lo);
    uint64_t odd = 0u - (turns.u & 1u);
    swapped_s.u = (s.u & ~odd) | (c.u & odd);
    swapped_c.u = (c.u & ~odd) | (s.u & odd);
    swapped_s.u ^= (turns.u & 2u) << 62;
    swapped_c.u ^= ((turns.u + 1u) & 2u) << 62;
    double poison = x < KP_ANGLE_LIMIT && x > -KP_ANGLE_LIMIT ? 0.0 : (double)__builtin_nan("");
    *sine = swapped_s.f + poison;
    *cosine = swapped_c.f + poison;
}

#endif

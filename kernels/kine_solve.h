/*
 * Least squares in fixed point for the lossless mode of `kine`: Cholesky's factor of the normal equations, scaled by
 * powers of two so that no entry is above one. By Cauchy and Schwarz no partial sum is then above one either, whatever
 * the data.
 */
#ifndef KINEPACK_KINE_SOLVE_H
#define KINEPACK_KINE_SOLVE_H

#include "range_coder.h"

#define KP_SOLVE_MOST 86u          /* unknowns */
#define KP_SOLVE_ONE 30u           /* binary digits of the factor */
#define KP_SOLVE_WEIGHT_BITS 22u   /* and of a weight between scaled numbers */
#define KP_SOLVE_MOST_WEIGHT ((int64_t)1 << 31)
#define KP_SOLVE_RIDGE ((int64_t)1 << 20)
#define KP_SOLVE_RIDGE_SHIFT 24u
#define KP_SOLVE_PIVOT ((int64_t)1 << 34)

/* floor of the square root */
static uint64_t kp_square_root(uint64_t value)
{
    uint64_t root = 0, bit = (uint64_t)1 << 62;
    while (bit > value)
        bit >>= 2;
    for (; bit; bit >>= 2) {
        if (value >= root + bit) {
            value -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    return root;
}

/* Half the width of a sum of squares, rounded up: 2^-that brings it below one. */
static inline uint32_t kp_solve_exponent(int64_t squares)
{
    return (uint32_t)(65 - __builtin_clzll((uint64_t)squares | 1)) / 2;
}

static inline int64_t kp_solve_dot(const int32_t *a, const int32_t *b, uint32_t n)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += (uint64_t)((int64_t)a[i] * b[i]);
    return (int64_t)sum;
}

static inline int64_t kp_solve_clamp(int64_t value, int64_t most)
{
    return value > most ? most : value < -most ? -most : value;
}

/* Rows i of the lower triangle of `normal` [n, n] in `factor` [n, n]. */
static void kp_solve_factor(const int64_t *normal, uint32_t n, const uint32_t *exponents, int32_t *factor)
{
    for (uint32_t i = 0; i < n; i++) {
        const int64_t *row = normal + (size_t)i * n;
        int32_t *own = factor + (size_t)i * n;
        for (uint32_t j = 0; j < i; j++) {
            const int32_t *other = factor + (size_t)j * n;
            uint64_t whole = (uint64_t)row[j] << (60 - exponents[i] - exponents[j]);
            int64_t left = (int64_t)(whole - (uint64_t)kp_solve_dot(own, other, j));
            own[j] = (int32_t)kp_solve_clamp(left / other[j], (int64_t)1 << KP_SOLVE_ONE);
        }
        uint64_t whole = (uint64_t)(row[i] + KP_SOLVE_RIDGE + (row[i] >> KP_SOLVE_RIDGE_SHIFT)) << (60 - 2 * exponents[i]);
        int64_t square = (int64_t)(whole - (uint64_t)kp_solve_dot(own, own, i));
        own[i] = (int32_t)kp_square_root((uint64_t)(square > KP_SOLVE_PIVOT ? square : KP_SOLVE_PIVOT));
    }
}

/* Weights [n] in 2^-bits that explain a target of so much energy (its sum of squares), known by its products with the
 * features. */
static void kp_solve(const int64_t *normal, const int64_t *target, int64_t energy, uint32_t n, int32_t *factor,
                     int64_t *weights, uint32_t bits, int64_t most)
{
    uint32_t exponents[KP_SOLVE_MOST], own = kp_solve_exponent(energy + 2 * KP_SOLVE_RIDGE);
    int32_t y[KP_SOLVE_MOST];
    uint64_t left[KP_SOLVE_MOST];
    for (uint32_t i = 0; i < n; i++)
        exponents[i] = kp_solve_exponent(normal[(size_t)i * n + i] + 2 * KP_SOLVE_RIDGE);
    kp_solve_factor(normal, n, exponents, factor);
    for (uint32_t i = 0; i < n; i++) {
        const int32_t *row = factor + (size_t)i * n;
        uint64_t whole = (uint64_t)target[i] << (60 - exponents[i] - own);
        int64_t rest = (int64_t)(whole - (uint64_t)kp_solve_dot(row, y, i));
        y[i] = (int32_t)kp_solve_clamp(rest / row[i], (int64_t)1 << KP_SOLVE_ONE);
        left[i] = (uint64_t)(int64_t)y[i] << KP_SOLVE_WEIGHT_BITS;
    }
    for (uint32_t i = n; i-- > 0;) {
        const int32_t *row = factor + (size_t)i * n;
        int64_t weight = kp_solve_clamp((int64_t)left[i] / row[i], KP_SOLVE_MOST_WEIGHT);
        for (uint32_t k = 0; k < i; k++)
            left[k] -= (uint64_t)((int64_t)row[k] * weight);
        int32_t shift = (int32_t)(exponents[i] + KP_SOLVE_WEIGHT_BITS) - (int32_t)(own + bits);
        weight = shift > 0 ? kp_floor_shift(weight + ((int64_t)1 << (shift - 1)), (uint32_t)shift)
                           : weight * ((int64_t)1 << -shift);
        weights[i] = kp_solve_clamp(weight, most);
    }
}

#endif

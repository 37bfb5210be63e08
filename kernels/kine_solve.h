/*
 * Least squares in fixed point for the lossless mode of `kine`: Cholesky's factor of the normal equations, scaled by
 * powers of two so that no entry is above one. By Cauchy and Schwarz no partial sum is then above one either, whatever
 * the data. Neither roots nor divisions: each pivot has the reciprocal of its root.
 *
 * Equations are triangles in rows: row j has unknowns j to n - 1, then the target. So has the factor, whose entries
 * stand KP_SOLVE_BIAS higher, since compilers have vector code for products of unsigned numbers on every machine.
 */
#ifndef KINEPACK_KINE_SOLVE_H
#define KINEPACK_KINE_SOLVE_H

#include "range_coder.h"

#define KP_SOLVE_MOST 86u          /* unknowns */
#define KP_SOLVE_ONE ((int32_t)1 << 30)
#define KP_SOLVE_BIAS ((uint32_t)1 << 30)
#define KP_SOLVE_WEIGHT_BITS 22u   /* of a weight between scaled numbers */
#define KP_SOLVE_MOST_WEIGHT ((int64_t)1 << 31)
#define KP_SOLVE_RIDGE ((int64_t)1 << 20)
#define KP_SOLVE_RIDGE_SHIFT 26u
#define KP_SOLVE_PIVOT ((int64_t)1 << 36)
#define KP_SOLVE_MOST_PIVOT ((int64_t)1 << 61)
#define KP_SOLVE_PAD 3u /* entries after each row, so that loops go by fours */
#define KP_SOLVE_ROOM (KP_SOLVE_MOST * (KP_SOLVE_MOST + 9) / 2) /* entries of a factor */

/* 1 / sqrt(pivot) is root / 2^62 times 2^half. */
typedef struct {
    uint32_t root;
    uint32_t half;
} kp_pivot;

/* Half the width of a sum of squares, rounded up: 2^-that brings it below one. */
static inline uint32_t kp_solve_exponent(int64_t squares)
{
    return (uint32_t)(65 - __builtin_clzll((uint64_t)squares | 1)) / 2;
}

static inline int64_t kp_solve_clamp(int64_t value, int64_t most)
{
    return value > most ? most : value < -most ? -most : value;
}

/* Four steps of Newton's from a straight line that is off by 9 %. */
static inline kp_pivot kp_solve_pivot(int64_t pivot)
{
    pivot = pivot < KP_SOLVE_PIVOT ? KP_SOLVE_PIVOT : pivot > KP_SOLVE_MOST_PIVOT ? KP_SOLVE_MOST_PIVOT : pivot;
    uint32_t shift = (uint32_t)__builtin_clzll((uint64_t)pivot) & ~1u;
    uint64_t mantissa = (uint64_t)pivot << shift >> 32; /* in 2^-30, from 1 to 4 */
    uint64_t root = 2290000000u - (mantissa * 1248 >> 12); /* in 2^-31 */
    for (uint32_t i = 0; i < 4; i++)
        root = root * (((uint64_t)3 << 31) - ((root * root >> 31) * mantissa >> 30)) >> 32;
    kp_pivot result = {(uint32_t)root, shift / 2};
    return result;
}

/* sums -= four[k] * rows[k], for four rows. */
static inline void kp_solve_take_four(uint64_t *restrict sums, const uint32_t *restrict a, const uint32_t *restrict b,
                                      const uint32_t *restrict c, const uint32_t *restrict d, uint32_t n)
{
    uint32_t p = a[0], q = b[0], r = c[0], s = d[0];
    for (uint32_t i = 0; i < ((n + KP_SOLVE_PAD) & ~3u); i++)
        sums[i] -= (uint64_t)p * a[i] + (uint64_t)q * b[i] + (uint64_t)r * c[i] + (uint64_t)s * d[i];
}

static inline void kp_solve_take_one(uint64_t *restrict sums, const uint32_t *restrict a, uint32_t n)
{
    uint32_t p = a[0];
    for (uint32_t i = 0; i < ((n + KP_SOLVE_PAD) & ~3u); i++)
        sums[i] -= (uint64_t)p * a[i];
}

/* Entries of a row of the factor from what is left of the equations; `totals` of each column. */
static inline void kp_solve_row(const uint64_t *restrict left, kp_pivot p, uint32_t *restrict row,
                                uint64_t *restrict totals, uint32_t n)
{
    uint32_t shift = 31 - p.half;
    for (uint32_t i = 0; i < KP_SOLVE_PAD; i++)
        row[n + i] = 0;
    for (uint32_t i = 0; i < ((n + KP_SOLVE_PAD) & ~3u); i++) {
        uint32_t high = (uint32_t)(left[i] >> shift) + ((uint32_t)1 << 31);
        int32_t entry = (int32_t)((uint32_t)(((uint64_t)high * p.root + ((uint64_t)1 << 30)) >> 31) - p.root);
        entry = entry > KP_SOLVE_ONE ? KP_SOLVE_ONE : entry < -KP_SOLVE_ONE ? -KP_SOLVE_ONE : entry;
        row[i] = (uint32_t)entry + KP_SOLVE_BIAS;
        totals[i] += row[i];
    }
}

/* The factor of `normal`, and the reciprocals of its diagonal. */
static void kp_solve_factor(const int64_t *normal, uint32_t n, const uint32_t *exponents, uint32_t *factor,
                            kp_pivot *pivots)
{
    uint64_t left[KP_SOLVE_MOST + 1 + KP_SOLVE_PAD], totals[KP_SOLVE_MOST + 1 + KP_SOLVE_PAD];
    const uint32_t *rows[KP_SOLVE_MOST];
    for (uint32_t i = 0; i < n + 1 + KP_SOLVE_PAD; i++)
        totals[i] = left[i] = 0;
    for (uint32_t j = 0; j < n; j++) {
        uint32_t width = n + 1 - j, k = 0, room = 60 - exponents[j];
        uint64_t ridge = (uint64_t)(KP_SOLVE_RIDGE + (normal[0] >> KP_SOLVE_RIDGE_SHIFT));
        for (uint32_t i = 0; i < width; i++)
            left[i] = ((uint64_t)normal[i] << (room - exponents[j + i])) + ((totals[j] + totals[j + i]) << 30) -
                      ((uint64_t)j << 60);
        left[0] += ridge << (room - exponents[j]);
        for (; k + 4 <= j; k += 4)
            kp_solve_take_four(left, rows[k] + (j - k), rows[k + 1] + (j - k - 1), rows[k + 2] + (j - k - 2),
                               rows[k + 3] + (j - k - 3), width);
        for (; k < j; k++)
            kp_solve_take_one(left, rows[k] + (j - k), width);
        pivots[j] = kp_solve_pivot((int64_t)left[0]);
        kp_solve_row(left, pivots[j], factor, totals + j, width);
        rows[j] = factor;
        normal += width;
        factor += width + KP_SOLVE_PAD;
    }
}

/* Weights [n] in 2^-bits that explain a target of so much energy (its sum of squares), known by its products with the
 * features. */
static void kp_solve(const int64_t *normal, int64_t energy, uint32_t n, uint32_t *factor, int64_t *weights,
                     uint32_t bits, int64_t most)
{
    uint32_t exponents[KP_SOLVE_MOST + 1], own = kp_solve_exponent(energy + 2 * KP_SOLVE_RIDGE);
    kp_pivot pivots[KP_SOLVE_MOST];
    int64_t scaled[KP_SOLVE_MOST];
    exponents[n] = own;
    for (uint32_t i = 0, at = 0; i < n; at += n + 1 - i, i++)
        exponents[i] = kp_solve_exponent(normal[at] + 2 * KP_SOLVE_RIDGE);
    kp_solve_factor(normal, n, exponents, factor, pivots);
    const uint32_t *row = factor + (size_t)n * (n + 3 + 2 * KP_SOLVE_PAD) / 2;
    for (uint32_t i = n; i-- > 0;) {
        row -= n + 1 - i + KP_SOLVE_PAD;
        int64_t rest = (int64_t)row[n - i] - KP_SOLVE_BIAS;
        uint64_t left = (uint64_t)rest << KP_SOLVE_WEIGHT_BITS;
        for (uint32_t k = i + 1; k < n; k++)
            left -= (uint64_t)(((int64_t)row[k - i] - KP_SOLVE_BIAS) * scaled[k]);
        int64_t weight = kp_solve_clamp(kp_floor_shift((int64_t)left, 31 - pivots[i].half), KP_SOLVE_MOST_WEIGHT);
        scaled[i] = weight = kp_floor_shift(weight * pivots[i].root, 31);
        int32_t shift = (int32_t)(exponents[i] + KP_SOLVE_WEIGHT_BITS) - (int32_t)(own + bits);
        weight = shift > 0 ? kp_floor_shift(weight + ((int64_t)1 << (shift - 1)), (uint32_t)shift)
                           : weight * ((int64_t)1 << -shift);
        weights[i] = kp_solve_clamp(weight, most);
    }
}

#endif

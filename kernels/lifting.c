/*
 * Lifting wavelets along the first axis of data[rows][channels].
 *
 * Levels work in place on rows 0, s, 2s, .. (s = 2^level), channels are the inner, contiguous loop; a last pass
 * brings the rows into coarse-to-fine order. No padding: any number of rows keeps its size. Neighbours beyond an end
 * are mirrored, except that `cubic` predicts near the ends by the one-sided cubic through the nearest four rows.
 */
#include "include/kinepack_kernels.h"

#define KP_LEVELS_MAX 40u

/* Rows of a level: even row i is at 2i, odd row i at 2i + 1, in units of `stride` numbers. */
typedef struct {
    double *data;
    size_t channels;
    size_t stride;
    size_t evens;
    size_t odds;
} kp_level;

static inline double *even_row(const kp_level *l, size_t i)
{
    return l->data + 2 * i * l->stride;
}

static inline double *odd_row(const kp_level *l, size_t i)
{
    return l->data + (2 * i + 1) * l->stride;
}

static void add_pair(double *target, const double *a, const double *b, size_t channels, double factor)
{
    for (size_t c = 0; c < channels; c++)
        target[c] += factor * (a[c] + b[c]);
}

/* odd += factor * (left even + right even) */
static void lift_odd(const kp_level *l, double factor)
{
    for (size_t i = 0; i < l->odds; i++)
        add_pair(odd_row(l, i), even_row(l, i), even_row(l, i + 1 < l->evens ? i + 1 : i), l->channels, factor);
}

/* even += factor * (left odd + right odd) */
static void lift_even(const kp_level *l, double factor)
{
    for (size_t i = 0; i < l->evens; i++) {
        size_t left = i > 0 ? i - 1 : 0, right = i < l->odds ? i : i - 1;
        add_pair(even_row(l, i), odd_row(l, left), odd_row(l, right), l->channels, factor);
    }
}

static void scale_rows(double *row, size_t count, size_t step, size_t channels, double factor)
{
    for (size_t i = 0; i < count; i++, row += step)
        for (size_t c = 0; c < channels; c++)
            row[c] *= factor;
}

/* ---- cubic: Lagrange weights [points - 1][half-integer position in the stencil][row] ------------------------------ */

static const double lagrange[4][4][4] = {
    {{1, 0, 0, 0}},
    {{0.5, 0.5, 0, 0}, {-0.5, 1.5, 0, 0}},
    {{0.375, 0.75, -0.125, 0}, {-0.125, 0.75, 0.375, 0}, {0.375, -1.25, 1.875, 0}},
    {{0.3125, 0.9375, -0.3125, 0.0625},
     {-0.0625, 0.5625, 0.5625, -0.0625},
     {0.0625, -0.3125, 0.9375, 0.3125},
     {-0.3125, 1.3125, -2.1875, 2.1875}},
};

/* odd -= sign * interpolation from the nearest evens, at most four. */
static void predict_cubic(const kp_level *l, double sign)
{
    size_t points = l->evens < 4 ? l->evens : 4;
    for (size_t i = 0; i < l->odds; i++) {
        size_t first = i > 0 ? i - 1 : 0;
        if (first + points > l->evens)
            first = l->evens - points;
        const double *w = lagrange[points - 1][i - first];
        double *target = odd_row(l, i);
        const double *rows[4];
        for (size_t k = 0; k < 4; k++)
            rows[k] = even_row(l, first + (k < points ? k : 0));
        for (size_t c = 0; c < l->channels; c++)
            target[c] -= sign * (w[0] * rows[0][c] + w[1] * rows[1][c] + w[2] * rows[2][c] + w[3] * rows[3][c]);
    }
}

/* ---- one level ----------------------------------------------------------------------------------------------------- */

static const double cdf97[4] = {-1.586134342059924, -0.052980118572961, 0.882911075530934, 0.443506852043971};
static const double cdf97_low = 1.0 / 1.230174104914001, cdf97_high = 1.230174104914001 / 2.0;
static const double cdf97_unlow = 1.230174104914001, cdf97_unhigh = 2.0 / 1.230174104914001;

static void forward_level(const kp_level *l, int32_t wavelet)
{
    if (wavelet == KP_CDF97) {
        lift_odd(l, cdf97[0]);
        lift_even(l, cdf97[1]);
        lift_odd(l, cdf97[2]);
        lift_even(l, cdf97[3]);
        scale_rows(even_row(l, 0), l->evens, 2 * l->stride, l->channels, cdf97_low);
        scale_rows(odd_row(l, 0), l->odds, 2 * l->stride, l->channels, cdf97_high);
        return;
    }
    if (wavelet == KP_CUBIC)
        predict_cubic(l, 1.0);
    else
        lift_odd(l, -0.5);
    lift_even(l, 0.25);
}

static void inverse_level(const kp_level *l, int32_t wavelet)
{
    if (wavelet == KP_CDF97) {
        scale_rows(even_row(l, 0), l->evens, 2 * l->stride, l->channels, cdf97_unlow);
        scale_rows(odd_row(l, 0), l->odds, 2 * l->stride, l->channels, cdf97_unhigh);
        lift_even(l, -cdf97[3]);
        lift_odd(l, -cdf97[2]);
        lift_even(l, -cdf97[1]);
        lift_odd(l, -cdf97[0]);
        return;
    }
    lift_even(l, -0.25);
    if (wavelet == KP_CUBIC)
        predict_cubic(l, -1.0);
    else
        lift_odd(l, 0.5);
}

static size_t rows_at(size_t rows, uint32_t level)
{
    for (uint32_t i = 0; i < level; i++)
        rows -= rows / 2;
    return rows;
}

static kp_level level_of(double *data, size_t rows, size_t channels, uint32_t level)
{
    size_t count = rows_at(rows, level);
    kp_level l = {data, channels, channels, count - count / 2, count / 2};
    if (count > 1)
        l.stride = channels << level; /* cannot overflow: row 2^level exists */
    return l;
}

/* ---- row order: in place <-> coarse to fine -------------------------------------------------------------------- */

/* Where row `index` of the interleaved data goes: its trailing zeros say at which level it became a detail. */
static size_t sorted_row(size_t index, size_t rows, uint32_t levels)
{
    for (uint32_t level = 0; level < levels; level++) {
        if (index & 1)
            return (rows - rows / 2) + (index >> 1);
        index >>= 1;
        rows -= rows / 2;
    }
    return index;
}

int32_t kp_lifting_forward(double *data, size_t rows, size_t channels, uint32_t levels, int32_t wavelet,
                           double *scratch)
{
    if (levels > KP_LEVELS_MAX || wavelet < KP_CUBIC || wavelet > KP_CDF97)
        return KP_ARGUMENT;
    for (uint32_t level = 0; level < levels; level++) {
        kp_level l = level_of(data, rows, channels, level);
        if (l.odds > 0)
            forward_level(&l, wavelet);
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0, to = sorted_row(r, rows, levels) * channels; c < channels; c++)
            scratch[to + c] = data[r * channels + c];
    for (size_t i = 0; i < rows * channels; i++)
        data[i] = scratch[i];
    return KP_OK;
}

int32_t kp_lifting_inverse(double *data, size_t rows, size_t channels, uint32_t levels, int32_t wavelet,
                           double *scratch)
{
    if (levels > KP_LEVELS_MAX || wavelet < KP_CUBIC || wavelet > KP_CDF97)
        return KP_ARGUMENT;
    for (size_t i = 0; i < rows * channels; i++)
        scratch[i] = data[i];
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0, from = sorted_row(r, rows, levels) * channels; c < channels; c++)
            data[r * channels + c] = scratch[from + c];
    for (uint32_t level = levels; level-- > 0;) {
        kp_level l = level_of(data, rows, channels, level);
        if (l.odds > 0)
            inverse_level(&l, wavelet);
    }
    return KP_OK;
}

/* ---- reversible 5/3 on integers -------------------------------------------------------------------------------- */

/* floor((a + b + bias) / 2^shift) without overflow and without shifting a negative number. */
static inline int64_t floor_sum(int32_t a, int32_t b, int64_t bias, uint32_t shift)
{
    int64_t sum = (int64_t)a + b + bias + ((int64_t)1 << 40);
    return (sum >> shift) - ((int64_t)1 << (40 - shift));
}

/* Wraps modulo 2^32, which the inverse undoes. */
static inline int32_t wrap(int64_t x)
{
    return (int32_t)(uint32_t)(uint64_t)x;
}

static void lift_odd_int(int32_t *data, size_t rows, size_t channels, size_t stride, int64_t sign)
{
    for (size_t r = 1; r < rows; r += 2) {
        int32_t *target = data + r * stride;
        const int32_t *a = target - stride, *b = r + 1 < rows ? target + stride : a;
        for (size_t c = 0; c < channels; c++)
            target[c] = wrap(target[c] + sign * floor_sum(a[c], b[c], 0, 1));
    }
}

static void lift_even_int(int32_t *data, size_t rows, size_t channels, size_t stride, int64_t sign)
{
    for (size_t r = 0; r < rows; r += 2) {
        int32_t *target = data + r * stride;
        const int32_t *a = r > 0 ? target - stride : target + stride, *b = r + 1 < rows ? target + stride : a;
        for (size_t c = 0; c < channels; c++)
            target[c] = wrap(target[c] + sign * floor_sum(a[c], b[c], 2, 2));
    }
}

int32_t kp_lifting_forward_int(int32_t *data, size_t rows, size_t channels, uint32_t levels, int32_t *scratch)
{
    if (levels > KP_LEVELS_MAX)
        return KP_ARGUMENT;
    for (uint32_t level = 0; level < levels; level++) {
        size_t count = rows_at(rows, level);
        if (count < 2)
            break;
        lift_odd_int(data, count, channels, channels << level, -1);
        lift_even_int(data, count, channels, channels << level, 1);
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0, to = sorted_row(r, rows, levels) * channels; c < channels; c++)
            scratch[to + c] = data[r * channels + c];
    for (size_t i = 0; i < rows * channels; i++)
        data[i] = scratch[i];
    return KP_OK;
}

int32_t kp_lifting_inverse_int(int32_t *data, size_t rows, size_t channels, uint32_t levels, int32_t *scratch)
{
    if (levels > KP_LEVELS_MAX)
        return KP_ARGUMENT;
    for (size_t i = 0; i < rows * channels; i++)
        scratch[i] = data[i];
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0, from = sorted_row(r, rows, levels) * channels; c < channels; c++)
            data[r * channels + c] = scratch[from + c];
    for (uint32_t level = levels; level-- > 0;) {
        size_t count = rows_at(rows, level);
        if (count < 2)
            continue;
        lift_even_int(data, count, channels, channels << level, -1);
        lift_odd_int(data, count, channels, channels << level, 1);
    }
    return KP_OK;
}

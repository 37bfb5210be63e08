/*
 * From the levels of one `kine` segment to its tracks: dequantisation, inverse DCT-II per block, prediction between
 * tracks, offsets. Runs after the last symbol is decoded; additions and multiplications in a fixed order, so that
 * every build returns the same bits.
 */
#include "kine.h"
#include "sincos.h"

#define LEAST_BENT 8u

static const double quarter_turn = 1.57079632679489661923;

/* Square root by Newton's method from a power of two near it; exact to the last place or next to it. */
static double square_root(double x)
{
    kp_double_bits bits;
    if (!(x > 0))
        return 0;
    bits.f = x;
    bits.u = (bits.u >> 1) + ((uint64_t)511 << 52);
    double r = bits.f;
    for (int i = 0; i < 6; i++)
        r = 0.5 * (r + x / r);
    return r;
}

/* Frames of the first half of a block that are to be made, and with them their mirrors in the second half. */
typedef struct {
    size_t low, high;
} span;

/* waves[row * half + t] = sqrt(2 / n) cos(pi (2 t + 1) row / (2 n)) for the first half of the frames; the second half
 * mirrors it, with the sign of (-1)^row. table[n + 1] is scratch. */
static void fill_waves(size_t n, size_t rows, span s, double *table, double *waves)
{
    size_t half = (n + 1) / 2;
    double scale = square_root(2.0 / (double)n), sine;
    for (size_t i = 0; i <= n; i++) {
        kp_sincos_one(quarter_turn * (double)i / (double)n, &sine, table + i);
        table[i] *= scale;
    }
    table[n] = 0;
    for (size_t row = 0; row < rows; row++) {
        size_t angle = (2 * s.low + 1) * row % (4 * n); /* (2 t + 1) row modulo 4 n */
        for (size_t t = s.low; t < s.high; t++) {
            size_t folded = angle > 2 * n ? 4 * n - angle : angle;
            waves[row * half + t] = folded > n ? -table[2 * n - folded] : table[folded];
            angle += 2 * row;
            angle -= angle >= 4 * n ? 4 * n : 0;
        }
    }
    for (size_t t = s.low; t < s.high; t++)
        waves[t] = square_root(1.0 / (double)n);
}

/* What cosine `row` has of a straight line (odd rows) or a parabola (even ones), up to a factor. */
static inline double share_of(const double *table, size_t n, size_t row)
{
    return table[row] / (table[n - row] * table[n - row]);
}

/* A line and a parabola in front of the odd and the even cosines, all made orthonormal in this order, so that slopes at
 * the ends of a block cost two rows and not a long tail. What a row takes is left of the shape for the rows after it.
 * shape[half], next[half] and tails[n + 2] are scratch. */
static void bend_waves(size_t n, size_t rows, span s, const double *table, double *waves, double *shape, double *next,
                       double *tails)
{
    size_t half = (n + 1) / 2;
    double middle = 0.5 * (double)(n - 1), mean = ((double)n * (double)n - 1) / 12;
    tails[n] = tails[n + 1] = 0;
    for (size_t row = n - 1; row > 0; row--)
        tails[row] = tails[row + 2] + share_of(table, n, row) * share_of(table, n, row);
    for (size_t first = 1; first <= 2; first++) {
        double scale = 1 / square_root(tails[first]);
        for (size_t t = s.low; t < s.high; t++) {
            double place = (double)t - middle;
            shape[t] = first == 1 ? -(double)n * place : place * place - mean;
            next[t] = scale * shape[t];
        }
        for (size_t row = first; row < rows; row += 2) {
            double share = share_of(table, n, row), across = share / tails[row];
            double length = row + 2 < rows ? square_root(tails[row] / tails[row + 2]) : 0, *wave = waves + row * half;
            for (size_t t = s.low; t < s.high; t++) {
                double cosine = wave[t];
                wave[t] = next[t];
                next[t] = length * (cosine - across * shape[t]);
                shape[t] -= share * cosine;
            }
        }
    }
}

static size_t rows_used(const int32_t *q, size_t rows, size_t tracks)
{
    for (size_t i = rows * tracks; i > 0; i--)
        if (q[i - 1])
            return (i - 1) / tracks + 1;
    return 0;
}

/* One track of one block: even rows are symmetric in time, odd rows antisymmetric. */
static void synthesise_track(const int32_t *q, size_t used, size_t n, size_t tracks, double step, span s,
                             const double *waves, double *even, double *odd, double *out)
{
    size_t half = (n + 1) / 2;
    for (size_t t = s.low; t < s.high; t++)
        even[t] = odd[t] = 0;
    for (size_t row = 0; row < used; row++) {
        int32_t level = q[row * tracks];
        if (!level)
            continue;
        double value = step * level, *sum = row & 1 ? odd : even;
        const double *wave = waves + row * half;
        for (size_t t = s.low; t < s.high; t++)
            sum[t] += value * wave[t];
    }
    for (size_t t = s.low; t < s.high; t++) {
        out[t] = even[t] + odd[t];
        out[n - 1 - t] = even[t] - odd[t];
    }
    if (n & 1 && s.high == half)
        out[half - 1] = even[half - 1];
}

/* What frames first..stop-1 of a block of n need: the first of them or the last one's mirror to the middle, or less. */
static span span_of(size_t n, size_t first, size_t stop)
{
    size_t high = (n + 1) / 2;
    span s = {first < n - stop ? first : n - stop, stop < high ? stop : high};
    if (n - first < s.high)
        s.high = n - first;
    return s;
}

/* Track c is predicted from tracks regressors[starts[c]..starts[c + 1]), all before it. */
int32_t kp_kine_synthesise(const int32_t *q, size_t frames, size_t tracks, const uint32_t *lengths, size_t blocks,
                           const double *steps, const double *offsets, const uint32_t *starts,
                           const uint32_t *regressors, const double *weights, const uint32_t *places, uint32_t bent,
                           size_t first, size_t stop, double *scratch, size_t scratch_size, double *out)
{
    size_t at = 0;
    if (first > stop || stop > frames)
        return KP_ARGUMENT;
    for (size_t b = 0; b < blocks; b++) {
        size_t n = lengths[b], half = (n + 1) / 2;
        if (n < 1 || n > KP_KINE_ROWS_MAX || n > frames - at)
            return KP_ARGUMENT;
        size_t low = first > at ? first - at : 0, high = stop < at + n ? stop - at : n;
        if (stop <= at || low >= n) {
            at += n;
            continue;
        }
        span s = span_of(n, low, high);
        const int32_t *levels = q + at * tracks;
        size_t used = rows_used(levels, n, tracks);
        size_t rows = used ? used : 1;
        if (scratch_size < 2 * n + 3 + 2 * half + rows * half)
            return KP_ARGUMENT;
        double *tails = scratch + n + 1, *even = tails + n + 2, *odd = even + half, *waves = odd + half;
        fill_waves(n, rows, s, scratch, waves);
        if (bent && n >= LEAST_BENT)
            bend_waves(n, rows, s, scratch, waves, even, odd, tails);
        for (size_t c = 0; c < tracks; c++)
            synthesise_track(levels + c, used, n, tracks, steps[c], s, waves, even, odd,
                             out + places[c] * frames + at);
        at += n;
    }
    if (at != frames)
        return KP_ARGUMENT;
    for (size_t c = 0; c < tracks; c++)
        for (uint32_t r = starts[c]; r < starts[c + 1]; r++) {
            if (regressors[r] >= c)
                return KP_ARGUMENT;
            const double *from = out + places[regressors[r]] * frames;
            double *to = out + places[c] * frames, weight = weights[r];
            for (size_t t = first; t < stop; t++)
                to[t] += weight * from[t];
        }
    for (size_t c = 0; c < tracks; c++)
        for (size_t t = first; t < stop; t++)
            out[places[c] * frames + t] += offsets[c];
    return KP_OK;
}

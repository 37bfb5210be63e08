/*
 * Wavelet coefficients as 16-bit codes, and the cubic inverse transform of a window from the coefficients it needs.
 *
 * Codes (docs/codecs/wavelet.md): 0 ends a signal; 1 .. FDFF are zigzag coefficients; FE00 + n stands for n zeros,
 * FF00 + n for 256 n zeros (n = 1 .. 254); FFFF is followed by a zigzag coefficient of 32 bits, low half first.
 *
 * Bands, coarse to fine: band 0 is the approximation, band b the details of level `levels - b`. A window of frames
 * needs a contiguous range of every band; `ranges` holds [first, end) of each, and the window's coefficients lie in
 * one buffer, band after band, rows of `width` channels.
 */
#include "include/kinepack_kernels.h"

#define KP_LEVELS_MAX 40u
#define CODE_END 0u
#define CODE_RUN 0xFE00u
#define CODE_LONG_RUN 0xFF00u
#define CODE_ESCAPE 0xFFFFu
#define RUN_UNIT 256u
#define RUN_UNITS_MAX 254u
#define SQRT2 1.41421356237309514547

typedef struct {
    uint16_t *out;
    size_t capacity, size;
} kp_code_sink;

static void put(kp_code_sink *sink, uint32_t code)
{
    if (sink->size < sink->capacity)
        sink->out[sink->size] = (uint16_t)code;
    sink->size++;
}

static void put_run(kp_code_sink *sink, size_t zeros)
{
    for (size_t units = zeros / RUN_UNIT, part; units > 0; units -= part) {
        part = units < RUN_UNITS_MAX ? units : RUN_UNITS_MAX;
        put(sink, CODE_LONG_RUN + (uint32_t)part);
    }
    if (zeros % RUN_UNIT)
        put(sink, CODE_RUN + (uint32_t)(zeros % RUN_UNIT));
}

int32_t kp_wavelet_encode_codes(const int32_t *levels, size_t rows, size_t channels, uint16_t *out, size_t capacity,
                                size_t *size)
{
    kp_code_sink sink = {out, capacity, 0};
    for (size_t c = 0; c < channels; c++) {
        size_t zeros = 0;
        for (size_t r = 0; r < rows; r++) {
            int32_t level = levels[r * channels + c];
            if (level == 0) {
                zeros++;
                continue;
            }
            uint32_t folded = level > 0 ? 2 * (uint32_t)level : 2 * (0u - (uint32_t)level) - 1u;
            put_run(&sink, zeros);
            zeros = 0;
            if (folded < CODE_RUN) {
                put(&sink, folded);
            } else {
                put(&sink, CODE_ESCAPE);
                put(&sink, folded & 0xFFFFu);
                put(&sink, folded >> 16);
            }
        }
        put(&sink, CODE_END);
    }
    *size = sink.size;
    return sink.size <= capacity ? KP_OK : KP_CAPACITY;
}

/* ---- which coefficients a window needs ------------------------------------------------------------------------- */

static size_t rows_at(size_t rows, uint32_t level)
{
    for (uint32_t i = 0; i < level; i++)
        rows -= rows / 2;
    return rows;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t less(size_t a, size_t b)
{
    return a > b ? a - b : 0;
}

/* Rows [need[0], need[1]) of a level come from `evens` of the next level and from `odds` of this level's details.
 * Four rows on each side are what a one-sided cubic reaches at most; an even row needs the details beside it. */
static void split_need(const uint64_t need[2], size_t count, uint64_t evens[2], uint64_t odds[2])
{
    size_t even_count = count - count / 2, odd_count = count / 2;
    evens[0] = less((size_t)need[0] / 2, 4);
    evens[1] = least(((size_t)need[1] + 1) / 2 + 4, even_count);
    odds[0] = least(less((size_t)evens[0], 1), odd_count);
    odds[1] = least((size_t)evens[1] + 1, odd_count);
    if (evens[1] == even_count && odd_count > 0) /* mirrored at the end */
        odds[0] = least((size_t)odds[0], odd_count - 1);
}

int32_t kp_wavelet_ranges(size_t rows, uint32_t levels, size_t start, size_t stop, uint64_t *ranges)
{
    uint64_t need[2] = {start, stop}, evens[2];
    if (levels > KP_LEVELS_MAX || start >= stop || stop > rows)
        return KP_ARGUMENT;
    for (uint32_t level = 0; level < levels; level++) {
        split_need(need, rows_at(rows, level), evens, ranges + 2 * (levels - level));
        need[0] = evens[0];
        need[1] = evens[1];
    }
    ranges[0] = need[0];
    ranges[1] = need[1];
    return KP_OK;
}

/* ---- codes to coefficients ------------------------------------------------------------------------------------- */

typedef struct {
    const uint16_t *codes;
    size_t count, at;
} kp_code_source;

/* The next coefficient and the zeros before it; *level is 0 at the end of the signal. */
static int32_t take(kp_code_source *source, size_t *zeros, size_t most, int64_t *level)
{
    *zeros = 0;
    for (;;) {
        if (source->at >= source->count)
            return KP_TRUNCATED;
        uint32_t code = source->codes[source->at++];
        if (code == CODE_END) {
            *level = 0;
            return KP_OK;
        }
        if (code < CODE_RUN || code == CODE_ESCAPE) {
            if (code == CODE_ESCAPE) {
                if (source->count - source->at < 2)
                    return KP_TRUNCATED;
                code = source->codes[source->at] | (uint32_t)source->codes[source->at + 1] << 16;
                source->at += 2;
            }
            if (code == 0 || *zeros >= most)
                return KP_CORRUPT;
            *level = code & 1 ? -(int64_t)((code >> 1) + 1) : (int64_t)(code >> 1);
            return KP_OK;
        }
        *zeros += code < CODE_LONG_RUN ? code - CODE_RUN : (size_t)(code - CODE_LONG_RUN) * RUN_UNIT;
        if (code == CODE_RUN || code == CODE_LONG_RUN || *zeros >= most)
            return KP_CORRUPT;
    }
}

/* What one unit of a band's coefficient is worth in steps: 2^(-level/2), exact or one rounding away from it. */
static double band_gain(uint32_t levels, uint32_t band)
{
    uint32_t level = band == 0 ? levels : levels - band;
    double gain = level & 1 ? 0.5 * SQRT2 : 1.0;
    for (uint32_t i = 0; i < level / 2; i++)
        gain *= 0.5;
    return gain;
}

static int32_t decode_channel(kp_code_source *source, size_t rows, uint32_t levels, const uint64_t *ranges,
                              double step, size_t width, size_t column, double *out)
{
    size_t at = 0, band_end = rows_at(rows, levels), band_start = 0, buffer_row = 0, zeros;
    uint32_t band = 0;
    double gain = step * band_gain(levels, 0);
    int64_t level;
    for (;;) {
        int32_t status = take(source, &zeros, rows - at, &level);
        if (status != KP_OK || level == 0)
            return status;
        at += zeros;
        while (at >= band_end) {
            buffer_row += (size_t)(ranges[2 * band + 1] - ranges[2 * band]);
            band_start = band_end;
            band++;
            band_end += rows_at(rows, levels - band) / 2;
            gain = step * band_gain(levels, band);
        }
        size_t row = at - band_start;
        if (width > 0 && row >= ranges[2 * band] && row < ranges[2 * band + 1])
            out[(buffer_row + row - (size_t)ranges[2 * band]) * width + column] = (double)level * gain;
        at++;
    }
}

int32_t kp_wavelet_decode_codes(const uint16_t *codes, size_t count, size_t rows, uint32_t levels,
                                const uint64_t *ranges, size_t channels, const double *steps, const int32_t *columns,
                                size_t width, double *out, size_t *used)
{
    kp_code_source source = {codes, count, 0};
    if (levels > KP_LEVELS_MAX || rows == 0)
        return KP_ARGUMENT;
    for (size_t c = 0; c < channels; c++) {
        if (columns[c] >= 0 && (size_t)columns[c] >= width)
            return KP_ARGUMENT;
        int32_t status = KP_OK;
        if (columns[c] < 0) { /* a signal that is not wanted: only its end is looked for */
            while (source.at < count && codes[source.at] != CODE_END)
                source.at += codes[source.at] == CODE_ESCAPE ? 3 : 1;
            if (source.at >= count)
                status = KP_TRUNCATED;
            source.at++;
        } else {
            status = decode_channel(&source, rows, levels, ranges, steps[c], width, (size_t)columns[c], out);
        }
        if (status != KP_OK)
            return status;
    }
    *used = source.at;
    return KP_OK;
}

/* ---- the inverse transform of a window ------------------------------------------------------------------------- */

static const double lagrange[4][4][4] = {
    {{1, 0, 0, 0}},
    {{0.5, 0.5, 0, 0}, {-0.5, 1.5, 0, 0}},
    {{0.375, 0.75, -0.125, 0}, {-0.125, 0.75, 0.375, 0}, {0.375, -1.25, 1.875, 0}},
    {{0.3125, 0.9375, -0.3125, 0.0625},
     {-0.0625, 0.5625, 0.5625, -0.0625},
     {0.0625, -0.3125, 0.9375, 0.3125},
     {-0.3125, 1.3125, -2.1875, 2.1875}},
};

/* One level: evens[] (in place) from the next coarser level, odds[] its details, `out` the rows [need[0], need[1]).
 * The arithmetic is that of kp_lifting_inverse, number by number, so both give the same bits. */
static void inverse_level(const uint64_t need[2], size_t count, const uint64_t even_range[2],
                          const uint64_t odd_range[2], double *evens, const double *odds, size_t width, double *out)
{
    size_t even_count = count - count / 2, odd_count = count / 2, points = least(even_count, 4);
    for (size_t i = (size_t)even_range[0]; odd_count > 0 && i < even_range[1]; i++) {
        const double *a = odds + (less(i, 1) - odd_range[0]) * width;
        const double *b = odds + ((i < odd_count ? i : i - 1) - odd_range[0]) * width;
        double *target = evens + (i - even_range[0]) * width;
        for (size_t c = 0; c < width; c++)
            target[c] += -0.25 * (a[c] + b[c]);
    }
    for (size_t r = (size_t)need[0]; r < need[1]; r++, out += width) {
        size_t i = r / 2;
        if (r % 2 == 0) {
            for (size_t c = 0; c < width; c++)
                out[c] = evens[(i - even_range[0]) * width + c];
            continue;
        }
        size_t first = less(i, 1);
        if (first + points > even_count)
            first = even_count - points;
        const double *w = lagrange[points - 1][i - first], *detail = odds + (i - odd_range[0]) * width, *rows[4];
        for (size_t k = 0; k < 4; k++)
            rows[k] = evens + (first + (k < points ? k : 0) - even_range[0]) * width;
        for (size_t c = 0; c < width; c++)
            out[c] = detail[c] - -1.0 * (w[0] * rows[0][c] + w[1] * rows[1][c] + w[2] * rows[2][c] + w[3] * rows[3][c]);
    }
}

int32_t kp_wavelet_inverse_window(const double *coefficients, size_t rows, uint32_t levels, const uint64_t *ranges,
                                  size_t start, size_t stop, size_t width, double *scratch, double *out)
{
    if (levels > KP_LEVELS_MAX || start >= stop || stop > rows)
        return KP_ARGUMENT;
    size_t half = 0; /* the largest range of evens, so that two halves of the scratch can take turns */
    for (uint32_t band = 0; band <= levels; band++)
        half = half > ranges[2 * band + 1] - ranges[2 * band] ? half : (size_t)(ranges[2 * band + 1] - ranges[2 * band]);
    half = 2 * half * width;
    double *evens = scratch, *next = levels > 0 ? scratch + half : out;
    size_t evens_size = (size_t)(ranges[1] - ranges[0]) * width;
    for (size_t i = 0; i < evens_size; i++)
        evens[i] = coefficients[i];
    coefficients += evens_size;
    uint64_t even_range[2] = {ranges[0], ranges[1]};
    for (uint32_t level = levels; level-- > 0;) {
        uint64_t need[2] = {start, stop}, below[2], odd_range[2];
        for (uint32_t l = 0; l < level; l++) {
            split_need(need, rows_at(rows, l), below, odd_range);
            need[0] = below[0];
            need[1] = below[1];
        }
        split_need(need, rows_at(rows, level), below, odd_range);
        if (level == 0)
            next = out;
        inverse_level(need, rows_at(rows, level), even_range, odd_range, evens, coefficients, width, next);
        coefficients += (size_t)(odd_range[1] - odd_range[0]) * width;
        double *spare = evens;
        evens = next;
        next = spare;
        even_range[0] = need[0];
        even_range[1] = need[1];
    }
    if (levels == 0)
        for (size_t i = 0; i < (stop - start) * width; i++)
            out[i] = scratch[i];
    return KP_OK;
}

/* ---- the transpose of the whole inverse transform --------------------------------------------------------------- */

static void adjoint_level(double *data, size_t count, size_t stride, size_t width)
{
    size_t evens = count - count / 2, odds = count / 2, points = least(evens, 4);
    for (size_t i = 0; i < odds; i++) {
        size_t first = less(i, 1);
        if (first + points > evens)
            first = evens - points;
        const double *w = lagrange[points - 1][i - first], *source = data + (2 * i + 1) * stride;
        for (size_t k = 0; k < points; k++) {
            double *target = data + 2 * (first + k) * stride;
            for (size_t c = 0; c < width; c++)
                target[c] += w[k] * source[c];
        }
    }
    for (size_t i = 0; odds > 0 && i < evens; i++) {
        const double *source = data + 2 * i * stride;
        double *a = data + (2 * less(i, 1) + 1) * stride, *b = data + (2 * (i < odds ? i : i - 1) + 1) * stride;
        for (size_t c = 0; c < width; c++) {
            a[c] -= 0.25 * source[c];
            b[c] -= 0.25 * source[c];
        }
    }
}

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

int32_t kp_wavelet_adjoint(double *data, size_t rows, size_t width, uint32_t levels, double *scratch)
{
    if (levels > KP_LEVELS_MAX)
        return KP_ARGUMENT;
    for (uint32_t level = 0; level < levels; level++) {
        size_t count = rows_at(rows, level);
        if (count > 1)
            adjoint_level(data, count, width << level, width);
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0, to = sorted_row(r, rows, levels) * width; c < width; c++)
            scratch[to + c] = data[r * width + c];
    for (size_t i = 0; i < rows * width; i++)
        data[i] = scratch[i];
    return KP_OK;
}

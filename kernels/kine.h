/*
 * Context model of the `kine` codec, shared by its coder, its quantiser and nothing else (docs/codecs/kine.md).
 *
 * A block holds coefficients q[row][track], rows of rising frequency. The magnitude of each is predicted on a
 * logarithmic scale from neighbours that are already coded; the prediction selects adaptive probabilities.
 * Integers only: every build agrees bit for bit.
 */
#ifndef KINEPACK_KINE_H
#define KINEPACK_KINE_H

#include "range_coder.h"

#define KP_KINE_LEVELS 48u    /* classes of the predicted magnitude */
#define KP_KINE_RUNS 72u      /* running amplitude x own neighbours */
#define KP_KINE_ROWS 144u     /* frequency x neighbours in the row */
#define KP_KINE_BINS 27u      /* zero, one, two, then doubling buckets */
#define KP_KINE_FEATURES 9u
#define KP_KINE_PHASES 8u     /* row 0, 1, 2, later; without and with a block before */
#define KP_KINE_CLASSES 6u    /* kinds of tracks */
#define KP_KINE_BANDS 16u     /* frequency classes */
#define KP_KINE_CONTEXTS (KP_KINE_LEVELS + KP_KINE_RUNS + KP_KINE_ROWS)
/* Mixed bins, mantissa bits by bucket, and "is it zero" where nothing is expected, unmixed for speed. */
#define KP_KINE_QUIET (KP_KINE_BINS * KP_KINE_CONTEXTS + KP_KINE_BINS)
#define KP_KINE_ENDS (KP_KINE_QUIET + KP_KINE_ROWS) /* "does the track go on", mixed; streams with ends only */
#define KP_KINE_STATES (KP_KINE_ENDS + KP_KINE_CONTEXTS)
#define KP_KINE_WEIGHTS (KP_KINE_BINS * 3u + 3u)
#define KP_KINE_MODEL (KP_KINE_PHASES * KP_KINE_FEATURES + KP_KINE_CLASSES * KP_KINE_BANDS)
#define KP_KINE_ROWS_MAX 1024u
#define KP_KINE_FIRST_ASKED 2u
#define KP_KINE_RATE 7u
#define KP_KINE_MIX_RATE 20u

/* 16 log2(1 + |q| / 0.35), from a table and, above, linear between powers of two. */
static inline uint32_t kp_kine_log(uint32_t a)
{
    static const uint8_t small[8] = {0, 31, 44, 52, 58, 63, 67, 70};
    if (a < 8)
        return small[a];
    uint32_t e = 31u - (uint32_t)__builtin_clz(a);
    uint32_t log = 25u + 16u * e + ((e > 4 ? a >> (e - 4) : a << (4 - e)) & 15u);
    return log < 255u ? log : 255u;
}

/* What the model knows of a block while it is coded: logs[row * tracks + track] of the rows so far, and running means
 * (in 1/16) of each track over rows and of the row over tracks. */
typedef struct {
    const int16_t *model;
    const uint8_t *classes;
    uint8_t *logs;
    const uint8_t *before; /* logs of the block before in the segment, or NULL */
    int32_t *runs;         /* [tracks] */
    uint32_t before_rows;
    uint32_t rows;
    uint32_t tracks;
    uint32_t unit;
    uint32_t quality;
    /* Of the row at hand. */
    const int16_t *row_weights;
    const uint8_t *past, *past_next; /* rows of the block before, or NULL */
    uint32_t band;
} kp_kine_block;

typedef struct {
    uint32_t level, run, row;
} kp_kine_context;

/* Frequency class: two an octave of row * 16 unit / rows. */
static inline uint32_t kp_kine_band(const kp_kine_block *b, uint32_t row)
{
    uint32_t f = 1u + row * 32u * b->unit / b->rows;
    uint32_t e = 31u - (uint32_t)__builtin_clz(f);
    uint32_t band = 2u * e + (e ? (f >> (e - 1)) & 1u : 0u);
    return band < KP_KINE_BANDS ? band : KP_KINE_BANDS - 1u;
}

/* What all tracks of a row share. */
static inline void kp_kine_start_row(kp_kine_block *b, uint32_t row)
{
    uint32_t phase = row < 3 ? row : 3;
    b->band = kp_kine_band(b, row);
    b->past = b->past_next = NULL;
    if (b->before) {
        uint32_t at = row * b->before_rows / b->rows, next = at + 1 < b->before_rows ? at + 1 : at;
        b->past = b->before + (size_t)at * b->tracks;
        b->past_next = b->before + (size_t)next * b->tracks;
        phase += 4;
    }
    b->row_weights = b->model + phase * KP_KINE_FEATURES;
}

/* Whether tracks say in this row if they go on: in the first, and later where a new band begins. */
static inline int kp_kine_asks(const kp_kine_block *b, uint32_t row)
{
    return row == 0 || (row >= KP_KINE_FIRST_ASKED && b->band != kp_kine_band(b, row - 1));
}

static inline uint32_t kp_kine_step(uint32_t log)
{
    return log == 0 ? 0u : log == 31 ? 1u : 2u;
}

static inline kp_kine_context kp_kine_contexts(const kp_kine_block *b, uint32_t row, uint32_t track, int32_t row_mean)
{
    const uint8_t *own = b->logs + (size_t)row * b->tracks + track;
    uint32_t t = b->tracks;
    int32_t a1 = row > 0 ? own[-(ptrdiff_t)t] : 0, a2 = row > 1 ? own[-2 * (ptrdiff_t)t] : 0;
    int32_t a3 = row > 2 ? own[-3 * (ptrdiff_t)t] : 0;
    int32_t r1 = track > 0 ? own[-1] : 0, r2 = track > 1 ? own[-2] : 0;
    int32_t run = b->runs[track], past = b->past ? b->past[track] + b->past_next[track] : 0;
    const int16_t *w = b->row_weights;
    int32_t sum = w[0] * a1 + w[1] * a2 + w[2] * a3 + w[3] * r1 + w[4] * r2 + w[5] * (row_mean >> 4) +
                  w[6] * (run >> 4) + w[7] * past + w[8] * (int32_t)b->quality;
    sum += 16 * b->model[KP_KINE_PHASES * KP_KINE_FEATURES + b->classes[track] * KP_KINE_BANDS + b->band];
    kp_kine_context c;
    c.level = sum <= 0 ? 0u : (uint32_t)sum >> 10;
    if (c.level >= KP_KINE_LEVELS)
        c.level = KP_KINE_LEVELS - 1;
    /* Nine times how many of 4, 10, 19, 29, 41, 56, 81 the running mean reaches. */
    static const uint8_t amplitudes[96] = {
        0, 0, 0, 0, 9, 9, 9, 9, 9, 9, 18, 18, 18, 18, 18, 18, 18, 18, 18, 27, 27, 27, 27, 27,
        27, 27, 27, 27, 27, 36, 36, 36, 36, 36, 36, 36, 36, 36, 36, 36, 36, 45, 45, 45, 45, 45, 45, 45,
        45, 45, 45, 45, 45, 45, 45, 45, 54, 54, 54, 54, 54, 54, 54, 54, 54, 54, 54, 54, 54, 54, 54, 54,
        54, 54, 54, 54, 54, 54, 54, 54, 54, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63};
    uint32_t amplitude = (uint32_t)run >> 4;
    c.run = amplitudes[amplitude < 95u ? amplitude : 95u] + kp_kine_step((uint32_t)a1) * 3u + kp_kine_step((uint32_t)a2);
    c.row = b->band * 9u + kp_kine_step((uint32_t)r1) * 3u + kp_kine_step((uint32_t)r2);
    return c;
}

/* Records a coefficient's magnitude; row_mean is the running mean of its row. */
static inline int32_t kp_kine_learn(kp_kine_block *b, uint32_t row, uint32_t track, int32_t row_mean, uint32_t magnitude)
{
    int32_t log = (int32_t)kp_kine_log(magnitude);
    b->logs[(size_t)row * b->tracks + track] = (uint8_t)log;
    b->runs[track] += (16 * log - b->runs[track]) / 4;
    return row_mean + (16 * log - row_mean) / 8;
}

#endif

/*
 * Entropy coding of one segment of the `kine` codec: block lengths, then each block's coefficients by rising
 * frequency, all tracks of a row in turn. Model and binarisation: kine.h and docs/codecs/kine.md.
 */
#include "kine.h"

/* Coder and decoder are one source: with all of it inlined each keeps only its own half. */
#if defined(__GNUC__)
#define KP_ALWAYS_INLINE static inline __attribute__((always_inline))
#else
#define KP_ALWAYS_INLINE static inline
#endif

typedef struct {
    kp_encoder *encoder; /* exactly one of the two is set */
    kp_decoder *decoder;
    uint32_t *states;
    int32_t *weights;
    uint32_t ends; /* whether tracks end before their block does */
} kine_coder;

KP_ALWAYS_INLINE uint32_t code_direct(kine_coder *c, uint32_t value, uint32_t width)
{
    if (c->decoder)
        return kp_decode_direct(c->decoder, width);
    kp_encode_direct(c->encoder, value, width);
    return value;
}

KP_ALWAYS_INLINE uint32_t code_with(kine_coder *c, uint32_t p1, uint32_t bit)
{
    if (c->decoder)
        return kp_decode_with(c->decoder, p1);
    kp_encode_with(c->encoder, p1, bit);
    return bit;
}

/* With one state alone. */
KP_ALWAYS_INLINE uint32_t code_learned(kine_coder *c, uint32_t *state, uint32_t bit)
{
    bit = code_with(c, kp_state_probability(*state), bit);
    *state = c->ends ? kp_blend_learn(*state, bit) : kp_state_update(*state, KP_KINE_RATE, bit);
    return bit;
}

KP_ALWAYS_INLINE uint32_t code_mixed(kine_coder *c, uint32_t *states, int32_t *weights, const kp_kine_context *x,
                                  uint32_t bit)
{
    uint32_t *by_level = states + x->level, *by_run = states + KP_KINE_LEVELS + x->run;
    uint32_t *by_row = states + KP_KINE_LEVELS + KP_KINE_RUNS + x->row;
    if (!c->ends) {
        kp_mixer m = {{by_level, by_run, by_row}, weights, {0}, 0};
        bit = code_with(c, kp_mix_probability(&m, 3), bit);
        kp_mix_update(&m, 3, KP_KINE_RATE, KP_KINE_MIX_RATE, bit);
        return bit;
    }
    kp_blend m = {{by_level, by_run, by_row}, weights, {0}, 0};
    bit = code_with(c, kp_blend_probability(&m), bit);
    kp_blend_update(&m, bit);
    return bit;
}

KP_ALWAYS_INLINE uint32_t code_bin(kine_coder *c, uint32_t bin, const kp_kine_context *x, uint32_t bit)
{
    return code_mixed(c, c->states + bin * KP_KINE_CONTEXTS, c->weights + bin * 3, x, bit);
}

/* Whether a track has levels other than zero in this row or later. */
KP_ALWAYS_INLINE uint32_t code_going_on(kine_coder *c, const kp_kine_context *x, uint32_t bit)
{
    return code_mixed(c, c->states + KP_KINE_ENDS, c->weights + KP_KINE_BINS * 3, x, bit);
}

/* Is it zero, where the prediction says so: most decisions of a stream, so one state without mixing. */
KP_ALWAYS_INLINE uint32_t code_quiet(kine_coder *c, const kp_kine_context *x, uint32_t bit)
{
    return code_learned(c, c->states + KP_KINE_QUIET + x->row, bit);
}

/* Is the bucket larger: many decisions with little to win, so not mixed in streams with ends. */
KP_ALWAYS_INLINE uint32_t code_bucket(kine_coder *c, uint32_t e, const kp_kine_context *x, uint32_t bit)
{
    if (c->ends)
        return code_learned(c, c->states + (3 + e) * KP_KINE_CONTEXTS + x->level, bit);
    return code_bin(c, 3 + e, x, bit);
}

/* |q| above two: bucket e of 3 + [2^e - 1, 2^(e+1) - 1) in unary, its mantissa's first bit adaptive, the rest plain. */
KP_ALWAYS_INLINE uint32_t code_large(kine_coder *c, const kp_kine_context *x, uint32_t magnitude)
{
    uint32_t r = magnitude - 2, e = 0, limit = KP_KINE_BINS - 4;
    uint32_t own = c->decoder ? 0 : 31u - (uint32_t)__builtin_clz(r);
    while (e < limit && code_bucket(c, e, x, e < own))
        e++;
    if (e == limit) {
        if (c->decoder)
            c->decoder->status = KP_CORRUPT;
        else
            c->encoder->status = KP_ARGUMENT;
        return 3;
    }
    if (e == 0)
        return 3;
    uint32_t *top = c->states + KP_KINE_BINS * KP_KINE_CONTEXTS + e, bit = (r >> (e - 1)) & 1u;
    bit = code_learned(c, top, bit);
    uint32_t low = code_direct(c, r & ((1u << (e - 1)) - 1u), e - 1);
    return 2 + ((1u << e) | (bit << (e - 1)) | low);
}

KP_ALWAYS_INLINE int32_t code_coefficient(kine_coder *c, const kp_kine_context *x, int32_t value)
{
    uint32_t magnitude = value < 0 ? 0u - (uint32_t)value : (uint32_t)value;
    if (!(x->level ? code_bin(c, 0, x, magnitude > 0) : code_quiet(c, x, magnitude > 0)))
        return 0;
    uint32_t coded = 1;
    if (code_bin(c, 1, x, magnitude > 1))
        coded = code_bin(c, 2, x, magnitude > 2) ? code_large(c, x, magnitude) : 2;
    return code_direct(c, value < 0, 1) ? -(int32_t)coded : (int32_t)coded;
}

static inline uint32_t bit_width(uint32_t value)
{
    return value ? 32u - (uint32_t)__builtin_clz(value) : 0u;
}

/* Rows up to the last that is not all zero. */
static uint32_t used_rows(const int32_t *q, uint32_t rows, uint32_t tracks)
{
    for (uint32_t row = rows; row > 0; row--)
        for (uint32_t t = 0; t < tracks; t++)
            if (q[(size_t)(row - 1) * tracks + t])
                return row;
    return 0;
}

/* Rows of a track up to its last that is not zero. */
static uint32_t last_row(const int32_t *q, uint32_t rows, uint32_t tracks)
{
    while (rows > 0 && !q[(size_t)(rows - 1) * tracks])
        rows--;
    return rows;
}

/* One row of the tracks that go on; returns how many are left in `going`, whose encoder's `lasts` are known. */
KP_ALWAYS_INLINE uint32_t code_row(kine_coder *c, kp_kine_block *b, uint32_t row, int32_t *line, uint32_t *going,
                                uint32_t count, const uint32_t *lasts)
{
    kp_kine_start_row(b, row);
    int asks = c->ends && kp_kine_asks(b, row);
    uint32_t kept = 0;
    int32_t mean = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t t = going[i];
        kp_kine_context x = kp_kine_contexts(b, row, t, mean);
        if (asks && !code_going_on(c, &x, c->decoder ? 0 : row < lasts[t]))
            continue;
        going[kept++] = t;
        int32_t value = code_coefficient(c, &x, c->decoder ? 0 : line[t]);
        if (c->decoder)
            line[t] = value;
        mean = kp_kine_learn(b, row, t, mean, value < 0 ? 0u - (uint32_t)value : (uint32_t)value);
    }
    return kept;
}

KP_ALWAYS_INLINE int32_t code_block(kine_coder *c, kp_kine_block *b, int32_t *q)
{
    uint32_t used = c->decoder ? 0 : used_rows(q, b->rows, b->tracks), count = b->tracks;
    used = code_direct(c, used, bit_width(b->rows));
    if (used > b->rows)
        return KP_CORRUPT;
    uint32_t *going = (uint32_t *)b->runs + b->tracks, *lasts = going + b->tracks;
    for (uint32_t t = 0; t < b->tracks; t++) {
        b->runs[t] = 0;
        going[t] = t;
        if (c->encoder && c->ends)
            lasts[t] = last_row(q + t, used, b->tracks);
    }
    for (size_t i = 0; i < (size_t)b->rows * b->tracks; i++)
        b->logs[i] = 0;
    if (c->decoder)
        for (size_t i = 0; i < (size_t)b->rows * b->tracks; i++)
            q[i] = 0;
    for (uint32_t row = 0; row < used && count; row++) {
        count = code_row(c, b, row, q + (size_t)row * b->tracks, going, count, lasts);
        if (c->decoder && c->decoder->status != KP_OK)
            return c->decoder->status;
    }
    return KP_OK;
}

/* Block lengths by their four-bit code: 0 is a frame on its own, others are units. The last block of a segment takes
 * what is left. */
static const uint8_t block_units[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16};

static inline size_t length_by_code(const kp_kine_block *b, uint32_t code, size_t left)
{
    size_t rows = code ? (size_t)block_units[code] * b->unit : 1;
    return rows < left ? rows : left;
}

static uint32_t code_of_length(const kp_kine_block *b, size_t rows, size_t left)
{
    for (uint32_t code = 0; code < 16; code++)
        if (length_by_code(b, code, left) == rows)
            return code;
    return 16;
}

KP_ALWAYS_INLINE int32_t code_segment(kine_coder *c, kp_kine_block *b, int32_t *q, uint32_t *lengths, size_t capacity,
                                   size_t *blocks, size_t frames, uint8_t *logs)
{
    size_t at = 0, count = 0;
    b->before = NULL;
    b->before_rows = 0;
    while (at < frames) {
        if (count == capacity)
            return KP_CAPACITY;
        uint32_t code = c->decoder ? 0 : code_of_length(b, lengths[count], frames - at);
        if (code > 15)
            return KP_ARGUMENT;
        size_t rows = length_by_code(b, code_direct(c, code, 4), frames - at);
        lengths[count++] = b->rows = (uint32_t)rows;
        b->logs = logs + at * b->tracks;
        int32_t status = code_block(c, b, q + at * b->tracks);
        if (status != KP_OK)
            return status;
        b->before = rows > 1 ? b->logs : NULL;
        b->before_rows = b->rows;
        at += rows;
    }
    *blocks = count;
    return KP_OK;
}

static int32_t start_block(kp_kine_block *b, size_t frames, size_t tracks, const uint8_t *classes, uint32_t unit,
                           uint32_t quality, const int16_t *model, int32_t *runs)
{
    if (unit < 1 || unit > KP_KINE_ROWS_MAX / 16 || quality > 255 || frames > 1u << 30 || tracks > 1u << 20)
        return KP_ARGUMENT;
    for (size_t t = 0; t < tracks; t++)
        if (classes[t] >= KP_KINE_CLASSES)
            return KP_ARGUMENT;
    b->model = model;
    b->classes = classes;
    b->runs = runs;
    b->tracks = (uint32_t)tracks;
    b->unit = unit;
    b->quality = quality;
    return KP_OK;
}

int32_t kp_kine_encode(const int32_t *q, size_t frames, size_t tracks, uint32_t *lengths, size_t blocks,
                       const uint8_t *classes, uint32_t unit, uint32_t quality, const int16_t *model,
                       uint32_t ends, uint32_t *states, int32_t *weights, uint8_t *logs, int32_t *runs, uint8_t *out,
                       size_t capacity, size_t *size)
{
    kp_kine_block b;
    kp_encoder e;
    kine_coder c = {&e, NULL, states, weights, ends};
    int32_t status = start_block(&b, frames, tracks, classes, unit, quality, model, runs);
    if (status != KP_OK)
        return status;
    kp_encoder_start(&e, out, capacity);
    size_t coded;
    status = code_segment(&c, &b, (int32_t *)q, lengths, blocks, &coded, frames, logs);
    if (status != KP_OK)
        return status;
    return e.status == KP_OK ? kp_encoder_finish(&e, size) : e.status;
}

int32_t kp_kine_decode(const uint8_t *data, size_t size, int32_t *q, size_t frames, size_t tracks, uint32_t *lengths,
                       size_t capacity, size_t *blocks, const uint8_t *classes, uint32_t unit, uint32_t quality,
                       const int16_t *model, uint32_t ends, uint32_t *states, int32_t *weights, uint8_t *logs,
                       int32_t *runs)
{
    kp_kine_block b;
    kp_decoder d;
    kine_coder c = {NULL, &d, states, weights, 1}, old = {NULL, &d, states, weights, 0};
    int32_t status = start_block(&b, frames, tracks, classes, unit, quality, model, runs);
    if (status != KP_OK)
        return status;
    kp_decoder_start(&d, data, size);
    status = ends ? code_segment(&c, &b, q, lengths, capacity, blocks, frames, logs)
                  : code_segment(&old, &b, q, lengths, capacity, blocks, frames, logs);
    return status == KP_OK ? kp_decoder_finish(&d) : status;
}

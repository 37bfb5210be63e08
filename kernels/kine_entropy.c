/*
 * Entropy coding of one segment of the `kine` codec: block lengths, then each block's coefficients by rising
 * frequency, all tracks of a row in turn. Model and binarisation: kine.h and docs/codecs/kine.md.
 */
#include "kine.h"

typedef struct {
    kp_encoder *encoder; /* exactly one of the two is set */
    kp_decoder *decoder;
    uint32_t *states;
    int32_t *weights;
} kine_coder;

static inline uint32_t code_direct(kine_coder *c, uint32_t value, uint32_t width)
{
    if (c->decoder)
        return kp_decode_direct(c->decoder, width);
    kp_encode_direct(c->encoder, value, width);
    return value;
}

static inline uint32_t code_bin(kine_coder *c, uint32_t bin, const kp_kine_context *x, uint32_t bit)
{
    uint32_t *states = c->states + bin * KP_KINE_CONTEXTS;
    kp_mixer m;
    m.states[0] = states + x->level;
    m.states[1] = states + KP_KINE_LEVELS + x->run;
    m.states[2] = states + KP_KINE_LEVELS + KP_KINE_RUNS + x->row;
    m.weights = c->weights + bin * 3;
    if (c->decoder)
        return kp_decode_mixed(c->decoder, &m, 3, KP_KINE_RATE, KP_KINE_MIX_RATE);
    kp_encode_mixed(c->encoder, &m, 3, KP_KINE_RATE, KP_KINE_MIX_RATE, bit);
    return bit;
}

/* Is it zero, where the prediction says so: most decisions of a stream, so one state without mixing. */
static inline uint32_t code_quiet(kine_coder *c, const kp_kine_context *x, uint32_t bit)
{
    uint32_t *state = c->states + KP_KINE_QUIET + x->row;
    if (c->decoder)
        return kp_decode_adaptive(c->decoder, state, KP_KINE_RATE);
    kp_encode_adaptive(c->encoder, state, KP_KINE_RATE, bit);
    return bit;
}

/* |q| above two: bucket e of 3 + [2^e - 1, 2^(e+1) - 1) in unary, its mantissa's first bit adaptive, the rest plain. */
static inline uint32_t code_large(kine_coder *c, const kp_kine_context *x, uint32_t magnitude)
{
    uint32_t r = magnitude - 2, e = 0, limit = KP_KINE_BINS - 4;
    uint32_t own = c->decoder ? 0 : 31u - (uint32_t)__builtin_clz(r);
    while (e < limit && code_bin(c, 3 + e, x, e < own))
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
    if (c->decoder)
        bit = kp_decode_adaptive(c->decoder, top, KP_KINE_RATE);
    else
        kp_encode_adaptive(c->encoder, top, KP_KINE_RATE, bit);
    uint32_t low = code_direct(c, r & ((1u << (e - 1)) - 1u), e - 1);
    return 2 + ((1u << e) | (bit << (e - 1)) | low);
}

static inline int32_t code_coefficient(kine_coder *c, const kp_kine_context *x, int32_t value)
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

static inline int32_t code_block(kine_coder *c, kp_kine_block *b, int32_t *q)
{
    uint32_t used = c->decoder ? 0 : used_rows(q, b->rows, b->tracks);
    used = code_direct(c, used, bit_width(b->rows));
    if (used > b->rows)
        return KP_CORRUPT;
    for (uint32_t t = 0; t < b->tracks; t++)
        b->runs[t] = 0;
    for (uint32_t row = 0; row < used; row++) {
        int32_t mean = 0;
        kp_kine_start_row(b, row);
        int32_t *line = q + (size_t)row * b->tracks;
        for (uint32_t t = 0; t < b->tracks; t++) {
            kp_kine_context x = kp_kine_contexts(b, row, t, mean);
            int32_t value = code_coefficient(c, &x, c->decoder ? 0 : line[t]);
            if (c->decoder)
                line[t] = value;
            mean = kp_kine_learn(b, row, t, mean, value < 0 ? 0u - (uint32_t)value : (uint32_t)value);
        }
        if (c->decoder && c->decoder->status != KP_OK)
            return c->decoder->status;
    }
    size_t rest = (size_t)(b->rows - used) * b->tracks;
    for (size_t i = 0; i < rest; i++) {
        b->logs[(size_t)used * b->tracks + i] = 0;
        if (c->decoder)
            q[(size_t)used * b->tracks + i] = 0;
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

static inline int32_t code_segment(kine_coder *c, kp_kine_block *b, int32_t *q, uint32_t *lengths, size_t capacity,
                                   size_t *blocks, size_t frames, uint8_t *logs)
{
    size_t at = 0, count = 0;
    b->before = NULL;
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
                       uint32_t *states, int32_t *weights, uint8_t *logs, int32_t *runs, uint8_t *out,
                       size_t capacity, size_t *size)
{
    kp_kine_block b;
    kp_encoder e;
    kine_coder c = {&e, NULL, states, weights};
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
                       const int16_t *model, uint32_t *states, int32_t *weights, uint8_t *logs, int32_t *runs)
{
    kp_kine_block b;
    kp_decoder d;
    kine_coder c = {NULL, &d, states, weights};
    int32_t status = start_block(&b, frames, tracks, classes, unit, quality, model, runs);
    if (status != KP_OK)
        return status;
    kp_decoder_start(&d, data, size);
    status = code_segment(&c, &b, q, lengths, capacity, blocks, frames, logs);
    return status == KP_OK ? kp_decoder_finish(&d) : status;
}

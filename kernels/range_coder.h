/*
 * Range coder core, header only, so that a codec written in C can interleave its own modelling with coding.
 *
 * A 32-bit range coder with carry propagation into the bytes already written. The encoder's flush writes the fewest
 * bytes (at most one) that identify the final interval; the decoder reads zeros past the end, at most
 * KP_IMPLICIT_BYTES of them, and one more is KP_TRUNCATED. Everything is unsigned integer arithmetic, so that
 * every build agrees bit for bit.
 */
#ifndef KINEPACK_RANGE_CODER_H
#define KINEPACK_RANGE_CODER_H

#include "include/kinepack_kernels.h"
#include "mix_tables.h"

#define KP_IMPLICIT_BYTES 4u
#define KP_RANGE_MIN (1u << 24)
#define KP_PROBABILITY_MIN 16u
#define KP_PROBABILITY_MAX (65536u - 16u)
#define KP_STATE_ONE ((1u << 22) - 1u)
#define KP_RATE_MIN 1u
#define KP_RATE_MAX 10u
#define KP_MIX_RATE_MIN 12u
#define KP_MIX_RATE_MAX 30u
#define KP_MIX_INPUTS 3u
#define KP_WEIGHT_LIMIT (1 << 20)
#define KP_STRETCH_LIMIT (12 * 4096)

/* ---- encoder -------------------------------------------------------------------------------------------------- */

typedef struct {
    uint8_t *out;
    size_t capacity;
    size_t size;
    uint32_t low;
    uint32_t range;
    int32_t status;
} kp_encoder;

static inline void kp_encoder_start(kp_encoder *e, uint8_t *out, size_t capacity)
{
    e->out = out;
    e->capacity = capacity;
    e->size = 0;
    e->low = 0;
    e->range = 0xFFFFFFFFu;
    e->status = KP_OK;
}

static inline void kp_encoder_carry(kp_encoder *e)
{
    size_t i = e->size;
    while (i > 0 && ++e->out[--i] == 0) {
    }
}

static inline void kp_encoder_byte(kp_encoder *e, uint8_t byte)
{
    if (e->size < e->capacity)
        e->out[e->size++] = byte;
    else
        e->status = KP_CAPACITY;
}

/* Narrows the interval to [offset, offset + range). */
static inline void kp_encoder_narrow(kp_encoder *e, uint32_t offset, uint32_t range)
{
    uint32_t low = e->low + offset;
    if (low < offset)
        kp_encoder_carry(e);
    e->low = low;
    e->range = range;
    while (e->range < KP_RANGE_MIN) {
        kp_encoder_byte(e, (uint8_t)(e->low >> 24));
        e->low <<= 8;
        e->range <<= 8;
    }
}

/* Codes a bit whose probability of being 1 is p1 / 65536, p1 in 1..65535. */
static inline void kp_encode_with(kp_encoder *e, uint32_t p1, uint32_t bit)
{
    uint32_t bound = (uint32_t)(((uint64_t)e->range * p1) >> 16);
    if (bit)
        kp_encoder_narrow(e, 0, bound);
    else
        kp_encoder_narrow(e, bound, e->range - bound);
}

/* Codes an interval of a frequency table, total <= 2^17. */
static inline void kp_encode_interval(kp_encoder *e, uint32_t start, uint32_t frequency, uint32_t total)
{
    uint32_t step = e->range / total;
    kp_encoder_narrow(e, step * start, step * frequency);
}

/* Codes the low `width` bits (0..32) of value, each at one bit. */
static inline void kp_encode_direct(kp_encoder *e, uint32_t value, uint32_t width)
{
    if (width > 16) {
        uint32_t step = e->range >> (width - 16);
        kp_encoder_narrow(e, step * (value >> 16), step);
        value &= 0xFFFFu;
        width = 16;
    }
    if (width > 0) {
        uint32_t step = e->range >> width;
        kp_encoder_narrow(e, step * value, step);
    }
}

/* Writes the value with the fewest bytes inside the final interval, and says how much was written. */
static inline int32_t kp_encoder_finish(kp_encoder *e, size_t *size)
{
    uint64_t top = (uint64_t)e->low + e->range;
    if (top > 0x100000000u)
        kp_encoder_carry(e); /* one, followed by zeros, is inside */
    else if (e->low != 0)
        kp_encoder_byte(e, (uint8_t)(((uint64_t)e->low + 0xFFFFFFu) >> 24));
    *size = e->size;
    return e->status;
}

/* ---- decoder -------------------------------------------------------------------------------------------------- */

typedef struct {
    const uint8_t *data;
    size_t size;
    size_t position; /* counts implicit bytes too: at most size + KP_IMPLICIT_BYTES */
    uint32_t code;
    uint32_t range;
    int32_t status;
} kp_decoder;

/* The first failure is the one reported. */
static inline void kp_decoder_fail(kp_decoder *d, int32_t status)
{
    if (d->status == KP_OK)
        d->status = status;
}

static inline uint32_t kp_decoder_byte(kp_decoder *d)
{
    if (d->position < d->size)
        return d->data[d->position++];
    if (d->position - d->size < KP_IMPLICIT_BYTES)
        d->position++;
    else
        kp_decoder_fail(d, KP_TRUNCATED);
    return 0;
}

static inline void kp_decoder_start(kp_decoder *d, const uint8_t *data, size_t size)
{
    d->data = data;
    d->size = size;
    d->position = 0;
    d->code = 0;
    d->range = 0xFFFFFFFFu;
    d->status = KP_OK;
    for (int i = 0; i < 4; i++)
        d->code = (d->code << 8) | kp_decoder_byte(d);
    if (d->code == 0xFFFFFFFFu) {
        d->status = KP_CORRUPT;
        d->code = 0;
    }
}

static inline void kp_decoder_narrow(kp_decoder *d, uint32_t offset, uint32_t range)
{
    d->code -= offset;
    d->range = range;
    while (d->range < KP_RANGE_MIN) {
        d->code = (d->code << 8) | kp_decoder_byte(d);
        d->range <<= 8;
    }
}

static inline uint32_t kp_decode_with(kp_decoder *d, uint32_t p1)
{
    uint32_t bound = (uint32_t)(((uint64_t)d->range * p1) >> 16);
    if (d->code < bound) {
        kp_decoder_narrow(d, 0, bound);
        return 1;
    }
    kp_decoder_narrow(d, bound, d->range - bound);
    return 0;
}

/* Which slot of `total` equal ones the code is in; the unused end of the range is KP_CORRUPT. */
static inline uint32_t kp_decoder_slot(kp_decoder *d, uint32_t step, uint32_t total)
{
    uint32_t slot = d->code / step;
    if (slot < total)
        return slot;
    kp_decoder_fail(d, KP_CORRUPT);
    d->code = 0;
    return 0;
}

static inline uint32_t kp_decode_direct(kp_decoder *d, uint32_t width)
{
    uint32_t high = 0;
    if (width > 16) {
        uint32_t step = d->range >> (width - 16);
        high = kp_decoder_slot(d, step, 1u << (width - 16));
        kp_decoder_narrow(d, step * high, step);
        width = 16;
    }
    if (width > 0) {
        uint32_t step = d->range >> width;
        uint32_t slot = kp_decoder_slot(d, step, 1u << width);
        kp_decoder_narrow(d, step * slot, step);
        high = (high << width) | slot;
    }
    return high;
}

/* An intact stream leaves three or four bytes implicit; fewer means bytes that no encoder wrote. */
static inline int32_t kp_decoder_finish(const kp_decoder *d)
{
    if (d->status == KP_OK && d->position < d->size + KP_IMPLICIT_BYTES - 1)
        return KP_CORRUPT;
    return d->status;
}

/* ---- adaptive probability: 22 bits of P(1) over 10 bits of count ----------------------------------------------- */

static inline uint32_t kp_state_probability(uint32_t state)
{
    uint32_t p = state >> 16;
    if (p < KP_PROBABILITY_MIN)
        return KP_PROBABILITY_MIN;
    return p > KP_PROBABILITY_MAX ? KP_PROBABILITY_MAX : p;
}

/* Averages while young (1 / (n + 1.5)), then forgets exponentially with 2^-rate. */
static inline uint32_t kp_state_update(uint32_t state, uint32_t rate, uint32_t bit)
{
    uint32_t p = state >> 10, n = state & 1023u;
    uint32_t distance = bit ? KP_STATE_ONE - p : p;
    uint32_t move;
    if (n + 1 < (1u << rate)) {
        move = (uint32_t)(((uint64_t)distance * kp_share_table[n]) >> 16);
        n++;
    } else {
        move = distance >> rate;
    }
    p = bit ? p + move : p - move;
    return (p << 10) | n;
}

static inline void kp_encode_adaptive(kp_encoder *e, uint32_t *state, uint32_t rate, uint32_t bit)
{
    kp_encode_with(e, kp_state_probability(*state), bit);
    *state = kp_state_update(*state, rate, bit);
}

static inline uint32_t kp_decode_adaptive(kp_decoder *d, uint32_t *state, uint32_t rate)
{
    uint32_t bit = kp_decode_with(d, kp_state_probability(*state));
    *state = kp_state_update(*state, rate, bit);
    return bit;
}

/* ---- logistic mixing of two or three adaptive probabilities ---------------------------------------------------- */

/* log2(x) for x in 1..65535, in units of 1/4096. */
static inline int32_t kp_log2(uint32_t x)
{
    uint32_t exponent = 31u - (uint32_t)__builtin_clz(x);
    uint32_t mantissa = x << (15u - exponent);
    uint32_t index = (mantissa >> 9) & 63u, fraction = mantissa & 511u;
    uint32_t base = kp_log2_table[index], next = kp_log2_table[index + 1];
    return (int32_t)(exponent * 4096u + base + (((next - base) * fraction) >> 9));
}

/* log2(p / (1 - p)) for p in 1..65535 of 65536, in units of 1/4096. */
static inline int32_t kp_stretch(uint32_t p)
{
    return kp_log2(p) - kp_log2(65536u - p);
}

/* The inverse of kp_stretch, clamped to the coder's probabilities. */
static inline uint32_t kp_squash(int64_t x)
{
    if (x <= -KP_STRETCH_LIMIT)
        return KP_PROBABILITY_MIN;
    if (x >= KP_STRETCH_LIMIT)
        return KP_PROBABILITY_MAX;
    uint32_t shifted = (uint32_t)(x + KP_STRETCH_LIMIT);
    uint32_t index = shifted >> 10, fraction = shifted & 1023u;
    uint32_t base = kp_squash_table[index], next = kp_squash_table[index + 1];
    return base + (((next - base) * fraction) >> 10);
}

_Static_assert(((int64_t)-3 >> 1) == -2, "shifts of negative numbers must round down");

/* floor(x / 2^shift) */
static inline int64_t kp_floor_shift(int64_t x, uint32_t shift)
{
    return x >> shift;
}

typedef struct {
    uint32_t *states[KP_MIX_INPUTS];
    int32_t *weights; /* [inputs], 65536 is one */
    int32_t stretched[KP_MIX_INPUTS];
    uint32_t probability;
} kp_mixer;

static inline uint32_t kp_mix_probability(kp_mixer *m, uint32_t inputs)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < inputs; i++) {
        m->stretched[i] = kp_stretch(kp_state_probability(*m->states[i]));
        sum += (int64_t)m->weights[i] * m->stretched[i];
    }
    m->probability = kp_squash(kp_floor_shift(sum, 16));
    return m->probability;
}

/* Gradient step on coding cost for the weights, then every state learns the bit. */
static inline void kp_mix_update(kp_mixer *m, uint32_t inputs, uint32_t rate, uint32_t mix_rate, uint32_t bit)
{
    int64_t error = (int64_t)(bit << 16) - m->probability;
    for (uint32_t i = 0; i < inputs; i++) {
        int64_t weight = m->weights[i] + kp_floor_shift(m->stretched[i] * error, mix_rate);
        if (weight > KP_WEIGHT_LIMIT)
            weight = KP_WEIGHT_LIMIT;
        m->weights[i] = (int32_t)(weight < -KP_WEIGHT_LIMIT ? -KP_WEIGHT_LIMIT : weight);
        *m->states[i] = kp_state_update(*m->states[i], rate, bit);
    }
}

static inline void kp_encode_mixed(kp_encoder *e, kp_mixer *m, uint32_t inputs, uint32_t rate, uint32_t mix_rate,
                                   uint32_t bit)
{
    kp_encode_with(e, kp_mix_probability(m, inputs), bit);
    kp_mix_update(m, inputs, rate, mix_rate, bit);
}

static inline uint32_t kp_decode_mixed(kp_decoder *d, kp_mixer *m, uint32_t inputs, uint32_t rate,
                                       uint32_t mix_rate)
{
    uint32_t bit = kp_decode_with(d, kp_mix_probability(m, inputs));
    kp_mix_update(m, inputs, rate, mix_rate, bit);
    return bit;
}

/* ---- the same without branches: odds from a table, one way of learning ----------------------------------------- */

#define KP_BLEND_RATE 7u
#define KP_BLEND_MIX_RATE 19u

/* 1 / (n + 1.5) while young, 2^-KP_BLEND_RATE later. */
static inline uint32_t kp_blend_learn(uint32_t state, uint32_t bit)
{
    const uint32_t oldest = (1u << KP_BLEND_RATE) - 1u;
    uint32_t n = state & 1023u, p = state >> 10;
    int64_t way = (int64_t)(bit ? KP_STATE_ONE : 0u) - p;
    int64_t share = n < oldest ? kp_share_table[n] : 1u << (16u - KP_BLEND_RATE);
    p = (uint32_t)((int64_t)p + ((way * share) >> 16));
    return (p << 10) | (n < oldest ? n + 1u : n);
}

typedef struct {
    uint32_t *states[3];
    int32_t *weights; /* [3], 65536 is one */
    int32_t odds[3];
    uint32_t probability;
} kp_blend;

static inline uint32_t kp_blend_probability(kp_blend *m)
{
    int64_t sum = 0;
    for (int i = 0; i < 3; i++) {
        m->odds[i] = kp_odds_table[*m->states[i] >> 20];
        sum += (int64_t)m->weights[i] * m->odds[i];
    }
    m->probability = kp_squash(sum >> 15);
    return m->probability;
}

static inline void kp_blend_update(kp_blend *m, uint32_t bit)
{
    int64_t error = (int64_t)(bit << 16) - m->probability;
    for (int i = 0; i < 3; i++) {
        int64_t weight = m->weights[i] + ((m->odds[i] * error) >> KP_BLEND_MIX_RATE);
        weight = weight > KP_WEIGHT_LIMIT ? KP_WEIGHT_LIMIT : weight;
        m->weights[i] = (int32_t)(weight < -KP_WEIGHT_LIMIT ? -KP_WEIGHT_LIMIT : weight);
        *m->states[i] = kp_blend_learn(*m->states[i], bit);
    }
}

#endif

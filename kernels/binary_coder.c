/*
 * Arrays of bits and of integers through the adaptive binary range coder.
 *
 * The number of contexts per value is a compile-time constant of the inner loops (one codes directly, two or three
 * are mixed), hence the always-inlined bodies and the small switches that call them.
 */
#include "range_coder.h"

#define KP_INLINE static inline __attribute__((always_inline))
#define KP_ESCAPE_MAX 255u
#define KP_BUCKETS 31u

typedef struct {
    const int32_t *contexts;
    size_t context_count;
    uint32_t *states;
    int32_t *weights;
    uint32_t bins;   /* states per context */
    uint32_t escape; /* unary length before Exp-Golomb */
    uint32_t rate;
    uint32_t mix_rate;
    size_t base[KP_MIX_INPUTS]; /* first state of each of the current value's contexts */
} kp_model;

static int32_t check_model(const kp_model *m, uint32_t inputs)
{
    if (inputs < 1 || inputs > KP_MIX_INPUTS || m->context_count < 1 || m->escape > KP_ESCAPE_MAX)
        return KP_ARGUMENT;
    if (m->rate < KP_RATE_MIN || m->rate > KP_RATE_MAX)
        return KP_ARGUMENT;
    if (inputs > 1 && (!m->weights || !m->contexts || m->mix_rate < KP_MIX_RATE_MIN || m->mix_rate > KP_MIX_RATE_MAX))
        return KP_ARGUMENT;
    return KP_OK;
}

/* Looks up the contexts of value `index`; false when one is out of range. */
KP_INLINE int select_contexts(kp_model *m, uint32_t inputs, size_t index)
{
    if (!m->contexts) {
        m->base[0] = 0;
        return 1;
    }
    for (uint32_t i = 0; i < inputs; i++) {
        int32_t context = m->contexts[index * inputs + i];
        if (context < 0 || (size_t)context >= m->context_count)
            return 0;
        m->base[i] = (size_t)context * m->bins;
    }
    return 1;
}

KP_INLINE void aim_mixer(kp_mixer *mixer, const kp_model *m, uint32_t inputs, uint32_t bin, size_t weight_set)
{
    for (uint32_t i = 0; i < inputs; i++)
        mixer->states[i] = m->states + m->base[i] + bin;
    mixer->weights = m->weights + weight_set * inputs;
}

KP_INLINE void put_bin(kp_encoder *e, const kp_model *m, uint32_t inputs, uint32_t bin, size_t weight_set,
                       uint32_t bit)
{
    if (inputs == 1) {
        kp_encode_adaptive(e, m->states + m->base[0] + bin, m->rate, bit);
    } else {
        kp_mixer mixer;
        aim_mixer(&mixer, m, inputs, bin, weight_set);
        kp_encode_mixed(e, &mixer, inputs, m->rate, m->mix_rate, bit);
    }
}

KP_INLINE uint32_t get_bin(kp_decoder *d, const kp_model *m, uint32_t inputs, uint32_t bin, size_t weight_set)
{
    if (inputs == 1)
        return kp_decode_adaptive(d, m->states + m->base[0] + bin, m->rate);
    kp_mixer mixer;
    aim_mixer(&mixer, m, inputs, bin, weight_set);
    return kp_decode_mixed(d, &mixer, inputs, m->rate, m->mix_rate);
}

/* ---- bits: one bin per context, weights chosen by the first context -------------------------------------------- */

KP_INLINE int32_t encode_bits_with(kp_encoder *e, kp_model *m, uint32_t inputs, const uint8_t *bits, size_t count)
{
    for (size_t i = 0; i < count && e->status == KP_OK; i++) {
        if (!select_contexts(m, inputs, i) || bits[i] > 1)
            return KP_ARGUMENT;
        put_bin(e, m, inputs, 0, m->base[0], bits[i]);
    }
    return e->status;
}

KP_INLINE int32_t decode_bits_with(kp_decoder *d, kp_model *m, uint32_t inputs, uint8_t *bits, size_t count)
{
    for (size_t i = 0; i < count && d->status == KP_OK; i++) {
        if (!select_contexts(m, inputs, i))
            return KP_ARGUMENT;
        bits[i] = (uint8_t)get_bin(d, m, inputs, 0, m->base[0]);
    }
    return d->status;
}

int32_t kp_encode_bits(const uint8_t *bits, size_t count, const int32_t *contexts, uint32_t inputs, uint32_t *states,
                       size_t state_count, int32_t *weights, uint32_t rate, uint32_t mix_rate, uint8_t *out,
                       size_t capacity, size_t *size)
{
    kp_model m = {contexts, state_count, states, weights, 1, 0, rate, mix_rate, {0}};
    kp_encoder e;
    int32_t status = check_model(&m, inputs);
    if (status != KP_OK)
        return status;
    kp_encoder_start(&e, out, capacity);
    status = inputs == 1   ? encode_bits_with(&e, &m, 1, bits, count)
             : inputs == 2 ? encode_bits_with(&e, &m, 2, bits, count)
                           : encode_bits_with(&e, &m, 3, bits, count);
    return status == KP_OK ? kp_encoder_finish(&e, size) : status;
}

int32_t kp_decode_bits(const uint8_t *data, size_t size, uint8_t *bits, size_t count, const int32_t *contexts,
                       uint32_t inputs, uint32_t *states, size_t state_count, int32_t *weights, uint32_t rate,
                       uint32_t mix_rate)
{
    kp_model m = {contexts, state_count, states, weights, 1, 0, rate, mix_rate, {0}};
    kp_decoder d;
    int32_t status = check_model(&m, inputs);
    if (status != KP_OK)
        return status;
    kp_decoder_start(&d, data, size);
    status = inputs == 1   ? decode_bits_with(&d, &m, 1, bits, count)
             : inputs == 2 ? decode_bits_with(&d, &m, 2, bits, count)
                           : decode_bits_with(&d, &m, 3, bits, count);
    return status == KP_OK ? kp_decoder_finish(&d) : status;
}

/* ---- integers: zero flag, sign, unary to the escape, then Exp-Golomb ------------------------------------------- */

enum { BIN_ZERO = 0, BIN_SIGN = 1, BIN_UNARY = 2 };

uint32_t kp_integer_bins(uint32_t escape)
{
    return BIN_UNARY + escape + 2 * KP_BUCKETS;
}

KP_INLINE void put_golomb(kp_encoder *e, const kp_model *m, uint32_t inputs, uint32_t excess)
{
    uint32_t bucket_bin = BIN_UNARY + m->escape, mantissa_bin = bucket_bin + KP_BUCKETS;
    uint32_t number = excess + 1; /* 1 .. 2^31 */
    uint32_t width = 31u - (uint32_t)__builtin_clz(number);
    for (uint32_t i = 0; i < KP_BUCKETS; i++) {
        put_bin(e, m, inputs, bucket_bin + i, bucket_bin + i, width > i);
        if (width <= i)
            break;
    }
    if (width == 0)
        return;
    uint32_t bin = mantissa_bin + width - 1;
    put_bin(e, m, inputs, bin, bin, (number >> (width - 1)) & 1u);
    kp_encode_direct(e, number & ((1u << (width - 1)) - 1u), width - 1);
}

KP_INLINE uint32_t get_golomb(kp_decoder *d, const kp_model *m, uint32_t inputs)
{
    uint32_t bucket_bin = BIN_UNARY + m->escape, mantissa_bin = bucket_bin + KP_BUCKETS;
    uint32_t width = 0;
    while (width < KP_BUCKETS && get_bin(d, m, inputs, bucket_bin + width, bucket_bin + width))
        width++;
    if (width == 0)
        return 0;
    uint32_t bin = mantissa_bin + width - 1;
    uint32_t number = 2u | get_bin(d, m, inputs, bin, bin);
    return ((number << (width - 1)) | kp_decode_direct(d, width - 1)) - 1u;
}

KP_INLINE void put_integer(kp_encoder *e, const kp_model *m, uint32_t inputs, int32_t value)
{
    put_bin(e, m, inputs, BIN_ZERO, BIN_ZERO, value != 0);
    if (value == 0)
        return;
    put_bin(e, m, inputs, BIN_SIGN, BIN_SIGN, value < 0);
    uint32_t rest = (value < 0 ? 0u - (uint32_t)value : (uint32_t)value) - 1u;
    for (uint32_t i = 0; i < m->escape; i++) {
        put_bin(e, m, inputs, BIN_UNARY + i, BIN_UNARY + i, rest > i);
        if (rest <= i)
            return;
    }
    put_golomb(e, m, inputs, rest - m->escape);
}

KP_INLINE int32_t get_integer(kp_decoder *d, const kp_model *m, uint32_t inputs)
{
    if (!get_bin(d, m, inputs, BIN_ZERO, BIN_ZERO))
        return 0;
    uint32_t negative = get_bin(d, m, inputs, BIN_SIGN, BIN_SIGN);
    uint64_t magnitude = 1;
    while (magnitude <= m->escape &&
           get_bin(d, m, inputs, BIN_UNARY + (uint32_t)magnitude - 1, BIN_UNARY + (size_t)magnitude - 1))
        magnitude++;
    if (magnitude > m->escape)
        magnitude += get_golomb(d, m, inputs);
    if (magnitude > 0x7FFFFFFFu + (uint64_t)negative) {
        kp_decoder_fail(d, KP_CORRUPT);
        return 0;
    }
    return (int32_t)(negative ? -(int64_t)magnitude : (int64_t)magnitude);
}

KP_INLINE int32_t encode_integers_with(kp_encoder *e, kp_model *m, uint32_t inputs, const int32_t *values,
                                       size_t count)
{
    for (size_t i = 0; i < count && e->status == KP_OK; i++) {
        if (!select_contexts(m, inputs, i))
            return KP_ARGUMENT;
        put_integer(e, m, inputs, values[i]);
    }
    return e->status;
}

KP_INLINE int32_t decode_integers_with(kp_decoder *d, kp_model *m, uint32_t inputs, int32_t *values, size_t count)
{
    for (size_t i = 0; i < count && d->status == KP_OK; i++) {
        if (!select_contexts(m, inputs, i))
            return KP_ARGUMENT;
        values[i] = get_integer(d, m, inputs);
    }
    return d->status;
}

int32_t kp_encode_integers(const int32_t *values, size_t count, const int32_t *contexts, uint32_t inputs,
                           uint32_t *states, size_t context_count, int32_t *weights, uint32_t escape, uint32_t rate,
                           uint32_t mix_rate, uint8_t *out, size_t capacity, size_t *size)
{
    kp_model m = {contexts, context_count, states, weights, kp_integer_bins(escape), escape, rate, mix_rate, {0}};
    kp_encoder e;
    int32_t status = check_model(&m, inputs);
    if (status != KP_OK)
        return status;
    kp_encoder_start(&e, out, capacity);
    status = inputs == 1   ? encode_integers_with(&e, &m, 1, values, count)
             : inputs == 2 ? encode_integers_with(&e, &m, 2, values, count)
                           : encode_integers_with(&e, &m, 3, values, count);
    return status == KP_OK ? kp_encoder_finish(&e, size) : status;
}

int32_t kp_decode_integers(const uint8_t *data, size_t size, int32_t *values, size_t count, const int32_t *contexts,
                           uint32_t inputs, uint32_t *states, size_t context_count, int32_t *weights,
                           uint32_t escape, uint32_t rate, uint32_t mix_rate)
{
    kp_model m = {contexts, context_count, states, weights, kp_integer_bins(escape), escape, rate, mix_rate, {0}};
    kp_decoder d;
    int32_t status = check_model(&m, inputs);
    if (status != KP_OK)
        return status;
    kp_decoder_start(&d, data, size);
    status = inputs == 1   ? decode_integers_with(&d, &m, 1, values, count)
             : inputs == 2 ? decode_integers_with(&d, &m, 2, values, count)
                           : decode_integers_with(&d, &m, 3, values, count);
    return status == KP_OK ? kp_decoder_finish(&d) : status;
}

/*
 * Entropy coding of quantised weights q[component][position] in decoding order (docs/codecs/kine-mesh.md, "Entropy").
 *
 * Contexts are magnitudes already coded: of the references in the same component, of the same vertex and its
 * references in the components before. Predictions of several adaptive models are mixed logistically.
 */
#include "range_coder.h"

#define INPUTS 6u
#define BINS 20u       /* zero, one, two ... then doubling buckets */
#define UNARY 14u
#define CONTEXTS 256u  /* of one input */
#define STATES (INPUTS * CONTEXTS * BINS + 64u)
#define SETS 24u       /* mixers of one bin */
#define MIX_RATE 18u
#define LARGEST (1u << 24)

typedef struct {
    kp_encoder *encoder; /* exactly one of the two is set */
    kp_decoder *decoder;
    uint32_t *states;
    int32_t *weights;
} coder;

typedef struct {
    uint32_t context[INPUTS];
    uint32_t set;
    uint32_t sign;
} situation;

static const uint8_t RATES[INPUTS] = {7, 7, 7, 6, 7, 8};

static inline uint32_t code_bin(coder *c, const situation *s, uint32_t bin, uint32_t bit)
{
    uint32_t *states[INPUTS];
    int32_t stretched[INPUTS];
    int32_t *weights = c->weights + ((size_t)bin * SETS + s->set) * INPUTS;
    int64_t sum = 0;
    for (uint32_t i = 0; i < INPUTS; i++) {
        states[i] = c->states + ((size_t)i * CONTEXTS + s->context[i]) * BINS + bin;
        stretched[i] = kp_stretch(kp_state_probability(*states[i]));
        sum += (int64_t)weights[i] * stretched[i];
    }
    uint32_t p = kp_squash(kp_floor_shift(sum, 16));
    if (c->decoder)
        bit = kp_decode_with(c->decoder, p);
    else
        kp_encode_with(c->encoder, p, bit);
    int64_t error = (int64_t)(bit << 16) - p;
    for (uint32_t i = 0; i < INPUTS; i++) {
        int64_t weight = weights[i] + kp_floor_shift(stretched[i] * error, MIX_RATE);
        if (weight > KP_WEIGHT_LIMIT)
            weight = KP_WEIGHT_LIMIT;
        weights[i] = (int32_t)(weight < -KP_WEIGHT_LIMIT ? -KP_WEIGHT_LIMIT : weight);
        *states[i] = kp_state_update(*states[i], RATES[i], bit);
    }
    return bit;
}

static inline uint32_t code_direct(coder *c, uint32_t value, uint32_t width)
{
    if (c->decoder)
        return kp_decode_direct(c->decoder, width);
    kp_encode_direct(c->encoder, value, width);
    return value;
}

/* Magnitudes above UNARY: bucket e of UNARY + [2^e, 2^(e+1)) in unary bins, mantissa plain. */
static inline uint32_t code_large(coder *c, const situation *s, uint32_t magnitude)
{
    uint32_t r = magnitude - UNARY, e = 0;
    uint32_t own = c->decoder ? 0 : 31u - (uint32_t)__builtin_clz(r);
    while (code_bin(c, s, UNARY + 1 + (e < 4 ? e : 4), e < own)) {
        if (++e > 23) {
            if (c->decoder)
                kp_decoder_fail(c->decoder, KP_CORRUPT);
            else
                c->encoder->status = KP_ARGUMENT;
            return UNARY + 1;
        }
    }
    return UNARY + ((1u << e) | code_direct(c, r & ((1u << e) - 1u), e));
}

static inline int32_t code_value(coder *c, const situation *s, int32_t value)
{
    uint32_t magnitude = value < 0 ? 0u - (uint32_t)value : (uint32_t)value, coded = 0;
    while (coded <= UNARY && code_bin(c, s, coded, magnitude > coded))
        coded++;
    if (coded == 0)
        return 0;
    if (coded > UNARY)
        coded = code_large(c, s, magnitude);
    uint32_t negative = value < 0, *state = c->states + INPUTS * CONTEXTS * BINS + s->sign;
    if (c->decoder)
        negative = kp_decode_adaptive(c->decoder, state, 7);
    else
        kp_encode_adaptive(c->encoder, state, 7, negative);
    return negative ? -(int32_t)coded : (int32_t)coded;
}

/* 0, 1, 2, 3, 4, 5-6, 7-8 ... : eight steps an octave would be too fine, four do. */
static inline uint32_t scale(uint32_t x, uint32_t most)
{
    uint32_t step;
    if (x < 4) {
        step = x;
    } else {
        uint32_t e = 31u - (uint32_t)__builtin_clz(x);
        step = 4u * (e - 1u) + ((x >> (e - 2)) & 3u);
    }
    return step < most ? step : most;
}

static inline uint32_t size_of(int32_t value)
{
    uint32_t size = value < 0 ? 0u - (uint32_t)value : (uint32_t)value;
    return size < 255 ? size : 255;
}

static inline uint32_t capped(uint32_t value, uint32_t most)
{
    return value < most ? value : most;
}

typedef struct {
    const uint32_t *starts;
    const uint32_t *refs;
    const uint8_t *rings;
    const uint8_t *levels;
    int32_t *q;      /* of this component */
    uint16_t *past;  /* [vertices] running magnitude over components, 1/16 */
    uint32_t component;
    uint32_t running; /* mean magnitude in this component so far, 1/256 */
} scene;

static inline situation look(const scene *x, size_t v, size_t vertices)
{
    situation s;
    uint32_t start = x->starts[v], ring = x->rings[v], count = x->starts[v + 1] - start;
    uint32_t near = 0, far = 0, around = 0;
    int32_t lean = 0;
    uint32_t first[3] = {0, 0, 0};
    for (uint32_t i = 0; i < count; i++) {
        int32_t value = x->q[x->refs[start + i]];
        uint32_t size = size_of(value);
        if (i < ring) {
            near += size;
            around += x->past[x->refs[start + i]];
            lean += (value > 0) - (value < 0);
            if (i < 3)
                first[i] = size;
        } else {
            far += size;
        }
    }
    uint32_t mean = ring ? (16u * near) / ring : 0, spread = count > ring ? (16u * far) / (count - ring) : mean;
    around = ring ? around / ring : 0;
    const int32_t *before = x->q - vertices;
    uint32_t own1 = x->component > 0 ? size_of(before[v]) : 0;
    uint32_t own2 = x->component > 1 ? size_of(before[(ptrdiff_t)v - (ptrdiff_t)vertices]) : 0;
    uint32_t level = capped(x->levels[v] - 1u, 7), past = x->past[v];
    s.context[0] = scale(mean, 31) * 8u + level;
    s.context[1] = capped(own1, 4) * 50u + capped(own2, 4) * 10u + scale(past >> 1, 9);
    s.context[2] = scale((4u * mean + 2u * spread + 3u * past + 3u * around) >> 3, 63) * 4u + capped(level, 3);
    s.context[3] = scale(x->running >> 2, 31) * 8u + level;
    s.context[4] = ((capped(first[0], 3) * 4u + capped(first[1], 3)) * 4u + capped(first[2], 3)) * 4u + capped(own1, 3);
    s.context[5] = capped(x->component, 63) * 4u + capped(level, 3);
    s.set = level * 3u + (near + far == 0 ? 0u : near + far < 4 ? 1u : 2u);
    s.sign = (lean < 0 ? 0u : lean > 0 ? 2u : 1u) * 3u;
    int32_t last = x->component > 0 ? before[v] : 0;
    s.sign += last < 0 ? 0u : last > 0 ? 2u : 1u;
    return s;
}

static void start_models(uint32_t *states, int32_t *weights)
{
    for (size_t i = 0; i < STATES; i++)
        states[i] = 1u << 31;
    for (size_t i = 0; i < (size_t)BINS * SETS * INPUTS; i++)
        weights[i] = 65536 * 3 / 10;
}

static int32_t code_all(coder *c, scene *x, int32_t *q, size_t vertices, size_t components)
{
    for (size_t v = 0; v < vertices; v++)
        x->past[v] = 0;
    for (size_t j = 0; j < components; j++) {
        x->q = q + j * vertices;
        x->component = (uint32_t)(j < 1000 ? j : 1000);
        x->running = 256;
        for (size_t v = 0; v < vertices; v++) {
            situation s = look(x, v, vertices);
            int32_t value = code_value(c, &s, c->decoder ? 0 : x->q[v]);
            if (c->decoder)
                x->q[v] = value;
            uint32_t size = size_of(value);
            x->past[v] = (uint16_t)(x->past[v] + ((int32_t)(16u * size) - (int32_t)x->past[v]) / 4);
            x->running = (uint32_t)((int32_t)x->running + ((int32_t)(256u * size) - (int32_t)x->running) / 32);
        }
        int32_t status = c->decoder ? c->decoder->status : c->encoder->status;
        if (status != KP_OK)
            return status;
    }
    return KP_OK;
}

static int32_t check(size_t vertices, const uint32_t *starts, const uint32_t *refs, const uint8_t *rings,
                     const uint8_t *levels)
{
    for (size_t v = 0; v < vertices; v++) {
        if (starts[v + 1] < starts[v] || rings[v] > starts[v + 1] - starts[v] || levels[v] < 1)
            return KP_ARGUMENT;
        for (uint32_t i = starts[v]; i < starts[v + 1]; i++)
            if (refs[i] >= v)
                return KP_ARGUMENT;
    }
    return KP_OK;
}

int32_t kp_mesh_sizes(size_t *states, size_t *weights)
{
    *states = STATES;
    *weights = (size_t)BINS * SETS * INPUTS;
    return KP_OK;
}

int32_t kp_mesh_encode(const int32_t *q, size_t vertices, size_t components, const uint32_t *starts,
                       const uint32_t *refs, const uint8_t *rings, const uint8_t *levels, uint32_t *states,
                       int32_t *weights, uint16_t *past, uint8_t *out, size_t capacity, size_t *size)
{
    int32_t status = check(vertices, starts, refs, rings, levels);
    if (status != KP_OK)
        return status;
    kp_encoder e;
    coder c = {&e, NULL, states, weights};
    scene x = {starts, refs, rings, levels, NULL, past, 0, 0};
    start_models(states, weights);
    kp_encoder_start(&e, out, capacity);
    status = code_all(&c, &x, (int32_t *)q, vertices, components);
    return status == KP_OK ? kp_encoder_finish(&e, size) : status;
}

int32_t kp_mesh_decode(const uint8_t *data, size_t size, int32_t *q, size_t vertices, size_t components,
                       const uint32_t *starts, const uint32_t *refs, const uint8_t *rings, const uint8_t *levels,
                       uint32_t *states, int32_t *weights, uint16_t *past)
{
    int32_t status = check(vertices, starts, refs, rings, levels);
    if (status != KP_OK)
        return status;
    kp_decoder d;
    coder c = {NULL, &d, states, weights};
    scene x = {starts, refs, rings, levels, NULL, past, 0, 0};
    start_models(states, weights);
    kp_decoder_start(&d, data, size);
    status = code_all(&c, &x, q, vertices, components);
    return status == KP_OK ? kp_decoder_finish(&d) : status;
}

/*
 * Lossless mode of the `kine` codec: decimal integers, predicted from their own past by sent coefficients, residuals
 * coded adaptively. Value = n * 10^k on the finest grid of its channel; k is coded only where it varies.
 */
#include "range_coder.h"

#define TAPS 8u
#define AMPLITUDES 48u
#define BUCKETS 56u
#define RATE 6u
#define FIRST_AMPLITUDE 20u
#define LARGEST ((int64_t)1 << 52)
#define LARGEST_MOVE ((int64_t)1 << 45)
#define POWERS 16u
/* Per amplitude class: BUCKETS unary bins, and two mantissa bits of each bucket (a tree of three). */
#define AMPLITUDE_STATES (BUCKETS + 3u * BUCKETS)
#define POWER_STATES (POWERS * POWERS)

typedef struct {
    kp_encoder *encoder; /* exactly one of the two is set */
    kp_decoder *decoder;
    uint32_t *states;
} lossless_coder;

static inline uint32_t code_bit(lossless_coder *c, uint32_t *state, uint32_t bit)
{
    if (c->decoder)
        return kp_decode_adaptive(c->decoder, state, RATE);
    kp_encode_adaptive(c->encoder, state, RATE, bit);
    return bit;
}

static inline uint64_t code_plain(lossless_coder *c, uint64_t value, uint32_t width)
{
    uint64_t result = 0;
    while (width > 0) {
        uint32_t part = width > 16 ? 16 : width;
        width -= part;
        uint32_t bits = (uint32_t)(value >> width) & ((1u << part) - 1u);
        if (c->decoder)
            bits = kp_decode_direct(c->decoder, part);
        else
            kp_encode_direct(c->encoder, bits, part);
        result = (result << part) | bits;
    }
    return result;
}

static inline uint32_t width_of(uint64_t value)
{
    return value ? 64u - (uint32_t)__builtin_clzll(value) : 0u;
}

/* The power of ten: whether it differs from the channel's last, then its number in unary. */
static uint32_t code_power(lossless_coder *c, uint32_t *states, uint32_t last, uint32_t power)
{
    uint32_t *own = states + last * POWERS;
    if (!code_bit(c, own, power != last))
        return last;
    for (uint32_t i = 0; i < POWERS - 1; i++)
        if (i != last && !code_bit(c, own + 1 + i, power > i))
            return i;
    return POWERS - 1;
}

/* Magnitude by its bit width in unary, starting from the amplitude's expectation; two mantissa bits adaptive. */
static uint64_t code_magnitude(lossless_coder *c, uint32_t amplitude, uint64_t magnitude)
{
    uint32_t *own = c->states + amplitude * AMPLITUDE_STATES;
    uint32_t width = 0, wanted = width_of(magnitude);
    while (width < BUCKETS - 1 && code_bit(c, own + width, wanted > width))
        width++;
    if (width < 2)
        return width;
    uint32_t *tree = own + BUCKETS + 3 * width, node = 0;
    uint64_t value = 1;
    uint32_t rest = width - 1;
    for (uint32_t i = 0; i < 2 && rest > 0; i++) {
        rest--;
        uint32_t bit = code_bit(c, tree + node, (uint32_t)(magnitude >> rest) & 1u);
        value = (value << 1) | bit;
        node = 1 + bit;
    }
    return (value << rest) | code_plain(c, magnitude & (((uint64_t)1 << rest) - 1u), rest);
}

static inline int64_t clamp_move(int64_t move)
{
    if (move > LARGEST_MOVE)
        return LARGEST_MOVE;
    return move < -LARGEST_MOVE ? -LARGEST_MOVE : move;
}

static inline int64_t clamp_surprise(int64_t surprise)
{
    const int64_t most = (int64_t)1 << 40;
    return surprise > most ? most : surprise < -most ? -most : surprise;
}

typedef struct {
    int64_t last;
    int64_t surprise; /* the latest value less what its own past predicts */
    int64_t moves[TAPS]; /* the latest first */
    uint32_t power;
    uint32_t fresh, seen;
    uint32_t amplitude; /* running mean of bit widths, in 1/64 */
} channel_state;

static int64_t predict(const channel_state *s, const int32_t *taps)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < TAPS; i++)
        sum += taps[i] * s->moves[i];
    return s->last + clamp_move(kp_floor_shift(sum, 12));
}

static inline int64_t divide_rounding(int64_t value, int64_t divisor)
{
    int64_t half = divisor / 2;
    return value >= 0 ? (value + half) / divisor : -((-value + half) / divisor);
}

static int32_t code_value(lossless_coder *c, channel_state *s, const int32_t *taps, int64_t linked, uint32_t varies,
                          uint32_t *powers, int64_t *n, uint8_t *k)
{
    static const int64_t tens[POWERS] = {1,          10,          100,          1000,          10000,         100000,
                                         1000000,    10000000,    100000000,    1000000000,    10000000000,   100000000000,
                                         1000000000000, 10000000000000, 100000000000000, 1000000000000000};
    uint32_t power = varies ? code_power(c, powers, s->power, *k) : 0;
    int64_t expected = predict(s, taps), guess = divide_rounding(expected + linked, tens[power]);
    /* Amplitudes count on the finest grid, where a power of ten is log2 10 = 213 / 64 bits. */
    uint32_t coarser = 213u * power, fine = s->amplitude > coarser ? s->amplitude - coarser : 0u;
    uint32_t amplitude = s->fresh ? FIRST_AMPLITUDE : (fine + 32u) >> 6;
    if (amplitude >= AMPLITUDES)
        amplitude = AMPLITUDES - 1;
    int64_t residual = c->decoder ? 0 : *n - guess;
    uint64_t magnitude = code_magnitude(c, amplitude, residual < 0 ? (uint64_t)-residual : (uint64_t)residual);
    uint32_t negative = residual < 0;
    if (magnitude)
        negative = (uint32_t)code_plain(c, negative, 1);
    if (c->decoder) {
        *n = negative ? guess - (int64_t)magnitude : guess + (int64_t)magnitude;
        *k = (uint8_t)power;
    }
    int64_t bound = LARGEST / tens[power];
    if (*n > bound || *n < -bound)
        return c->decoder ? KP_CORRUPT : KP_ARGUMENT;
    int64_t value = *n * tens[power];
    for (uint32_t i = TAPS - 1; i > 0; i--)
        s->moves[i] = s->moves[i - 1];
    s->moves[0] = s->fresh ? 0 : clamp_move(value - s->last);
    s->surprise = s->fresh ? 0 : clamp_surprise(value - expected);
    s->last = value;
    s->power = power;
    int64_t miss = value - expected - linked;
    uint32_t width = 64u * width_of(miss < 0 ? (uint64_t)-miss : (uint64_t)miss), rate = s->seen < 8u ? s->seen : 8u;
    if (s->fresh)
        s->fresh = 0; /* the first value says nothing of the moves to come */
    else if (++s->seen && rate)
        s->amplitude = s->amplitude + width / rate - s->amplitude / rate;
    else
        s->amplitude = width;
    return KP_OK;
}

/* Bit widths scatter about the running mean of their channel; a table says how, until the states know better. */
static void start_states(uint32_t *states)
{
    static const uint16_t onward[9] = {64800, 64000, 62500, 58500, 49000, 33000, 18000, 8000, 3000};
    for (uint32_t a = 0; a < AMPLITUDES; a++) {
        uint32_t *own = states + a * AMPLITUDE_STATES;
        for (uint32_t i = 0; i < BUCKETS; i++) {
            int32_t place = (int32_t)i - (int32_t)a + 5;
            place = place < 0 ? 0 : place > 8 ? 8 : place;
            own[i] = ((uint32_t)onward[place] << 16) | 8u;
        }
        for (uint32_t i = BUCKETS; i < AMPLITUDE_STATES; i++)
            own[i] = (29000u << 16) | 12u;
    }
    for (uint32_t i = 0; i < POWER_STATES; i++)
        states[AMPLITUDES * AMPLITUDE_STATES + i] = i % POWERS ? 1u << 31 : (4000u << 16) | 4u;
}

/* What the other channels' surprises in this frame say of this channel's: weights by shifts, so that grids of any
 * fineness combine. */
static int64_t link_guess(const kp_exact_link *links, uint32_t begin, uint32_t end, const channel_state *history)
{
    int64_t sum = 0;
    for (uint32_t i = begin; i < end; i++) {
        int64_t part = links[i].weight * history[links[i].channel].surprise;
        int32_t shift = links[i].shift;
        sum += shift >= 0 ? kp_floor_shift(part, (uint32_t)shift) : part * ((int64_t)1 << -shift);
    }
    return clamp_move(sum);
}

static int32_t code_all(lossless_coder *c, int64_t *n, uint8_t *k, size_t frames, size_t channels, const int32_t *taps,
                        const uint8_t *varies, const uint32_t *starts, const kp_exact_link *links, uint32_t *states, channel_state *history)
{
    uint32_t *powers = states + AMPLITUDES * AMPLITUDE_STATES;
    c->states = states;
    start_states(states);
    for (size_t i = 0; i < TAPS * channels; i++)
        if (taps[i] > 1 << 14 || taps[i] < -(1 << 14))
            return KP_ARGUMENT;
    for (size_t ch = 0; ch < channels; ch++) {
        if (starts[ch + 1] - starts[ch] > 16u)
            return KP_ARGUMENT;
        for (uint32_t i = starts[ch]; i < starts[ch + 1]; i++)
            if (links[i].channel < 0 || (size_t)links[i].channel >= ch || links[i].weight > 4095 || links[i].weight < -4095 || links[i].shift > 60 ||
                links[i].shift < -4)
                return KP_ARGUMENT;
    }
    for (size_t ch = 0; ch < channels; ch++) {
        channel_state *s = history + ch;
        s->last = 0;
        for (uint32_t i = 0; i < TAPS; i++)
            s->moves[i] = 0;
        s->surprise = 0;
        s->power = 0;
        s->fresh = 1;
        s->seen = 0;
        s->amplitude = 64u * 12u;
    }
    for (size_t t = 0; t < frames; t++)
        for (size_t ch = 0; ch < channels; ch++) {
            size_t at = t * channels + ch;
            int32_t status = code_value(c, history + ch, taps + TAPS * ch,
                                        link_guess(links, starts[ch], starts[ch + 1], history), varies[ch], powers,
                                        n + at, k + at);
            if (status != KP_OK)
                return status;
            if (c->decoder && c->decoder->status != KP_OK)
                return c->decoder->status;
        }
    return KP_OK;
}

uint32_t kp_kine_exact_states(void)
{
    return AMPLITUDES * AMPLITUDE_STATES + POWER_STATES;
}

uint32_t kp_kine_exact_history(void)
{
    return (uint32_t)sizeof(channel_state);
}

/* The history's alignment is the caller's: 8 bytes. */
int32_t kp_kine_exact_decode(const uint8_t *data, size_t size, int64_t *n, uint8_t *k, size_t frames, size_t channels,
                             const int32_t *taps, const uint8_t *varies, const uint32_t *starts, const kp_exact_link *links, uint32_t *states,
                             uint64_t *history)
{
    kp_decoder d;
    lossless_coder c = {NULL, &d, NULL};
    kp_decoder_start(&d, data, size);
    int32_t status =
        code_all(&c, n, k, frames, channels, taps, varies, starts, links, states, (channel_state *)(void *)history);
    return status == KP_OK ? kp_decoder_finish(&d) : status;
}

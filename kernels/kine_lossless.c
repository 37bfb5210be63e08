/*
 * Reader of lossless `kine` streams of versions 1 and 2: decimal integers, predicted from their own past by sent
 * coefficients, residuals coded adaptively. Value = n * 10^k on the finest grid of its channel; k is coded only where
 * it varies.
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

static inline uint32_t read_bit(kp_decoder *d, uint32_t *state)
{
    return kp_decode_adaptive(d, state, RATE);
}

static inline uint64_t read_plain(kp_decoder *d, uint32_t width)
{
    uint64_t result = 0;
    while (width > 0) {
        uint32_t part = width > 16 ? 16 : width;
        width -= part;
        result = (result << part) | kp_decode_direct(d, part);
    }
    return result;
}

static inline uint32_t width_of(uint64_t value)
{
    return value ? 64u - (uint32_t)__builtin_clzll(value) : 0u;
}

/* The power of ten: whether it differs from the channel's last, then its number in unary. */
static uint32_t read_power(kp_decoder *d, uint32_t *states, uint32_t last)
{
    uint32_t *own = states + last * POWERS;
    if (!read_bit(d, own))
        return last;
    for (uint32_t i = 0; i < POWERS - 1; i++)
        if (i != last && !read_bit(d, own + 1 + i))
            return i;
    return POWERS - 1;
}

/* Magnitude by its bit width in unary, starting from the amplitude's expectation; two mantissa bits adaptive. */
static uint64_t read_magnitude(kp_decoder *d, uint32_t *own)
{
    uint32_t width = 0;
    while (width < BUCKETS - 1 && read_bit(d, own + width))
        width++;
    if (width < 2)
        return width;
    uint32_t *tree = own + BUCKETS + 3 * width, node = 0;
    uint64_t value = 1;
    uint32_t rest = width - 1;
    for (uint32_t i = 0; i < 2 && rest > 0; i++) {
        rest--;
        uint32_t bit = read_bit(d, tree + node);
        value = (value << 1) | bit;
        node = 1 + bit;
    }
    return (value << rest) | read_plain(d, rest);
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

static int32_t read_value(kp_decoder *d, uint32_t *states, channel_state *s, const int32_t *taps, int64_t linked,
                          uint32_t varies, int64_t *n, uint8_t *k)
{
    static const int64_t tens[POWERS] = {1,           10,           100,           1000,
                                         10000,       100000,       1000000,       10000000,
                                         100000000,   1000000000,   10000000000,   100000000000,
                                         1000000000000, 10000000000000, 100000000000000, 1000000000000000};
    uint32_t power = varies ? read_power(d, states + AMPLITUDES * AMPLITUDE_STATES, s->power) : 0;
    int64_t expected = predict(s, taps), guess = divide_rounding(expected + linked, tens[power]);
    /* Amplitudes count on the finest grid, where a power of ten is log2 10 = 213 / 64 bits. */
    uint32_t coarser = 213u * power, fine = s->amplitude > coarser ? s->amplitude - coarser : 0u;
    uint32_t amplitude = s->fresh ? FIRST_AMPLITUDE : (fine + 32u) >> 6;
    if (amplitude >= AMPLITUDES)
        amplitude = AMPLITUDES - 1;
    int64_t magnitude = (int64_t)read_magnitude(d, states + amplitude * AMPLITUDE_STATES);
    uint64_t negative = magnitude ? read_plain(d, 1) : 0;
    *n = negative ? guess - magnitude : guess + magnitude;
    *k = (uint8_t)power;
    int64_t bound = LARGEST / tens[power];
    if (*n > bound || *n < -bound)
        return KP_CORRUPT;
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

static int32_t check_model(size_t channels, const int32_t *taps, const uint32_t *starts, const kp_exact_link *links)
{
    for (size_t i = 0; i < TAPS * channels; i++)
        if (taps[i] > 1 << 14 || taps[i] < -(1 << 14))
            return KP_ARGUMENT;
    for (size_t c = 0; c < channels; c++) {
        if (starts[c + 1] - starts[c] > 16u)
            return KP_ARGUMENT;
        for (const kp_exact_link *l = links + starts[c]; l < links + starts[c + 1]; l++)
            if (l->channel < 0 || (size_t)l->channel >= c || l->weight > 4095 || l->weight < -4095 || l->shift > 60 ||
                l->shift < -4)
                return KP_ARGUMENT;
    }
    return KP_OK;
}

static void start_channel(channel_state *s)
{
    s->last = 0;
    for (uint32_t i = 0; i < TAPS; i++)
        s->moves[i] = 0;
    s->surprise = 0;
    s->power = 0;
    s->fresh = 1;
    s->seen = 0;
    s->amplitude = 64u * 12u;
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
                             const int32_t *taps, const uint8_t *varies, const uint32_t *starts,
                             const kp_exact_link *links, uint32_t *states, uint64_t *history)
{
    kp_decoder d;
    channel_state *own = (channel_state *)(void *)history;
    int32_t status = check_model(channels, taps, starts, links);
    kp_decoder_start(&d, data, size);
    start_states(states);
    for (size_t c = 0; c < channels; c++)
        start_channel(own + c);
    for (size_t t = 0; t < frames && status == KP_OK; t++)
        for (size_t c = 0; c < channels && status == KP_OK; c++) {
            int64_t linked = link_guess(links, starts[c], starts[c + 1], own);
            size_t at = t * channels + c;
            status = read_value(&d, states, own + c, taps + TAPS * c, linked, varies[c], n + at, k + at);
            if (status == KP_OK)
                status = d.status;
        }
    return status == KP_OK ? kp_decoder_finish(&d) : status;
}

/*
 * Lossless mode of the `kine` codec: whole numbers on the grid of each channel's decimals.
 *
 * Six least-squares predictors a channel learn as they go: normal equations in integers with exponential
 * forgetting, solved by a few Gauss-Seidel sweeps a frame, which is stable whatever the data. Each is a place and two
 * spreads of a distribution; their mixture gives the probability of every binary decision.
 */
#include "range_coder.h"

#define EXPERTS 6u
#define SPREADS (2u * EXPERTS)
#define HISTORY 16u
#define OWN 1u
#define NEAR 6u
#define NEAREST 2u
#define FAR 60u
#define MOST_FEATURES (OWN + FAR)
#define UNIT_BITS 14
#define WEIGHT_BITS 18
#define MOST_WEIGHT ((int64_t)1 << 21)
#define MOST_MOVE ((int64_t)1 << 22)
#define MOST_PLACE ((int64_t)1 << 26)
#define PRODUCT_SHIFT 22u
#define RIDGE ((int64_t)1 << 14)
#define LARGEST ((int64_t)1 << 52)
#define YOUNG 128u
#define YOUNG_SWEEPS 4u
#define TAILS 1025u
#define ONE ((int64_t)1 << 30)
#define DYADIC 16u
#define DYADIC_BITS 22u
#define MOST_DYADIC ((int64_t)1 << (DYADIC_BITS - 1))
#define DYADIC_STATES (1u + DYADIC_BITS + DYADIC_BITS * DYADIC_BITS)
#define DYADIC_RATE 5u
/* 2^-68 rad in degrees, on the grid of 10^-22, times 2^28 */
#define DYADIC_UNIT 521102079011
#define DYADIC_SHIFT 28u

static const int64_t tens[16] = {1,          10,          100,          1000,          10000,          100000,
                                 1000000,    10000000,    100000000,    1000000000,    10000000000,    100000000000,
                                 1000000000000, 10000000000000, 100000000000000, 1000000000000000};

typedef struct {
    uint32_t order, sweeps, forget;
    int64_t *weights, *target, *normal; /* [order], [order], [order, order] */
    int64_t features[MOST_FEATURES];
    int64_t guess;
} expert;

typedef struct {
    uint32_t digits;
    int32_t scale;
    int64_t last, first, place, place_before;
    int64_t moves[HISTORY]; /* the latest first, 2^UNIT_BITS is a typical one */
    int64_t spreads[SPREADS]; /* running means of misses, in 1/16 */
    int64_t credits[SPREADS]; /* log2 of how well each has done lately, in 1/256 */
    uint32_t seen;
    uint32_t *states; /* of a dyadic channel */
    expert experts[EXPERTS];
} number_channel;

typedef struct {
    kp_encoder *encoder; /* exactly one of the two is set */
    kp_decoder *decoder;
    int64_t tails[TAILS];
    int64_t shares[SPREADS], scales[SPREADS], places[SPREADS];
    int64_t total;
    uint32_t best;
} number_coder;

/* ---- small arithmetic ------------------------------------------------------------------------------------------ */

static inline int64_t clamp(int64_t value, int64_t most)
{
    return value > most ? most : value < -most ? -most : value;
}

static inline int64_t size_of(int64_t value)
{
    return value < 0 ? -value : value;
}

static inline int32_t width_of(int64_t magnitude)
{
    return magnitude ? 64 - __builtin_clzll((uint64_t)magnitude) : 0;
}

/* value / 2^shift to the nearest, or times 2^-shift */
static inline int64_t scaled(int64_t value, int32_t shift)
{
    if (shift <= 0)
        return value * ((int64_t)1 << -shift);
    return kp_floor_shift(value + ((int64_t)1 << (shift - 1)), (uint32_t)shift);
}

static uint64_t square_root(uint64_t value)
{
    uint64_t root = 0, bit = (uint64_t)1 << 62;
    while (bit > value)
        bit >>= 2;
    for (; bit; bit >>= 2) {
        if (value >= root + bit) {
            value -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    return root;
}

/* log2 in 1/256, its mantissa taken as linear. */
static inline int64_t log2_of(int64_t value)
{
    int32_t width = width_of(value);
    int64_t mantissa = width > 9 ? value >> (width - 9) : value << (9 - width);
    return 256 * (int64_t)(width - 1) + mantissa - 256;
}

/* ---- printed numbers: rank among all numbers of so many significant digits ---------------------------------- */

static uint32_t power_of(int64_t magnitude, uint32_t digits)
{
    uint32_t power = 0;
    if (digits)
        while (digits + power < 16 && magnitude >= tens[digits + power])
            power++;
    return power;
}

static int64_t rank_of(int64_t value, uint32_t digits)
{
    int64_t magnitude = size_of(value);
    uint32_t power = power_of(magnitude, digits);
    if (power)
        magnitude = magnitude / tens[power] + (int64_t)power * (tens[digits] - tens[digits - 1]);
    return value < 0 ? -magnitude : magnitude;
}

static int64_t value_of(int64_t rank, uint32_t digits)
{
    int64_t magnitude = size_of(rank);
    if (digits && magnitude >= tens[digits]) {
        int64_t decade = tens[digits] - tens[digits - 1], power = (magnitude - tens[digits - 1]) / decade;
        magnitude = (magnitude - power * decade) * tens[power];
    }
    return rank < 0 ? -magnitude : magnitude;
}

/* ---- prediction ------------------------------------------------------------------------------------------------ */

static int64_t normalised(int64_t value, int32_t scale, int64_t most)
{
    return clamp(scaled(clamp(value, (int64_t)1 << 46), scale - UNIT_BITS), most);
}

/* Earlier channels that an expert looks at, and those whose products it looks at. */
static size_t near_of(size_t channel, uint32_t which)
{
    static const uint8_t most[EXPERTS] = {0, FAR, NEAR, NEAR, NEAR, NEAREST};
    return channel < most[which] ? channel : most[which];
}

static size_t curved_of(size_t channel, uint32_t which)
{
    return which >= 4 ? near_of(channel, which) : 0;
}

/* What an expert of channel c looks at: own moves, then moves of earlier channels in this frame and the last, then
 * moves of products of their places, which follow a curved dependence. */
static void look(const number_channel *all, size_t c, uint32_t which, int64_t *x)
{
    uint32_t own = which == 0 ? HISTORY : OWN, n = 0;
    size_t near = near_of(c, which), curved = curved_of(c, which);
    for (; n < own; n++)
        x[n] = all[c].moves[n];
    for (size_t j = 1; j <= near; j++) {
        x[n++] = all[c - j].moves[0];
        if (which == 2)
            x[n++] = all[c - j].moves[1];
    }
    for (size_t i = 1; i <= curved; i++)
        for (size_t j = i; j <= curved; j++) {
            const number_channel *a = all + c - i, *b = all + c - j;
            int64_t moved = a->place * b->place - a->place_before * b->place_before;
            x[n++] = clamp(kp_floor_shift(moved, PRODUCT_SHIFT), MOST_MOVE);
        }
}

static void predict(expert *e, const number_channel *own)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < e->order; i++)
        sum += e->weights[i] * e->features[i];
    e->guess = clamp(own->last + scaled(sum, WEIGHT_BITS + UNIT_BITS - own->scale), LARGEST);
}

/* A frame counts by the inverse of what is expected to be missed, and no number is larger than 2^14. */
static void learn(expert *e, int64_t move, int64_t spread, uint32_t seen)
{
    int64_t x[MOST_FEATURES], largest = size_of(move);
    uint32_t n = e->order;
    for (uint32_t i = 0; i < n; i++)
        largest |= size_of(e->features[i]);
    int32_t shift = width_of(largest) - UNIT_BITS, wanted = width_of(spread) - 9;
    shift = wanted > shift ? wanted : shift;
    for (uint32_t i = 0; i < n; i++)
        x[i] = scaled(e->features[i], shift);
    move = scaled(move, shift);
    for (uint32_t i = 0; i < n; i++) {
        int64_t *row = e->normal + (size_t)i * n;
        for (uint32_t j = 0; j < n; j++)
            row[j] += x[i] * x[j] - (row[j] >> e->forget);
        e->target[i] += x[i] * move - (e->target[i] >> e->forget);
    }
    uint32_t sweeps = e->sweeps + (seen < YOUNG ? YOUNG_SWEEPS : 0);
    for (uint32_t sweep = 0; sweep < sweeps; sweep++)
        for (uint32_t i = 0; i < n; i++) {
            const int64_t *row = e->normal + (size_t)i * n;
            uint64_t left = (uint64_t)e->target[i] << WEIGHT_BITS;
            for (uint32_t j = 0; j < n; j++)
                left -= (uint64_t)row[j] * (uint64_t)e->weights[j];
            e->weights[i] = clamp(e->weights[i] + (int64_t)left / (row[i] + 1), MOST_WEIGHT);
        }
}

/* ---- mixture --------------------------------------------------------------------------------------------------- */

/* Tails of the distribution 1/2 + z / (2 sqrt(1 + z^2)), Student's with two degrees of freedom, at z = i / 32. */
static void start_tails(int64_t *tails)
{
    for (uint64_t i = 0; i < TAILS; i++)
        tails[i] = (ONE - (int64_t)((i << 45) / square_root((1024 + i * i) << 30))) / 2;
}

static int64_t tail(const int64_t *tails, int64_t z)
{
    if (z >= 32 << 10) {
        z = z < (int64_t)1 << 23 ? z : (int64_t)1 << 23;
        return ((int64_t)1 << 48) / (z * z + 786432);
    }
    int64_t base = tails[z >> 5], next = tails[(z >> 5) + 1];
    return base - ((base - next) * (z & 31) >> 5);
}

/* Share of the mixture below the edge under a rank. */
static int64_t below(const number_coder *c, int64_t rank, uint32_t digits)
{
    int64_t edge = value_of(rank - 1, digits) + value_of(rank, digits), sum = 0;
    for (uint32_t i = 0; i < SPREADS; i++) {
        if (!c->shares[i])
            continue;
        int64_t distance = edge - 2 * c->places[i], size = size_of(distance);
        size = size < (int64_t)1 << 49 ? size : (int64_t)1 << 49;
        int64_t part = tail(c->tails, size * 8192 / c->scales[i]);
        sum += c->shares[i] * (distance < 0 ? part : ONE - part);
    }
    return sum;
}

static void mix(number_coder *c, const number_channel *own)
{
    int64_t most = own->credits[0];
    c->best = 0;
    for (uint32_t i = 1; i < SPREADS; i++)
        if (own->credits[i] > most) {
            most = own->credits[i];
            c->best = i;
        }
    c->total = 0;
    for (uint32_t i = 0; i < SPREADS; i++) {
        int64_t less = most - own->credits[i];
        c->shares[i] = less < 13 * 256 ? (512 - (less & 255)) << 3 >> (less >> 8) : 0;
        c->places[i] = own->experts[i / 2].guess;
        c->scales[i] = i % 2 ? own->spreads[i] + (own->spreads[i] >> 2) : own->spreads[i];
        c->total += c->shares[i] * ONE;
    }
}

/* How well each did, then how far off it was; a number is known to its grid only. */
static void judge(number_coder *c, number_channel *own, int64_t value)
{
    int64_t grid = tens[power_of(size_of(value), own->digits)], most = 0;
    for (uint32_t i = 0; i < SPREADS; i++) {
        int64_t miss = size_of(value - c->places[i]), spread = c->scales[i];
        int64_t far = 16 * (miss < (int64_t)1 << 49 ? miss : (int64_t)1 << 49), near = spread;
        int32_t shift = width_of(far | near) - 31;
        shift = shift > 0 ? shift : 0;
        far >>= shift;
        near >>= shift;
        int64_t density = log2_of(near * near + 1) - 3 * log2_of(near * near + far * far + 1) / 2 - 256 * (int64_t)shift;
        own->credits[i] = kp_floor_shift(own->credits[i] * 13, 4) + density;
        most = i && most > own->credits[i] ? most : own->credits[i];
        int64_t seen = 16 * miss > 5 * grid ? 16 * miss : 5 * grid, age = i % 2 ? 20 : 4;
        seen = seen < (int64_t)1 << 54 ? seen : (int64_t)1 << 54;
        age = own->seen + 1 < age ? own->seen + 1 : age;
        own->spreads[i] += (seen - own->spreads[i]) / age;
    }
    for (uint32_t i = 0; i < SPREADS; i++)
        own->credits[i] -= most;
}

/* ---- coding ---------------------------------------------------------------------------------------------------- */

static uint32_t code_with(number_coder *c, uint32_t probability, uint32_t bit)
{
    if (c->decoder)
        return kp_decode_with(c->decoder, probability);
    kp_encode_with(c->encoder, probability, bit);
    return bit;
}

static uint64_t code_plain(number_coder *c, uint64_t value, uint32_t width)
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

static uint32_t probability_of(int64_t part, int64_t whole)
{
    int64_t p = whole > 0 && part > 0 ? (part << 16) / whole : 0;
    return p < KP_PROBABILITY_MIN ? KP_PROBABILITY_MIN : p > KP_PROBABILITY_MAX ? KP_PROBABILITY_MAX : (uint32_t)p;
}

/* A number below `count`, all alike. */
static int64_t code_uniform(number_coder *c, int64_t number, int64_t count)
{
    int64_t base = 0;
    while (count > 1) {
        int32_t width = width_of(count - 1) - 1;
        int64_t half = (int64_t)1 << width;
        if (half * 2 == count)
            return base + (int64_t)code_plain(c, (uint64_t)(number - base), (uint32_t)width + 1);
        int32_t coarse = width > 40 ? width - 40 : 0;
        if (!code_with(c, probability_of((count - half) >> coarse, count >> coarse), number - base >= half))
            return base + (int64_t)code_plain(c, (uint64_t)(number - base), (uint32_t)width);
        base += half;
        count -= half;
    }
    return base;
}

typedef struct {
    int64_t low, high;           /* ranks: low <= rank < high */
    int64_t below_low, below_high; /* share of the mixture */
} bracket;

/* Whether the rank is at least `middle`, which becomes an end of the bracket. */
static uint32_t split(number_coder *c, bracket *b, int64_t middle, uint32_t digits, int64_t rank)
{
    int64_t share = below(c, middle, digits);
    if (code_with(c, probability_of(b->below_high - share, b->below_high - b->below_low), rank >= middle)) {
        b->low = middle;
        b->below_low = share;
        return 1;
    }
    b->high = middle;
    b->below_high = share;
    return 0;
}

static int64_t code_rank(number_coder *c, uint32_t digits, int64_t rank)
{
    int64_t most = rank_of(LARGEST, digits), center = c->places[c->best], step = c->scales[c->best] >> 4;
    bracket b = {-most, most + 1, 0, c->total};
    int64_t middle = rank_of(center, digits);
    if (middle <= b.low)
        middle = b.low + 1;
    uint32_t up = split(c, &b, middle, digits, rank);
    for (step += !step; step < LARGEST; step *= 2) {
        int64_t edge = rank_of(clamp(up ? center + step : center - step, LARGEST), digits);
        if (edge > b.low && edge < b.high && split(c, &b, edge, digits, rank) != up)
            break;
    }
    for (uint32_t i = 0; i < 3 && b.high - b.low > 1; i++)
        split(c, &b, b.low + (b.high - b.low) / 2, digits, rank);
    return b.low + code_uniform(c, rank - b.low, b.high - b.low);
}

/* The first number of a segment: size, bits, sign. */
static int64_t code_first(number_coder *c, int64_t rank)
{
    uint32_t width = (uint32_t)code_plain(c, (uint64_t)width_of(size_of(rank)), 6);
    if (!width)
        return 0;
    uint64_t top = (uint64_t)1 << (width - 1), size = (uint64_t)size_of(rank);
    size = top | code_plain(c, size & (top - 1), width - 1);
    return code_plain(c, rank < 0, 1) ? -(int64_t)size : (int64_t)size;
}

/* ---- rounding noise: multiples of 2^-68 rad -------------------------------------------------------------------- */

static uint32_t code_adaptive(number_coder *c, uint32_t *state, uint32_t bit)
{
    if (c->decoder)
        return kp_decode_adaptive(c->decoder, state, DYADIC_RATE);
    kp_encode_adaptive(c->encoder, state, DYADIC_RATE, bit);
    return bit;
}

static uint32_t code_unary(number_coder *c, uint32_t *states, uint32_t value, uint32_t most)
{
    uint32_t found = 0;
    while (found < most && code_adaptive(c, states + found, value > found))
        found++;
    return found;
}

/* As it is printed, on the grid of 10^-22. */
static int64_t dyadic_value(int64_t multiple, uint32_t digits)
{
    int64_t product = size_of(multiple) * DYADIC_UNIT;
    int64_t grid = tens[power_of(product >> DYADIC_SHIFT, digits)];
    int64_t value = ((product >> (DYADIC_SHIFT - 1)) / grid + 1) / 2 * grid;
    return multiple < 0 ? -value : value;
}

/* The roundest multiple that is printed like this, or the nearest. */
static int64_t multiple_of(int64_t value, uint32_t digits)
{
    int64_t nearest = (clamp(size_of(value), LARGEST >> 10) << 20) / (DYADIC_UNIT >> 9), multiple = 0;
    for (int32_t zeros = DYADIC_BITS - 2; zeros >= 0; zeros--) {
        multiple = ((nearest >> zeros) + 1) / 2 * ((int64_t)1 << zeros);
        if (multiple < MOST_DYADIC && dyadic_value(multiple, digits) == size_of(value))
            break;
    }
    return value < 0 ? -multiple : multiple;
}

static int32_t code_dyadic(number_coder *c, number_channel *own, int64_t *value)
{
    uint32_t digits = own->digits - DYADIC, *states = own->states;
    int64_t multiple = c->decoder ? 0 : multiple_of(*value, digits);
    uint64_t size = (uint64_t)size_of(multiple);
    if (size >= (uint64_t)MOST_DYADIC || (!c->decoder && dyadic_value(multiple, digits) != *value))
        return KP_ARGUMENT;
    if (!code_adaptive(c, states, size != 0)) {
        *value = 0;
        return KP_OK;
    }
    uint32_t zeros = code_unary(c, states + 1, size ? (uint32_t)__builtin_ctzll(size) : 0, DYADIC_BITS - 2);
    size >>= zeros;
    uint32_t width = code_unary(c, states + 1 + DYADIC_BITS * (1 + zeros), (uint32_t)width_of((int64_t)(size >> 1)),
                                DYADIC_BITS - 2 - zeros);
    if (width) {
        uint64_t top = (uint64_t)1 << (width - 1), half = top | code_plain(c, (size >> 1) & (top - 1), width - 1);
        size = 2 * half + 1;
    } else {
        size = 1;
    }
    uint32_t negative = (uint32_t)code_plain(c, multiple < 0, 1);
    multiple = (int64_t)(size << zeros);
    *value = dyadic_value(negative ? -multiple : multiple, digits);
    return KP_OK;
}

/* ---- frames ---------------------------------------------------------------------------------------------------- */

static int32_t code_number(number_coder *c, number_channel *all, size_t at, int64_t *value)
{
    number_channel *own = all + at;
    int64_t rank = c->decoder ? 0 : rank_of(*value, own->digits);
    if (!c->decoder && (size_of(*value) > LARGEST || value_of(rank, own->digits) != *value))
        return KP_ARGUMENT;
    if (!own->seen) {
        rank = code_first(c, rank);
    } else {
        for (uint32_t i = 0; i < EXPERTS; i++) {
            look(all, at, i, own->experts[i].features);
            predict(own->experts + i, own);
        }
        mix(c, own);
        rank = code_rank(c, own->digits, rank);
    }
    if (size_of(rank) > rank_of(LARGEST, own->digits))
        return KP_CORRUPT;
    *value = value_of(rank, own->digits);
    int64_t move = 0;
    if (own->seen) {
        move = normalised(*value - own->last, own->scale, MOST_MOVE);
        judge(c, own, *value);
        for (uint32_t i = 0; i < EXPERTS; i++)
            learn(own->experts + i, move, normalised(own->spreads[2 * i + 1] >> 4, own->scale, MOST_MOVE), own->seen);
    } else {
        own->first = *value;
    }
    own->seen++;
    for (uint32_t i = HISTORY - 1; i > 0; i--)
        own->moves[i] = own->moves[i - 1];
    own->moves[0] = move;
    own->place_before = own->place;
    own->place = normalised(*value - own->first, own->scale, MOST_PLACE);
    own->last = *value;
    return KP_OK;
}

static uint32_t order_of(size_t channel, uint32_t which)
{
    size_t near = near_of(channel, which), curved = curved_of(channel, which);
    return (uint32_t)((which == 0 ? HISTORY : OWN) + (which == 2 ? 2 : 1) * near + curved * (curved + 1) / 2);
}

/* Eight-byte words that a segment needs. */
uint32_t kp_kine_numbers_room(const uint8_t *digits, size_t channels)
{
    uint64_t words = ((uint64_t)channels * sizeof(number_channel) + 7) / 8;
    size_t at = 0;
    for (size_t c = 0; c < channels; c++) {
        if (digits[c] >= DYADIC) {
            words += (DYADIC_STATES + 1) / 2;
            continue;
        }
        for (uint32_t i = 0; i < EXPERTS; i++) {
            size_t n = order_of(at, i);
            words += n * (n + 2);
        }
        at++;
    }
    return words < UINT32_MAX ? (uint32_t)words : UINT32_MAX;
}

static int64_t *start_channel(number_channel *own, size_t at, int64_t *room)
{
    static const uint32_t sweeps[EXPERTS] = {2, 1, 3, 3, 3, 3}, forget[EXPERTS] = {9, 9, 8, 5, 9, 8};
    for (uint32_t i = 0; i < SPREADS; i++) {
        own->spreads[i] = (int64_t)16 << own->scale;
        own->credits[i] = 0;
    }
    for (uint32_t i = 0; i < HISTORY; i++)
        own->moves[i] = 0;
    own->last = own->first = own->place = own->place_before = 0;
    for (uint32_t i = 0; i < EXPERTS; i++) {
        expert *e = own->experts + i;
        size_t n = e->order = order_of(at, i);
        e->sweeps = sweeps[i];
        e->forget = forget[i];
        e->weights = room;
        e->target = room + n;
        e->normal = room + 2 * n;
        room += n * (n + 2);
        for (size_t j = 0; j < n * (n + 2); j++)
            e->weights[j] = 0;
        for (size_t j = 0; j < n; j++)
            e->normal[j * (n + 1)] = RIDGE;
    }
    return room;
}

/* Channels with predictors stand first in `all`, the others at its end, backwards. */
static int32_t start(number_channel *all, size_t channels, const uint8_t *digits, const int8_t *scales, int64_t *room)
{
    size_t at = 0, from_end = channels;
    for (size_t c = 0; c < channels; c++) {
        uint32_t dyadic = digits[c] >= DYADIC;
        number_channel *own = all + (dyadic ? --from_end : at);
        if (digits[c] >= 2 * DYADIC || digits[c] == DYADIC || scales[c] < 0 || scales[c] > 40)
            return KP_ARGUMENT;
        own->digits = digits[c];
        own->scale = scales[c];
        own->seen = 0;
        if (dyadic) {
            own->states = (uint32_t *)(void *)room;
            for (uint32_t i = 0; i < DYADIC_STATES; i++)
                own->states[i] = 1u << 31;
            room += (DYADIC_STATES + 1) / 2;
        } else {
            room = start_channel(own, at++, room);
        }
    }
    return KP_OK;
}

static int32_t code_all(number_coder *c, int64_t *numbers, size_t frames, size_t channels, const uint8_t *digits,
                        const int8_t *scales, int64_t *room)
{
    number_channel *all = (number_channel *)(void *)room;
    if (kp_kine_numbers_room(digits, channels) == UINT32_MAX) /* more than can be told, so there is not that much */
        return KP_ARGUMENT;
    int32_t status = start(all, channels, digits, scales, room + (channels * sizeof(number_channel) + 7) / 8);
    start_tails(c->tails);
    for (size_t t = 0; t < frames && status == KP_OK; t++) {
        size_t at = 0, from_end = channels;
        for (size_t i = 0; i < channels && status == KP_OK; i++) {
            int64_t *number = numbers + t * channels + i;
            if (digits[i] >= DYADIC)
                status = code_dyadic(c, all + --from_end, number);
            else
                status = code_number(c, all, at++, number);
        }
        if (c->decoder && c->decoder->status != KP_OK)
            return c->decoder->status;
    }
    return status;
}

int32_t kp_kine_numbers_encode(int64_t *numbers, size_t frames, size_t channels, const uint8_t *digits,
                               const int8_t *scales, int64_t *room, uint8_t *out, size_t capacity, size_t *size)
{
    kp_encoder e;
    number_coder c;
    c.encoder = &e;
    c.decoder = NULL;
    kp_encoder_start(&e, out, capacity);
    int32_t status = code_all(&c, numbers, frames, channels, digits, scales, room);
    if (status != KP_OK)
        return status;
    return e.status == KP_OK ? kp_encoder_finish(&e, size) : e.status;
}

int32_t kp_kine_numbers_decode(const uint8_t *data, size_t size, int64_t *numbers, size_t frames, size_t channels,
                               const uint8_t *digits, const int8_t *scales, int64_t *room)
{
    kp_decoder d;
    number_coder c;
    c.encoder = NULL;
    c.decoder = &d;
    kp_decoder_start(&d, data, size);
    int32_t status = code_all(&c, numbers, frames, channels, digits, scales, room);
    return status == KP_OK ? kp_decoder_finish(&d) : status;
}

/* The mixture of the lossless mode of `kine`, its decisions and how they are coded. */
#ifndef KINEPACK_KINE_NUMBER_MIXTURE_H
#define KINEPACK_KINE_NUMBER_MIXTURE_H

#include "kine_number_types.h"

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

/* Share of the mixture below the edge under a rank, and of each distribution in it. */
static int64_t below(const number_coder *c, int64_t rank, uint32_t digits, int64_t *parts)
{
    int64_t edge = value_of(rank - 1, digits) + value_of(rank, digits), sum = 0;
    for (uint32_t i = 0; i < 2 * c->experts; i++) {
        parts[i] = 0;
        if (!c->shares[i] && !c->prior)
            continue;
        int64_t distance = edge - 2 * c->places[i], size = size_of(distance);
        size = size < (int64_t)1 << 49 ? size : (int64_t)1 << 49;
        int64_t part = tail(c->tails, size * 8192 / c->scales[i]);
        parts[i] = distance < 0 ? part : ONE - part;
        sum += c->shares[i] * parts[i];
    }
    return sum;
}

static void mix(number_coder *c, const number_channel *own)
{
    int64_t most = own->credits[0];
    c->best = 0;
    for (uint32_t i = 1; i < 2 * c->experts; i++)
        if (own->credits[i] > most) {
            most = own->credits[i];
            c->best = i;
        }
    c->total = 0;
    for (uint32_t i = 0; i < 2 * c->experts; i++) {
        int64_t less = most - own->credits[i];
        c->shares[i] = less < 13 * 256 ? (512 - (less & 255)) << 3 >> (less >> 8) : 0;
        c->places[i] = own->experts[i / 2].guess;
        c->scales[i] = i % 2 ? own->spreads[i] + (own->spreads[i] >> 2) : own->spreads[i];
        c->total += c->shares[i] * ONE;
    }
}

/* How many numbers a spread is the mean of. Predictors get better fast at first, so that what they missed says little. */
static int64_t age_of(uint32_t spread, uint32_t seen)
{
    uint32_t slow = 1 + seen / 2;
    if (spread % 2)
        return slow < 20 ? slow : 20;
    return seen < 30 ? 2 : 4;
}

static int64_t swept_age_of(uint32_t spread, uint32_t seen)
{
    uint32_t age = spread % 2 ? 20 : 4;
    return seen + 1 < age ? seen + 1 : age;
}

/* How well each did, then how far off it was; a number is known to its grid only. */
static void judge(number_coder *c, number_channel *own, int64_t value)
{
    int64_t grid = tens[power_of(size_of(value), own->digits)], most = 0;
    for (uint32_t i = 0; i < 2 * c->experts; i++) {
        int64_t miss = size_of(value - c->places[i]), spread = c->scales[i];
        int64_t far = 16 * (miss < (int64_t)1 << 49 ? miss : (int64_t)1 << 49), near = spread;
        int32_t shift = width_of(far | near) - 31;
        shift = shift > 0 ? shift : 0;
        far >>= shift;
        near >>= shift;
        int64_t density = log2_of(near * near + 1) - 3 * log2_of(near * near + far * far + 1) / 2;
        own->credits[i] = kp_floor_shift(own->credits[i] * 13, 4) + density - 256 * (int64_t)shift;
        most = i && most > own->credits[i] ? most : own->credits[i];
        int64_t seen = 16 * miss > 5 * grid ? 16 * miss : 5 * grid;
        seen = seen < (int64_t)1 << 54 ? seen : (int64_t)1 << 54;
        own->spreads[i] += (seen - own->spreads[i]) / (c->prior ? age_of(i, own->seen) : swept_age_of(i, own->seen));
    }
    for (uint32_t i = 0; i < 2 * c->experts; i++)
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
    int64_t parts_low[SPREADS], parts_high[SPREADS];
} bracket;

/* What the mixture and each expert say of a decision, weighed on a logistic scale: experts that agree count for more
 * than their mean. */
typedef struct {
    int32_t *weights, odds[1 + EXPERTS];
    uint32_t count, probability;
} blend;

static void weigh(number_coder *c, blend *m, const bracket *b, const int64_t *parts, uint32_t mixed)
{
    int64_t sum = 0;
    m->weights = c->weights[c->decision < DECISIONS ? c->decision : DECISIONS - 1];
    m->count = 1 + c->experts;
    for (uint32_t i = 0; i < m->count; i++) {
        uint32_t p = mixed;
        if (i) {
            uint32_t k = 2 * i - 2;
            int64_t part = (c->shares[k] + 1) * (b->parts_high[k] - parts[k]) +
                           (c->shares[k + 1] + 1) * (b->parts_high[k + 1] - parts[k + 1]);
            int64_t whole = (c->shares[k] + 1) * (b->parts_high[k] - b->parts_low[k]) +
                            (c->shares[k + 1] + 1) * (b->parts_high[k + 1] - b->parts_low[k + 1]);
            p = whole > 0 ? probability_of(part, whole) : 32768;
        }
        m->odds[i] = kp_stretch(p);
        sum += (int64_t)m->weights[i] * m->odds[i];
    }
    m->probability = kp_squash(kp_floor_shift(sum, 16));
}

static void correct(blend *m, uint32_t bit)
{
    int64_t error = (int64_t)(bit << 16) - m->probability;
    for (uint32_t i = 0; i < m->count; i++) {
        int64_t weight = m->weights[i] + kp_floor_shift(m->odds[i] * error, WEIGH_RATE);
        m->weights[i] = (int32_t)clamp(weight, KP_WEIGHT_LIMIT);
    }
}

/* Whether the rank is at least `middle`, which becomes an end of the bracket. */
static uint32_t split(number_coder *c, bracket *b, int64_t middle, uint32_t digits, int64_t rank)
{
    int64_t parts[SPREADS], share = below(c, middle, digits, parts);
    uint32_t p = probability_of(b->below_high - share, b->below_high - b->below_low), bit = rank >= middle;
    if (c->prior) {
        blend m;
        weigh(c, &m, b, parts, p);
        bit = code_with(c, m.probability, bit);
        correct(&m, bit);
    } else {
        bit = code_with(c, p, bit);
    }
    for (uint32_t i = 0; i < 2 * c->experts; i++)
        *(bit ? b->parts_low + i : b->parts_high + i) = parts[i];
    *(bit ? &b->low : &b->high) = middle;
    *(bit ? &b->below_low : &b->below_high) = share;
    return bit;
}

static void start_bracket(const number_coder *c, bracket *b, int64_t most)
{
    b->low = -most;
    b->high = most + 1;
    b->below_low = 0;
    b->below_high = c->total;
    for (uint32_t i = 0; i < SPREADS; i++) {
        b->parts_low[i] = 0;
        b->parts_high[i] = ONE;
    }
}

static int64_t code_rank(number_coder *c, uint32_t digits, int64_t rank)
{
    int64_t most = rank_of(LARGEST, digits), center = c->places[c->best], step = c->scales[c->best] >> 4;
    bracket b;
    start_bracket(c, &b, most);
    int64_t middle = rank_of(center, digits);
    if (middle <= b.low)
        middle = b.low + 1;
    c->decision = 0;
    uint32_t up = split(c, &b, middle, digits, rank);
    c->decision = up ? 1 : 1 + STEPS;
    for (step += !step; step < LARGEST; step *= 2) {
        int64_t edge = rank_of(clamp(up ? center + step : center - step, LARGEST), digits);
        if (edge > b.low && edge < b.high && split(c, &b, edge, digits, rank) != up)
            break;
        if (c->decision % STEPS)
            c->decision++;
    }
    c->decision = 1 + 2 * STEPS + 3 * ((c->decision - 1) % STEPS);
    for (uint32_t i = 0; i < 3 && b.high - b.low > 1; i++, c->decision++)
        split(c, &b, b.low + (b.high - b.low) / 2, digits, rank);
    return b.low + code_uniform(c, rank - b.low, b.high - b.low);
}

static uint32_t code_adaptive(number_coder *c, uint32_t *state, uint32_t bit)
{
    if (c->decoder)
        return kp_decode_adaptive(c->decoder, state, STATE_RATE);
    kp_encode_adaptive(c->encoder, state, STATE_RATE, bit);
    return bit;
}

/* Six bits, each by those above it. */
static uint32_t code_width(number_coder *c, uint32_t width)
{
    uint32_t node = 1;
    for (int32_t i = 5; i >= 0; i--)
        node = 2 * node + code_adaptive(c, c->first_states + node, width >> i & 1);
    return node - FIRST_STATES;
}

/* The first number of a segment: size, bits, sign. */
static int64_t code_first(number_coder *c, int64_t rank)
{
    uint32_t width = (uint32_t)width_of(size_of(rank));
    width = c->prior ? code_width(c, width) : (uint32_t)code_plain(c, width, 6);
    if (!width)
        return 0;
    uint64_t top = (uint64_t)1 << (width - 1), size = (uint64_t)size_of(rank);
    size = top | code_plain(c, size & (top - 1), width - 1);
    return code_plain(c, rank < 0, 1) ? -(int64_t)size : (int64_t)size;
}

#endif

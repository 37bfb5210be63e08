/*
 * Lossless mode of the `kine` codec: whole numbers on the grid of each channel's decimals.
 *
 * Least-squares predictors of a channel learn as they go: normal equations in integers with exponential forgetting,
 * solved by Cholesky's factor (streams of version 3: by a few Gauss-Seidel sweeps). Each is a place and two spreads of
 * a distribution; their mixture gives the probability of every binary decision. What is known of a rig before (laws by
 * which its solver made some channels from others) comes from a trained table.
 */
#include "kine_solve.h"

#define EXPERTS 11u /* at most */
#define SPREADS (2u * EXPERTS)
#define HISTORY 16u
#define FAR 60u
#define MOST_FEATURES KP_SOLVE_MOST
#define UNIT_BITS 14
#define SWEPT_BITS 18
#define SOLVED_BITS 24
#define MOST_SWEPT ((int64_t)1 << 21)
#define MOST_SOLVED ((int64_t)1 << 30)
#define MOST_MOVE ((int64_t)1 << 22)
#define MOST_PLACE ((int64_t)1 << 26)
#define PRODUCT_SHIFT 22u
#define SOLVED_LARGEST 20 /* binary digits of the largest number that is learned from, and of what is expected to be missed */
#define SOLVED_NOISE 15
#define STEPS 6u
#define DECISIONS (1u + 2u * STEPS + 3u * STEPS)
#define WEIGH_RATE 22u
#define LARGE 40u /* features that make an expert dear to solve */
#define RIDGE ((int64_t)1 << 14)
#define LARGEST ((int64_t)1 << 52)
#define YOUNG 128u
#define YOUNG_SWEEPS 4u
#define YOUNG_SOLVED 160u
#define TAILS 1025u
#define ONE ((int64_t)1 << 30)
#define DYADIC 16u
#define DYADIC_BITS 22u
#define MOST_DYADIC ((int64_t)1 << (DYADIC_BITS - 1))
#define DYADIC_STATES (1u + DYADIC_BITS + DYADIC_BITS * DYADIC_BITS)
#define STATE_RATE 5u
/* 2^-68 rad in degrees, on the grid of 10^-22, times 2^28 */
#define DYADIC_UNIT 521102079011
#define DYADIC_SHIFT 28u

/* Laws: numbers in 2^-20 degrees, so that 16 degrees are 2^24. */
#define LAW_ONE 24u
#define LAW_WEIGHT_BITS 20u
#define LAW_MOST ((int64_t)1 << 28)
#define LAW_MOST_PRODUCT ((int64_t)1 << 34)
#define LAW_DECIMALS 9u
#define LAW_INPUTS 6u
#define LAW_DEGREE 5u
#define ANGLE_BITS 20u
#define ROLES 64u
#define NO_ROLE 255u
#define FIRST_STATES 64u
#define PRIOR_STATES (FIRST_STATES + DYADIC_STATES)

static const int64_t tens[16] = {1,          10,          100,          1000,          10000,          100000,
                                 1000000,    10000000,    100000000,    1000000000,    10000000000,    100000000000,
                                 1000000000000, 10000000000000, 100000000000000, 1000000000000000};

/* What an expert looks at: own last moves, moves of that many earlier channels in this frame and in the one before, and
 * of products of two and three of their places; how fast it forgets, and sweeps (version 3). */
typedef struct {
    uint8_t own, now, before, curved, cubic, forget, sweeps;
} outlook;

static const outlook swept[6] = {{16, 0, 0, 0, 0, 9, 2}, {1, FAR, 0, 0, 0, 9, 1}, {1, 6, 6, 0, 0, 8, 3},
                                 {1, 6, 0, 0, 0, 5, 3},  {1, 6, 0, 6, 0, 9, 3},   {1, 2, 0, 2, 0, 8, 3}};
static const outlook solved[EXPERTS] = {{16, 0, 0, 0, 0, 9, 0}, {1, FAR, 0, 0, 0, 9, 0}, {3, 8, 8, 0, 0, 8, 0},
                                        {1, 6, 0, 0, 0, 5, 0},  {1, 6, 0, 6, 0, 9, 0},   {1, 2, 0, 2, 0, 8, 0},
                                        {1, 6, 0, 6, 6, 10, 0}, {2, 12, 2, 0, 0, 7, 0},  {4, 20, 6, 0, 0, 9, 0},
                                        {1, 3, 0, 3, 3, 10, 0}, {3, 4, 4, 4, 0, 8, 0}};

/* How moves of captured motion go with those before them, in 1/1024: three frames of these begin the first expert. */
static const int64_t usual[HISTORY + 1] = {1024, 500, 422, 392, 397, 357, 326, 293, 278,
                                           246,  227, 201, 191, 168, 153, 137, 121};
#define USUAL ((int64_t)3 << 20)

typedef struct {
    uint32_t order;
    int64_t *weights, *target, *normal; /* [order], [order], [order, order] */
    int64_t energy;                     /* of the target */
    int64_t features[MOST_FEATURES];
    int64_t guess;
} expert;

/* A polynomial without its constant in channels that play certain roles. */
typedef struct {
    uint32_t inputs, degree, terms;
    const uint8_t *roles, *weights; /* [inputs], [terms] int32 */
} law;

typedef struct {
    uint32_t digits, decimals;
    int32_t scale;
    int64_t last, first, place, place_before;
    law ruled;             /* no terms: by no law */
    int64_t angle;         /* in 2^-20 degrees */
    int64_t told, told_by; /* what the law says of this frame, and the move that it tells */
    int64_t moves[HISTORY]; /* the latest first, 2^UNIT_BITS is a typical one */
    int64_t spreads[SPREADS]; /* running means of misses, in 1/16 */
    int64_t credits[SPREADS]; /* log2 of how well each has done lately, in 1/256 */
    uint32_t seen;
    uint32_t *states; /* of a dyadic channel */
    expert experts[EXPERTS];
} number_channel;

/* What is known of each channel. */
typedef struct {
    const uint8_t *digits, *decimals, *roles, *prior;
    const int8_t *scales;
} number_model;

typedef struct {
    kp_encoder *encoder; /* exactly one of the two is set */
    kp_decoder *decoder;
    const outlook *outlooks;
    uint32_t experts;
    const uint8_t *prior;   /* NULL: version 3 */
    int32_t *factor;        /* scratch of solving */
    const number_channel *players[ROLES];
    uint32_t first_states[FIRST_STATES];
    int32_t weights[DECISIONS][1 + EXPERTS]; /* 65536 is one */
    uint32_t decision;
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

static inline size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static uint32_t order_of(const outlook *o, size_t channel, uint32_t ruled)
{
    size_t curved = least(channel, o->curved), cubic = least(channel, o->cubic);
    size_t products = curved * (curved + 1) / 2 + cubic * (cubic + 1) * (cubic + 2) / 6;
    return (uint32_t)(o->own + least(channel, o->now) + least(channel, o->before) + products +
                      (ruled && o->own < HISTORY));
}

static inline int64_t cube(int64_t a, int64_t b, int64_t c)
{
    return kp_floor_shift(kp_floor_shift(a * b, 16) * c, 2 * PRODUCT_SHIFT - 16);
}

/* Moves of products of places, which follow a curved dependence. */
static uint32_t look_curved(const number_channel *own, size_t curved, size_t cubic, int64_t *x)
{
    uint32_t n = 0;
    for (size_t i = 1; i <= curved; i++)
        for (size_t j = i; j <= curved; j++) {
            const number_channel *a = own - i, *b = own - j;
            int64_t moved = a->place * b->place - a->place_before * b->place_before;
            x[n++] = clamp(kp_floor_shift(moved, PRODUCT_SHIFT), MOST_MOVE);
        }
    for (size_t i = 1; i <= cubic; i++)
        for (size_t j = i; j <= cubic; j++)
            for (size_t k = j; k <= cubic; k++) {
                const number_channel *a = own - i, *b = own - j, *d = own - k;
                int64_t moved = cube(a->place, b->place, d->place);
                x[n++] = clamp(moved - cube(a->place_before, b->place_before, d->place_before), MOST_MOVE);
            }
    return n;
}

static void look(const number_channel *own, size_t channel, const outlook *o, int64_t *x)
{
    uint32_t n = 0;
    size_t now = least(channel, o->now), before = least(channel, o->before);
    for (; n < o->own; n++)
        x[n] = own->moves[n];
    for (size_t j = 1; j <= now; j++) {
        x[n++] = own[-(ptrdiff_t)j].moves[0];
        if (j <= before)
            x[n++] = own[-(ptrdiff_t)j].moves[1];
    }
    n += look_curved(own, least(channel, o->curved), least(channel, o->cubic), x + n);
    if (own->ruled.terms && o->own < HISTORY)
        x[n] = own->told_by;
}

static void predict(expert *e, const number_channel *own, int32_t bits)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < e->order; i++)
        sum += e->weights[i] * e->features[i];
    e->guess = clamp(own->last + scaled(sum, bits + UNIT_BITS - own->scale), LARGEST);
}

static int64_t largest_of(const expert *e, int64_t move)
{
    int64_t largest = size_of(move);
    for (uint32_t i = 0; i < e->order; i++)
        largest |= size_of(e->features[i]);
    return largest;
}

/* A frame counts by the inverse of what is expected to be missed, and no number is larger than 2^14. */
static void learn_sweeping(expert *e, const outlook *o, int64_t move, int64_t spread, uint32_t seen)
{
    int64_t x[MOST_FEATURES];
    uint32_t n = e->order;
    int32_t shift = width_of(largest_of(e, move)) - UNIT_BITS, wanted = width_of(spread) - 9;
    shift = wanted > shift ? wanted : shift;
    for (uint32_t i = 0; i < n; i++)
        x[i] = scaled(e->features[i], shift);
    move = scaled(move, shift);
    for (uint32_t i = 0; i < n; i++) {
        int64_t *row = e->normal + (size_t)i * n;
        for (uint32_t j = 0; j < n; j++)
            row[j] += x[i] * x[j] - (row[j] >> o->forget);
        e->target[i] += x[i] * move - (e->target[i] >> o->forget);
    }
    uint32_t sweeps = o->sweeps + (seen < YOUNG ? YOUNG_SWEEPS : 0);
    for (uint32_t sweep = 0; sweep < sweeps; sweep++)
        for (uint32_t i = 0; i < n; i++) {
            const int64_t *row = e->normal + (size_t)i * n;
            uint64_t left = (uint64_t)e->target[i] << SWEPT_BITS;
            for (uint32_t j = 0; j < n; j++)
                left -= (uint64_t)row[j] * (uint64_t)e->weights[j];
            e->weights[i] = clamp(e->weights[i] + (int64_t)left / (row[i] + 1), MOST_SWEPT);
        }
}

/* The same with a lower triangle of larger numbers. A frame counts by what was missed as well, so that outliers count
 * less. Experts that few trust are solved less often. */
static void learn_solving(number_coder *c, expert *e, const outlook *o, int64_t move, int64_t noise, uint32_t seen,
                          int64_t credit)
{
    int32_t x[MOST_FEATURES];
    uint32_t n = e->order, every = n > LARGE ? (credit < -512 ? 16 : 2) : (credit < -512 ? 4 : 1);
    if (seen < YOUNG_SOLVED)
        every = 1;
    int32_t shift = width_of(largest_of(e, move)) - SOLVED_LARGEST, wanted = width_of(noise) - SOLVED_NOISE;
    shift = wanted > shift ? wanted : shift;
    for (uint32_t i = 0; i < n; i++)
        x[i] = (int32_t)scaled(e->features[i], shift);
    move = scaled(move, shift);
    for (uint32_t i = 0; i < n; i++) {
        int64_t *row = e->normal + (size_t)i * n;
        for (uint32_t j = 0; j <= i; j++)
            row[j] += (int64_t)x[i] * x[j] - (row[j] >> o->forget);
        e->target[i] += x[i] * move - (e->target[i] >> o->forget);
    }
    e->energy += move * move - (e->energy >> o->forget);
    if (seen % every == 0)
        kp_solve(e->normal, e->target, e->energy, n, c->factor, e->weights, SOLVED_BITS, MOST_SOLVED);
}

/* ---- laws ------------------------------------------------------------------------------------------------------ */

static inline int64_t angle_of(int64_t value, uint32_t decimals)
{
    return clamp(clamp(value, (int64_t)1 << 38) * ((int64_t)1 << ANGLE_BITS) / tens[decimals], LAW_MOST);
}

static inline int64_t weight_at(const law *l, uint32_t term)
{
    const uint8_t *w = l->weights + (size_t)term * 4;
    return (int32_t)((uint32_t)w[0] | (uint32_t)w[1] << 8 | (uint32_t)w[2] << 16 | (uint32_t)w[3] << 24);
}

/* Products of one input, of two, and so on, each in lexicographic order. */
static int64_t law_of(const law *l, const int64_t *inputs)
{
    uint64_t sum = 0;
    uint32_t term = 0;
    for (uint32_t degree = 1; degree <= l->degree; degree++) {
        uint32_t at[LAW_DEGREE] = {0}, k;
        do {
            int64_t product = inputs[at[0]];
            for (k = 1; k < degree; k++)
                product = clamp(kp_floor_shift(product * inputs[at[k]], LAW_ONE), LAW_MOST_PRODUCT);
            sum += (uint64_t)product * (uint64_t)weight_at(l, term++);
            for (k = degree; k > 0 && at[k - 1] == l->inputs - 1; k--)
                ;
            for (uint32_t i = k, next = k ? at[k - 1] + 1 : 0; k && i <= degree; i++)
                at[i - 1] = next;
        } while (k);
    }
    return clamp(kp_floor_shift((int64_t)sum, LAW_WEIGHT_BITS), LAW_MOST_PRODUCT);
}

/* The move that the law tells from those of its inputs. */
static void obey(const number_coder *c, number_channel *own)
{
    int64_t inputs[LAW_INPUTS];
    for (uint32_t i = 0; i < own->ruled.inputs; i++)
        inputs[i] = c->players[own->ruled.roles[i]]->angle;
    int64_t told = law_of(&own->ruled, inputs), moved = clamp(told - own->told, LAW_MOST);
    int32_t shift = (int32_t)ANGLE_BITS + own->scale - UNIT_BITS;
    own->told_by = own->seen ? clamp(scaled(moved * tens[own->decimals], shift), MOST_MOVE) : 0;
    own->told = told;
}

/* ---- mixture --------------------------------------------------------------------------------------------------- */

/* Tails of the distribution 1/2 + z / (2 sqrt(1 + z^2)), Student's with two degrees of freedom, at z = i / 32. */
static void start_tails(int64_t *tails)
{
    for (uint64_t i = 0; i < TAILS; i++)
        tails[i] = (ONE - (int64_t)((i << 45) / kp_square_root((1024 + i * i) << 30))) / 2;
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
        int64_t density = log2_of(near * near + 1) - 3 * log2_of(near * near + far * far + 1) / 2 - 256 * (int64_t)shift;
        own->credits[i] = kp_floor_shift(own->credits[i] * 13, 4) + density;
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

/* ---- rounding noise: multiples of 2^-68 rad -------------------------------------------------------------------- */

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

static void look_ahead(number_coder *c, number_channel *own, size_t at)
{
    for (uint32_t i = 0; i < c->experts; i++) {
        look(own, at, c->outlooks + i, own->experts[i].features);
        predict(own->experts + i, own, c->prior ? SOLVED_BITS : SWEPT_BITS);
    }
    mix(c, own);
}

static void learn(number_coder *c, number_channel *own, int64_t value, int64_t move)
{
    for (uint32_t i = 0; i < c->experts; i++) {
        expert *e = own->experts + i;
        int64_t noise = normalised(own->spreads[2 * i + 1] >> 4, own->scale, MOST_MOVE);
        if (c->prior) {
            int64_t a = own->credits[2 * i], b = own->credits[2 * i + 1];
            noise += normalised(size_of(value - e->guess), own->scale, MOST_MOVE) / 2;
            learn_solving(c, e, c->outlooks + i, move, noise, own->seen, a > b ? a : b);
        } else {
            learn_sweeping(e, c->outlooks + i, move, noise, own->seen);
        }
    }
}

static void remember(number_channel *own, int64_t value, int64_t move)
{
    own->seen++;
    for (uint32_t i = HISTORY - 1; i > 0; i--)
        own->moves[i] = own->moves[i - 1];
    own->moves[0] = move;
    own->place_before = own->place;
    own->place = normalised(value - own->first, own->scale, MOST_PLACE);
    own->angle = own->decimals <= LAW_DECIMALS ? angle_of(value, own->decimals) : 0;
    own->last = value;
}

static int32_t code_number(number_coder *c, number_channel *all, size_t at, int64_t *value)
{
    number_channel *own = all + at;
    int64_t rank = c->decoder ? 0 : rank_of(*value, own->digits), move = 0;
    if (!c->decoder && (size_of(*value) > LARGEST || value_of(rank, own->digits) != *value))
        return KP_ARGUMENT;
    if (own->ruled.terms)
        obey(c, own);
    if (own->seen) {
        look_ahead(c, own, at);
        rank = code_rank(c, own->digits, rank);
    } else {
        rank = code_first(c, rank);
    }
    if (size_of(rank) > rank_of(LARGEST, own->digits))
        return KP_CORRUPT;
    *value = value_of(rank, own->digits);
    if (own->seen) {
        move = normalised(*value - own->last, own->scale, MOST_MOVE);
        judge(c, own, *value);
        learn(c, own, *value, move);
    } else {
        own->first = *value;
    }
    remember(own, *value, move);
    return KP_OK;
}

/* Eight-byte words that a segment needs. */
uint32_t kp_kine_numbers_room(const uint8_t *digits, size_t channels)
{
    uint64_t words = ((uint64_t)channels * sizeof(number_channel) + 7) / 8 + (MOST_FEATURES * MOST_FEATURES + 1) / 2;
    size_t at = 0;
    for (size_t c = 0; c < channels; c++) {
        if (digits[c] >= DYADIC) {
            words += (DYADIC_STATES + 1) / 2;
            continue;
        }
        for (uint32_t i = 0; i < EXPERTS; i++) {
            size_t n = order_of(solved + i, at, 1);
            words += n * (n + 2);
        }
        at++;
    }
    return words < UINT32_MAX ? (uint32_t)words : UINT32_MAX;
}

static void start_usual(expert *e)
{
    for (uint32_t i = 0; i < HISTORY; i++) {
        for (uint32_t j = 0; j <= i; j++)
            e->normal[i * HISTORY + j] = USUAL * usual[i - j];
        e->target[i] = USUAL * usual[i + 1];
    }
    e->energy = USUAL * usual[0];
}

static int64_t *start_experts(const number_coder *c, number_channel *own, size_t at, int64_t *room)
{
    for (uint32_t i = 0; i < c->experts; i++) {
        expert *e = own->experts + i;
        size_t n = e->order = order_of(c->outlooks + i, at, own->ruled.terms);
        e->weights = room;
        e->target = room + n;
        e->normal = room + 2 * n;
        e->energy = 0;
        room += n * (n + 2);
        for (size_t j = 0; j < n * (n + 2); j++)
            e->weights[j] = 0;
        if (c->prior && i == 0)
            start_usual(e);
        for (size_t j = 0; j < n && !c->prior; j++)
            e->normal[j * (n + 1)] = RIDGE;
    }
    return room;
}

static int64_t *start_channel(const number_coder *c, number_channel *own, size_t at, int64_t *room)
{
    for (uint32_t i = 0; i < SPREADS; i++) {
        own->spreads[i] = (int64_t)16 << own->scale;
        own->credits[i] = 0;
    }
    for (uint32_t i = 0; i < HISTORY; i++)
        own->moves[i] = 0;
    own->last = own->first = own->place = own->place_before = own->angle = own->told = own->told_by = 0;
    return start_experts(c, own, at, room);
}

static uint32_t state_of(const uint8_t *prior, uint32_t which)
{
    return prior ? (uint32_t)prior[2 * which] << 16 | (uint32_t)prior[2 * which + 1] << 24 | prior[2 * PRIOR_STATES + which]
                 : 1u << 31;
}

/* Gives a channel its law if those that it needs come earlier and are predicted. */
static void find_law(const number_coder *c, number_channel *own, uint32_t role)
{
    own->ruled.terms = 0;
    if (role >= ROLES || own->decimals > LAW_DECIMALS)
        return;
    const uint8_t *p = c->prior + 3 * PRIOR_STATES;
    for (uint32_t count = *p++; count > 0; count--) {
        law l = {p[1], p[2], 0, p + 4, p + 4 + p[1]};
        uint32_t found = p[0] == role;
        l.terms = p[3];
        for (uint32_t i = 0; i < l.inputs; i++)
            found = found && c->players[l.roles[i]];
        if (found)
            own->ruled = l;
        p = l.weights + (size_t)4 * l.terms;
    }
}

/* Channels with predictors stand first in `all`, the others at its end, backwards. */
static int32_t start(number_coder *c, number_channel *all, size_t channels, const number_model *model, int64_t *room)
{
    size_t at = 0, from_end = channels;
    for (uint32_t i = 0; i < DECISIONS * (1 + EXPERTS); i++)
        c->weights[i / (1 + EXPERTS)][i % (1 + EXPERTS)] = i % (1 + EXPERTS) ? 0 : 65536;
    c->factor = (int32_t *)(void *)room;
    room += (MOST_FEATURES * MOST_FEATURES + 1) / 2;
    for (uint32_t i = 0; i < ROLES; i++) {
        c->players[i] = NULL;
        c->first_states[i] = state_of(c->prior, i);
    }
    for (size_t i = 0; i < channels; i++) {
        uint32_t digits = model->digits[i], dyadic = digits >= DYADIC, role = c->prior ? model->roles[i] : NO_ROLE;
        number_channel *own = all + (dyadic ? --from_end : at);
        if (digits >= 2 * DYADIC || digits == DYADIC || model->scales[i] < 0 || model->scales[i] > 40)
            return KP_ARGUMENT;
        own->digits = digits;
        own->decimals = model->decimals[i];
        own->scale = model->scales[i];
        own->seen = 0;
        if (dyadic) {
            own->states = (uint32_t *)(void *)room;
            for (uint32_t k = 0; k < DYADIC_STATES; k++)
                own->states[k] = state_of(c->prior, FIRST_STATES + k);
            room += (DYADIC_STATES + 1) / 2;
            continue;
        }
        find_law(c, own, role);
        room = start_channel(c, own, at++, room);
        if (role < ROLES && own->decimals <= LAW_DECIMALS)
            c->players[role] = own;
    }
    return KP_OK;
}

static int32_t code_all(number_coder *c, int64_t *numbers, size_t frames, size_t channels, const number_model *model,
                        int64_t *room)
{
    number_channel *all = (number_channel *)(void *)room;
    if (kp_kine_numbers_room(model->digits, channels) == UINT32_MAX) /* more than can be told: there is not that much */
        return KP_ARGUMENT;
    c->prior = model->prior;
    c->outlooks = c->prior ? solved : swept;
    c->experts = c->prior ? sizeof solved / sizeof *solved : sizeof swept / sizeof *swept;
    int32_t status = start(c, all, channels, model, room + (channels * sizeof(number_channel) + 7) / 8);
    start_tails(c->tails);
    for (size_t t = 0; t < frames && status == KP_OK; t++) {
        size_t at = 0, from_end = channels;
        for (size_t i = 0; i < channels && status == KP_OK; i++) {
            int64_t *number = numbers + t * channels + i;
            if (model->digits[i] >= DYADIC)
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
                               const int8_t *scales, const uint8_t *decimals, const uint8_t *roles,
                               const uint8_t *prior, int64_t *room, uint8_t *out, size_t capacity, size_t *size)
{
    kp_encoder e;
    number_coder c;
    number_model model = {digits, decimals, roles, prior, scales};
    c.encoder = &e;
    c.decoder = NULL;
    kp_encoder_start(&e, out, capacity);
    int32_t status = code_all(&c, numbers, frames, channels, &model, room);
    if (status != KP_OK)
        return status;
    return e.status == KP_OK ? kp_encoder_finish(&e, size) : e.status;
}

int32_t kp_kine_numbers_decode(const uint8_t *data, size_t size, int64_t *numbers, size_t frames, size_t channels,
                               const uint8_t *digits, const int8_t *scales, const uint8_t *decimals,
                               const uint8_t *roles, const uint8_t *prior, int64_t *room)
{
    kp_decoder d;
    number_coder c;
    number_model model = {digits, decimals, roles, prior, scales};
    c.encoder = NULL;
    c.decoder = &d;
    kp_decoder_start(&d, data, size);
    int32_t status = code_all(&c, numbers, frames, channels, &model, room);
    return status == KP_OK ? kp_decoder_finish(&d) : status;
}

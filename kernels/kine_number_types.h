/* What the lossless mode of `kine` keeps, and how its numbers are counted: see kine_numbers.c. */
#ifndef KINEPACK_KINE_NUMBER_TYPES_H
#define KINEPACK_KINE_NUMBER_TYPES_H

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
#define SOLVED_LARGEST 20 /* binary digits of the largest number learned from, and of what is expected to be missed */
#define SOLVED_NOISE 15
#define STEPS 6u
#define DECISIONS (1u + 2u * STEPS + 3u * STEPS)
#define WEIGH_RATE 22u
#define LARGE 40u /* features that make an expert dear to solve */
#define RIDGE ((int64_t)1 << 14)
#define LARGEST ((int64_t)1 << 52)
#define RARE_BITS 3 /* every 8th number is some forgotten, eight times as much */
#define YOUNG 128u
#define YOUNG_SWEEPS 4u
#define YOUNGEST 64u
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
    int64_t *weights, *target, *normal; /* [order], [order], [order, order]; or no target, but in kine_solve.h's rows */
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
    uint32_t *factor;        /* scratch of solving */
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

/* floor of the square root */
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

#endif

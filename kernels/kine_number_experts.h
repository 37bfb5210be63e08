/* Predictors of the lossless mode of `kine`: what they look at, how they learn, and laws known before. */
#ifndef KINEPACK_KINE_NUMBER_EXPERTS_H
#define KINEPACK_KINE_NUMBER_EXPERTS_H

#include "kine_number_types.h"

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

static inline void add_row(uint64_t *restrict row, const uint32_t *restrict high, const uint64_t *restrict less,
                           uint64_t rest, uint32_t n)
{
    uint32_t first = high[0];
    for (uint32_t i = 0; i < n; i++)
        row[i] += (uint64_t)first * high[i] - less[i] - rest;
}

/* Products of each feature with itself, those after it and the move; biased as in kine_solve.h. */
static void add_products(expert *e, const int32_t *x)
{
    uint32_t high[MOST_FEATURES + 1], n = e->order;
    uint64_t less[MOST_FEATURES + 1], *row = (uint64_t *)e->normal;
    for (uint32_t i = 0; i <= n; i++) {
        high[i] = (uint32_t)x[i] + KP_SOLVE_BIAS;
        less[i] = (uint64_t)high[i] << 30;
    }
    for (uint32_t j = 0; j < n; row += n + 1 - j, j++)
        add_row(row, high + j, less + j, (uint64_t)x[j] << 30, n + 1 - j);
    e->energy += (int64_t)x[n] * x[n];
}

static void forget(expert *e, uint32_t shift)
{
    for (uint32_t i = 0; i < e->order * (e->order + 3) / 2; i++)
        e->normal[i] -= e->normal[i] >> shift;
    e->energy -= e->energy >> shift;
}

/* Large experts and those that few trust are solved less often. */
static uint32_t pause_of(uint32_t order, uint32_t seen, uint32_t distrusted)
{
    uint32_t large = order > LARGE;
    if (seen < YOUNG_SOLVED)
        return large && distrusted ? (seen < YOUNGEST ? 2 : 4) : 1;
    return large ? (distrusted ? 16 : 4) : (distrusted ? 4 : 1);
}

/* The same with larger numbers, the move beside the features. A frame counts by what was missed as well, so that
 * outliers count less. */
static void learn_solving(number_coder *c, expert *e, const outlook *o, int64_t move, int64_t noise, uint32_t seen,
                          int64_t credit)
{
    int32_t x[MOST_FEATURES + 1];
    uint32_t n = e->order, every = pause_of(n, seen, credit < -512);
    int32_t shift = width_of(largest_of(e, move)) - SOLVED_LARGEST, wanted = width_of(noise) - SOLVED_NOISE;
    shift = wanted > shift ? wanted : shift;
    for (uint32_t i = 0; i < n; i++)
        x[i] = (int32_t)scaled(e->features[i], shift);
    x[n] = (int32_t)scaled(move, shift);
    if (!(seen & ((1u << RARE_BITS) - 1)))
        forget(e, o->forget - RARE_BITS);
    add_products(e, x);
    if (seen % every == 0)
        kp_solve(e->normal, e->energy, n, c->factor, e->weights, SOLVED_BITS, MOST_SOLVED);
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

#endif

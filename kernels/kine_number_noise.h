/* Rounding noise in the lossless mode of `kine`: multiples of 2^-68 rad. */
#ifndef KINEPACK_KINE_NUMBER_NOISE_H
#define KINEPACK_KINE_NUMBER_NOISE_H

#include "kine_number_mixture.h"

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

#endif

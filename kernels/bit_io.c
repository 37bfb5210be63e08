/*
 * Plain packing: fields of 0..32 bits, most significant bit first, and LEB128 variable-length integers.
 */
#include "include/kinepack_kernels.h"

static inline uint32_t width_at(const uint8_t *widths, uint32_t width, size_t i)
{
    return widths ? widths[i] : width;
}

int32_t kp_pack_bits(const uint32_t *values, size_t count, const uint8_t *widths, uint32_t width, uint8_t *out,
                     size_t capacity, size_t *size)
{
    uint64_t held = 0; /* the last `bits` bits, fewer than 8 between values */
    uint32_t bits = 0;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t w = width_at(widths, width, i);
        if (w > 32 || (uint64_t)values[i] >> w)
            return KP_ARGUMENT;
        held = (held << w) | values[i];
        for (bits += w; bits >= 8; bits -= 8) {
            if (used >= capacity)
                return KP_CAPACITY;
            out[used++] = (uint8_t)(held >> (bits - 8));
        }
    }
    if (bits > 0) {
        if (used >= capacity)
            return KP_CAPACITY;
        out[used++] = (uint8_t)(held << (8 - bits));
    }
    *size = used;
    return KP_OK;
}

int32_t kp_unpack_bits(const uint8_t *data, size_t size, uint32_t *values, size_t count, const uint8_t *widths,
                       uint32_t width)
{
    uint64_t held = 0;
    uint32_t bits = 0;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t w = width_at(widths, width, i);
        if (w > 32)
            return KP_ARGUMENT;
        for (; bits < w; bits += 8) {
            if (used >= size)
                return KP_TRUNCATED;
            held = (held << 8) | data[used++];
        }
        bits -= w;
        values[i] = (uint32_t)((held >> bits) & (((uint64_t)1 << w) - 1));
    }
    return KP_OK;
}

int32_t kp_encode_varints(const uint64_t *values, size_t count, uint8_t *out, size_t capacity, size_t *size)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t rest = values[i];
        do {
            if (used >= capacity)
                return KP_CAPACITY;
            out[used++] = (uint8_t)((rest & 127u) | (rest > 127u ? 128u : 0u));
            rest >>= 7;
        } while (rest);
    }
    *size = used;
    return KP_OK;
}

int32_t kp_decode_varints(const uint8_t *data, size_t size, uint64_t *values, size_t count, size_t *consumed)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t value = 0;
        for (uint32_t shift = 0;; shift += 7) {
            if (used >= size)
                return KP_TRUNCATED;
            uint8_t byte = data[used++];
            if ((shift == 63 && byte > 1) || (shift > 0 && byte == 0))
                return KP_CORRUPT; /* over 64 bits, or a longer form of a shorter number */
            value |= (uint64_t)(byte & 127u) << shift;
            if (byte < 128)
                break;
        }
        values[i] = value;
    }
    *consumed = used;
    return KP_OK;
}

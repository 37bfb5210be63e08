/*
 * Decodes damaged copies of a valid stream, to be run under sanitizers.
 *
 * Usage: fuzz_bap KERNEL FILE ROUNDS SEED FRAMES WIDTH [FDF BITS N_D HALF | GROUP_SIZE...]
 * KERNEL is float, fba, indexed or sparse. Every buffer has exactly the size that the header asks for.
 */
#include "../include/kinepack_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

static uint32_t next_random(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}

static size_t damage(const uint8_t *source, size_t size, uint8_t *copy)
{
    size_t kept = next_random() % 4 == 0 ? next_random() % (size + 1) : size;
    memcpy(copy, source, kept);
    for (uint32_t flips = kept ? next_random() % 6 : 0; flips > 0; flips--)
        copy[next_random() % (next_random() % 2 && kept > 64 ? 64 : kept)] ^= (uint8_t)(1u << next_random() % 8);
    return kept;
}

static int32_t decode(const char *kernel, const uint8_t *data, size_t size, size_t frames, size_t width, long *more,
                      size_t count)
{
    float *out = malloc(frames * width * sizeof *out), *table = malloc((sizeof *table) << 16);
    int32_t status = KP_ARGUMENT;
    if (!strcmp(kernel, "float")) {
        uint16_t *symbols = malloc(4 * (frames - 1) * width * sizeof *symbols);
        uint32_t *tables = malloc(257 * sizeof *tables);
        status = kp_float_frames_decode(data, size, frames, width, symbols, tables, out);
        free(symbols);
        free(tables);
    } else if (!strcmp(kernel, "indexed")) {
        status = kp_indexed_decode(data, size, frames - 1, width, (size_t)more[0], (uint32_t)more[1], (size_t)more[2],
                                   table, out);
    } else if (!strcmp(kernel, "sparse")) {
        uint32_t *columns = malloc(2 * width * sizeof *columns);
        status = kp_sparse_indexed_decode(data, size, frames - 1, width, (size_t)more[0], (uint32_t)more[1],
                                          (size_t)more[2], (uint32_t)more[3], table, columns, out);
        free(columns);
    } else if (!strcmp(kernel, "fba")) {
        size_t baps = 0, decoded;
        uint8_t *groups = malloc(count), *used = malloc(296);
        uint32_t *scratch = malloc(3722 * 296 * sizeof *scratch), rate;
        int32_t steps[296], columns[296], *values = malloc(frames * 296 * sizeof *values);
        for (size_t g = 0; g < count; g++)
            baps += groups[g] = (uint8_t)more[g];
        for (int32_t i = 0; i < 296; i++) {
            steps[i] = 170;
            columns[i] = i;
        }
        status = kp_fba_decode(data, size, baps, groups, (uint32_t)count, steps, columns, 296, scratch, 3722 * 296,
                               values, frames, &decoded, used, &rate);
        free(groups);
        free(used);
        free(scratch);
        free(values);
    }
    free(out);
    free(table);
    return status;
}

int main(int argc, char **argv)
{
    static uint8_t source[1 << 20];
    long more[64];
    if (argc < 7)
        return 2;
    FILE *file = fopen(argv[2], "rb");
    if (!file)
        return 2;
    size_t size = fread(source, 1, sizeof source, file), count = 0;
    fclose(file);
    state = strtoull(argv[4], NULL, 10);
    size_t frames = strtoull(argv[5], NULL, 10), width = strtoull(argv[6], NULL, 10);
    for (int i = 7; i < argc && count < 64; i++)
        more[count++] = strtol(argv[i], NULL, 10);
    if (decode(argv[1], source, size, frames, width, more, count) != KP_OK)
        return 3;
    for (long round = strtol(argv[3], NULL, 10); round > 0; round--) {
        uint8_t *copy = malloc(size + 1);
        size_t kept = damage(source, size, copy);
        uint8_t *exact = malloc(kept ? kept : 1);
        memcpy(exact, copy, kept);
        decode(argv[1], exact, kept, frames, width, more, count);
        free(copy);
        free(exact);
    }
    return 0;
}

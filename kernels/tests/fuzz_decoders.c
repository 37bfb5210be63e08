/*
 * Feeds random, constant and truncated bytes to every decoder, and random shapes to the transforms, under sanitizers.
 * Buffers have exactly the size they are declared with, from malloc, so that one byte too far is seen.
 *
 * cc -fsanitize=address,undefined -fno-sanitize-recover=all kernels/tests/fuzz_decoders.c kernels/<all>.c
 * Usage: fuzz_decoders [ROUNDS [SEED]]
 */
#include "../include/kinepack_kernels.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t seed = 88172645463325252u;

static uint32_t next(uint32_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)((seed >> 11) % below);
}

static void *buffer(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        abort();
    return memory;
}

static uint8_t *random_bytes(size_t size)
{
    uint8_t *bytes = buffer(size, 1);
    uint32_t kind = next(4);
    for (size_t i = 0; i < size; i++)
        bytes[i] = kind == 0 ? 0 : kind == 1 ? 255 : (uint8_t)next(256);
    return bytes;
}

/* Now and then one below or one above the limits. */
static int32_t *random_contexts(size_t count, uint32_t limit)
{
    int32_t *contexts = buffer(count, sizeof *contexts);
    for (size_t i = 0; i < count; i++)
        contexts[i] = next(400) ? (int32_t)next(limit) : next(2) ? -1 : (int32_t)limit;
    return contexts;
}

static uint32_t *random_states(size_t count)
{
    uint32_t *states = buffer(count, sizeof *states);
    for (size_t i = 0; i < count; i++)
        states[i] = next(2) ? 1u << 31 : next(0xFFFFFFFFu);
    return states;
}

static void fuzz_binary(const uint8_t *data, size_t size)
{
    size_t count = next(400);
    uint32_t inputs = 1 + next(3), contexts = 1 + next(5), escape = next(20), bins = kp_integer_bins(escape);
    uint32_t rate = next(12), mix_rate = 11 + next(21);
    int32_t *chosen = random_contexts(count * inputs, contexts), *integers = buffer(count, 4);
    uint32_t *states = random_states(contexts), *rows = random_states((size_t)contexts * bins);
    int32_t *weights = buffer((size_t)(contexts + bins) * inputs, 4);
    uint8_t *bits = buffer(count, 1), *out = buffer(50, 1);
    size_t written;
    kp_decode_bits(data, size, bits, count, chosen, inputs, states, contexts, weights, rate, mix_rate);
    kp_decode_integers(data, size, integers, count, chosen, inputs, rows, contexts, weights, escape, rate, mix_rate);
    for (size_t i = 0; i < count; i++)
        integers[i] = (int32_t)(next(0xFFFFFFFFu) >> next(32));
    kp_encode_integers(integers, count, chosen, inputs, rows, contexts, weights, escape, rate, mix_rate, out, 50,
                       &written);
    free(chosen), free(integers), free(states), free(rows), free(weights), free(bits), free(out);
}

static void fuzz_symbols(const uint8_t *data, size_t size)
{
    size_t count = next(400);
    uint32_t contexts = 1 + next(3), alphabet = 1 + next(next(2) ? 300 : 4);
    int32_t *chosen = random_contexts(count, contexts);
    uint32_t *tables = buffer((size_t)contexts * (alphabet + 1), 4);
    uint16_t *symbols = buffer(count, 2);
    kp_decode_symbols(data, size, symbols, count, chosen, contexts, alphabet, next(5000), next(70000), tables);
    free(chosen), free(tables), free(symbols);
}

static void fuzz_packing(const uint8_t *data, size_t size)
{
    size_t count = next(200), consumed;
    uint32_t *values = buffer(count, 4);
    uint64_t *longs = buffer(count, 8);
    uint8_t *widths = buffer(count, 1);
    for (size_t i = 0; i < count; i++)
        widths[i] = (uint8_t)next(34);
    kp_unpack_bits(data, size, values, count, widths, 0);
    kp_unpack_bits(data, size, values, count, NULL, next(34));
    kp_decode_varints(data, size, longs, count, &consumed);
    free(values), free(longs), free(widths);
}

static void fuzz_lifting(void)
{
    size_t rows = next(70), channels = next(4);
    uint32_t levels = next(42);
    double *data = buffer(rows * channels, 8), *scratch = buffer(rows * channels, 8);
    int32_t *whole = buffer(rows * channels, 4), *whole_scratch = buffer(rows * channels, 4);
    for (size_t i = 0; i < rows * channels; i++) {
        data[i] = next(1000) - 500.0;
        whole[i] = (int32_t)(next(0xFFFFFFFFu));
    }
    kp_lifting_forward(data, rows, channels, levels, (int32_t)next(4), scratch);
    kp_lifting_inverse(data, rows, channels, levels, (int32_t)next(4), scratch);
    kp_lifting_forward_int(whole, rows, channels, levels, whole_scratch);
    kp_lifting_inverse_int(whole, rows, channels, levels, whole_scratch);
    free(data), free(scratch), free(whole), free(whole_scratch);
}

static void fuzz_kinematics(void)
{
    size_t frames = next(3), joints = next(70), channels = 1 + next(50), columns = channels;
    int32_t *parents = buffer(joints, 4), *axes = buffer(3 * joints, 4);
    int32_t *channel = random_contexts(3 * joints, (uint32_t)channels), *column = buffer(channels, 4);
    double *values = buffer(frames * channels, 8), *local = buffer(frames * joints * 9, 8);
    double *moves = buffer(frames * joints * 3, 8), *rot = buffer(frames * joints * 9, 8);
    double *origin = buffer(frames * joints * 3, 8), *point = buffer(frames * joints * 3, 8);
    double *scratch = buffer(9 * joints, 8), *out = buffer(frames * joints * 3 * columns, 8);
    for (size_t j = 0; j < joints; j++)
        parents[j] = (int32_t)next((uint32_t)j + 1) - 1 + (next(500) == 0);
    for (size_t i = 0; i < 3 * joints; i++)
        axes[i] = (int32_t)next(3) + (next(2000) == 0);
    for (size_t i = 0; i < channels; i++)
        column[i] = (int32_t)next((uint32_t)columns) - (int32_t)next(2);
    for (size_t i = 0; i < frames * channels; i++)
        values[i] = next(100) == 0 ? 1e300 * 1e300 : next(1000) * 1e4;
    kp_local_rotations(frames, joints, channels, values, 0.01, channel, axes, NULL, NULL, local);
    kp_forward_kinematics(frames, joints, parents, local, moves, NULL, NULL, rot, origin, point);
    kp_jacobian(frames, joints, channels, parents, values, 0.01, channel, axes, NULL, channel, rot, origin, point,
                column, columns, scratch, out);
    free(parents), free(axes), free(channel), free(column), free(values), free(local), free(moves), free(rot);
    free(origin), free(point), free(scratch), free(out);
}

/* Faces decoded from noise, and random triangles coded by every policy. */
static void fuzz_faces(const uint8_t *data, size_t size)
{
    size_t faces = next(60), vertices = 1 + next(40), word_count, byte_count, written;
    uint32_t policy = next(9);
    kp_faces_scratch(faces, vertices, &word_count, &byte_count);
    uint32_t *words = buffer(word_count, 4), *behind = buffer(3 * faces, 4), *own = buffer(3 * faces, 4);
    uint64_t *keys = buffer(3 * faces, 8);
    uint8_t *bytes = buffer(byte_count, 1), *done = buffer(faces, 1), *out = buffer(2000, 1);
    int32_t *source = buffer(3 * faces, 4), *walked = buffer(3 * faces, 4);
    kp_faces_decode(data, size, walked, faces, vertices, policy, words, keys, bytes);
    for (size_t i = 0; i < 3 * faces; i++) {
        source[i] = (int32_t)next((uint32_t)vertices);
        behind[i] = 0xFFFFFFFFu;
    }
    kp_faces_encode(source, faces, vertices, policy, behind, own, done, walked, words, keys, bytes, out, 2000, &written);
    free(words), free(behind), free(own), free(keys), free(bytes), free(done), free(out), free(source), free(walked);
}

/* The hierarchy of a random graph, weights decoded on it from noise, and the quantiser. */
static void fuzz_mesh(const uint8_t *data, size_t size)
{
    size_t vertices = 1 + next(60), edge_count = next(120), components = next(5), state_count, weight_count;
    uint32_t *edges = buffer(2 * edge_count, 4), *scratch = buffer(25 * vertices + 1 + 6 * edge_count, 4);
    for (size_t e = 0; e < edge_count; e++) {
        edges[2 * e] = next((uint32_t)vertices);
        edges[2 * e + 1] = next((uint32_t)vertices + (next(300) == 0));
    }
    uint32_t *order = buffer(vertices, 4), *starts = buffer(vertices + 1, 4), *refs = buffer(18 * vertices, 4);
    uint8_t *spare = buffer(2 * vertices, 1), *rings = buffer(vertices, 1), *levels = buffer(vertices, 1);
    kp_mesh_sizes(&state_count, &weight_count);
    uint32_t *states = buffer(state_count, 4);
    int32_t *weights = buffer(weight_count, 4), *q = buffer(components * vertices, 4);
    uint16_t *past = buffer(vertices, 2);
    double *predictors = buffer(18 * vertices, 8), *values = buffer(vertices, 8), *steps = buffer(256, 8);
    if (kp_mesh_hierarchy(edges, edge_count, vertices, scratch, spare, order, starts, refs, rings, levels) == KP_OK) {
        kp_mesh_decode(data, size, q, vertices, components, starts, refs, rings, levels, states, weights, past);
        kp_mesh_sum(vertices, starts, refs, rings, components, (int32_t)next(20), q);
        for (size_t i = 0; i < components * vertices; i++)
            q[i] = (int32_t)(next(0xFFFFFFFFu) >> next(32));
        kp_mesh_sum(vertices, starts, refs, rings, components, 65535, q);
        kp_mesh_predictors(vertices, starts, refs, rings, values, 0, 0.3, 2.0, 0.5, predictors);
        if (components)
            kp_mesh_synthesise(vertices, starts, refs, rings, levels, predictors, steps, q, values);
    }
    free(edges), free(scratch), free(order), free(starts), free(refs), free(spare), free(rings), free(levels);
    free(states), free(weights), free(q), free(past), free(predictors), free(values), free(steps);
}

/* A `kine` segment from noise with and without ends of tracks, and all that follows it: synthesis, poses, branches. */
static void fuzz_kine(const uint8_t *data, size_t size)
{
    size_t frames = 1 + next(90), tracks = 3 * next(4), blocks = 0, written;
    uint32_t ends = next(2), unit = 1 + next(8) + (next(50) ? 0 : 64);
    int32_t *q = buffer(frames * tracks, 4), *weights = buffer(27 * 3 + 3, 4), *runs = buffer(3 * tracks, 4);
    uint32_t *lengths = buffer(frames, 4), *states = random_states(27 * 264 + 27 + 144 + 264), *places = buffer(tracks, 4);
    uint8_t *classes = buffer(tracks, 1), *logs = buffer(frames * tracks, 1), *out = buffer(300, 1);
    int16_t *model = buffer(8 * 9 + 6 * 16, 2);
    size_t scratch_size = 2 * frames + 3 + (frames + 1) / 2 * (2 + frames);
    double *steps = buffer(tracks, 8), *offsets = buffer(tracks, 8), *scratch = buffer(scratch_size, 8);
    double *rows = buffer(tracks * frames, 8), *values = buffer(frames * (4 + tracks), 8);
    uint32_t *starts = buffer(tracks + 1, 4), *regressors = buffer(tracks, 4);
    int32_t *turns = buffer(13 * tracks, 4), *branch = buffer(9, 4);
    double *rests = buffer(4 * tracks, 8), *links = buffer(tracks, 8);
    for (size_t i = 0; i < 8 * 9 + 6 * 16; i++)
        model[i] = (int16_t)(next(512) - 100);
    for (size_t t = 0; t < tracks; t++) {
        classes[t] = (uint8_t)(next(6) + (next(2000) == 0));
        steps[t] = next(50) ? 0.01 : 1e300;
        places[t] = (uint32_t)t;
        starts[t + 1] = starts[t] + (t > 0);
        regressors[starts[t]] = next((uint32_t)t + 1 + (next(900) == 0));
        rests[4 * (t / 3) + 3] = 1;
    }
    for (size_t i = 0; i < tracks / 3; i++) {
        int32_t *turn = turns + 13 * i, kind = (int32_t)next(3);
        turn[0] = kind == 2 ? 0 : (int32_t)next(5);
        turn[4] = kind;
        for (int32_t a = 0; a < 3; a++) {
            turn[1 + a] = turn[9 + a] = a;
            turn[5 + a] = (int32_t)(3 * i) + a;
        }
        turn[8] = (int32_t)tracks;
        turn[12] = (int32_t)(3 * i);
    }
    if (kp_kine_decode(data, size, q, frames, tracks, lengths, frames, &blocks, classes, unit, next(257), model, ends,
                       states, weights, logs, runs) == KP_OK || next(2)) {
        if (!blocks) {
            blocks = 1;
            lengths[0] = (uint32_t)frames;
        }
        kp_kine_encode(q, frames, tracks, lengths, blocks, classes, unit, 60, model, ends, states, weights, logs, runs, out,
                       300, &written);
        kp_kine_synthesise(q, frames, tracks, lengths, blocks, steps, offsets, starts, regressors, links, places, next(2),
                           next((uint32_t)frames + 2), next((uint32_t)frames + 2), scratch, scratch_size, rows);
    }
    if (tracks)
        kp_kine_pose(rows, frames, frames, tracks + 1, turns, rests, tracks / 3, NULL, NULL, 0, 57.3, next(2), values);
    branch[0] = (int32_t)next(100) - 2;
    branch[1] = (int32_t)next(100);
    branch[2] = tracks ? 3 : 1;
    branch[4] = tracks ? 1 : 0;
    branch[5] = tracks ? 2 : 0;
    branch[6] = (int32_t)next(9) - 4;
    kp_kine_branches(values, frames, tracks + 1, branch, 1, 57.3);
    free(q), free(weights), free(runs), free(lengths), free(states), free(places), free(classes), free(logs), free(out);
    free(model), free(steps), free(offsets), free(scratch), free(rows), free(values), free(starts), free(regressors);
    free(turns), free(branch), free(rests), free(links);
}

/* Numbers up to the largest, jumping between extremes, and a damaged copy of their stream. */
static void fuzz_numbers(size_t frames, size_t channels, const uint8_t *digits, const int8_t *scales,
                         const uint8_t *decimals, const uint8_t *roles, const uint8_t *prior, int64_t *room)
{
    const int64_t largest = (int64_t)1 << 52;
    size_t capacity = 16 * (frames * channels + 1), written = 0;
    int64_t *numbers = buffer(frames * channels, 8);
    uint8_t *out = buffer(capacity, 1);
    for (size_t i = 0; i < frames * channels; i++) {
        int64_t size = next(3) ? (int64_t)(((uint64_t)next(1u << 26) << 26) >> next(53)) : largest, grid = 1;
        for (uint32_t d = digits[i % channels]; d && d < 16 && size / grid >= 10; d--)
            grid *= 10;
        numbers[i] = digits[i % channels] > 16 ? 0 : (next(2) ? 1 : -1) * (digits[i % channels] ? grid : size);
    }
    int32_t status = kp_kine_numbers_encode(numbers, frames, channels, digits, scales, decimals, roles, prior, room, out,
                                            capacity, &written);
    if (status == KP_OK && written) {
        out[next((uint32_t)written)] ^= (uint8_t)(1u << next(8));
        kp_kine_numbers_decode(out, written, numbers, frames, channels, digits, scales, decimals, roles, prior, room);
    }
    free(numbers), free(out);
}

/* A prior of states at random and two laws with weights at random. */
static uint8_t *some_prior(void)
{
    static const uint8_t laws[2][8] = {{2, 2, 3, 9, 0, 1}, {3, 3, 2, 9, 0, 1, 2}};
    const size_t states = 3 * (64 + 1 + 22 + 22 * 22);
    uint8_t *prior = buffer(states + 1 + 2 * (8 + 36), 1), *p = prior + states;
    for (size_t i = 0; i < states; i++)
        prior[i] = (uint8_t)next(256);
    *p++ = 2;
    for (int n = 0; n < 2; n++) {
        for (int i = 0; i < 4 + laws[n][1]; i++)
            *p++ = laws[n][i];
        for (int i = 0; i < 36; i++)
            *p++ = (uint8_t)next(256);
    }
    return prior;
}

/* The two lossless coders of `kine` on noise. */
static void fuzz_exact(const uint8_t *data, size_t size)
{
    size_t frames = next(40), channels = next(20) ? next(5) : next(70);
    int64_t *numbers = buffer(frames * channels, 8);
    uint8_t *powers = buffer(frames * channels, 1), *varies = buffer(channels, 1), *digits = buffer(channels, 1);
    uint8_t *decimals = buffer(channels, 1), *roles = buffer(channels, 1), *prior = some_prior();
    int8_t *scales = buffer(channels, 1);
    int32_t *taps = buffer(8 * channels, 4);
    uint32_t *starts = buffer(channels + 1, 4), *states = buffer(kp_kine_exact_states(), 4);
    uint64_t *history = buffer(channels * kp_kine_exact_history() / 8 + 1, 8);
    kp_exact_link *links = buffer(channels, sizeof *links);
    for (size_t c = 0; c < channels; c++) {
        varies[c] = (uint8_t)next(2);
        digits[c] = (uint8_t)(next(300) == 0 ? next(256) : next(4) ? next(16) : 17 + next(15));
        scales[c] = (int8_t)(next(300) == 0 ? next(256) : next(41));
        decimals[c] = (uint8_t)next(12);
        roles[c] = (uint8_t)(next(8) ? c : next(256));
        starts[c + 1] = starts[c] + (c > 0);
        links[starts[c]] = (kp_exact_link){(int32_t)next((uint32_t)c + 1), (int32_t)next(64) - 32, (int32_t)next(12)};
        for (int i = 0; i < 8; i++)
            taps[8 * c + i] = (int32_t)next(1 << 15) - (1 << 14);
    }
    kp_kine_exact_decode(data, size, numbers, powers, frames, channels, taps, varies, starts, links, states, history);
    int64_t *room = buffer(kp_kine_numbers_room(digits, channels), 8);
    kp_kine_numbers_decode(data, size, numbers, frames, channels, digits, scales, decimals, roles, NULL, room);
    kp_kine_numbers_decode(data, size, numbers, frames, channels, digits, scales, decimals, roles, prior, room);
    fuzz_numbers(frames, channels, digits, scales, decimals, roles, next(4) ? prior : NULL, room);
    free(numbers), free(powers), free(varies), free(digits), free(scales), free(taps), free(starts), free(states);
    free(history), free(links), free(room), free(decimals), free(roles), free(prior);
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 2000;
    if (argc > 2)
        seed ^= strtoull(argv[2], NULL, 10) << 20;
    for (long i = 0; i < rounds; i++) {
        size_t size = next(next(8) ? 60 : 600);
        uint8_t *data = random_bytes(size);
        fuzz_binary(data, size);
        fuzz_symbols(data, size);
        fuzz_packing(data, size);
        fuzz_lifting();
        fuzz_kinematics();
        fuzz_faces(data, size);
        fuzz_mesh(data, size);
        fuzz_kine(data, size);
        fuzz_exact(data, size);
        free(data);
    }
    printf("%ld rounds\n", rounds);
    return 0;
}

/*
 * Kinepack kernels: the one declaration of every compiled function.
 *
 * The Python binding takes its declarations from the part between the two markers below, the wasm build exports the
 * same names. Rules: freestanding C11, no allocation, all buffers belong to the caller, every function returns a
 * kp_status. On any status but KP_OK the contents of output buffers are unspecified. Matrices are row-major 3x3 and
 * act on column vectors. Pointers marked "or NULL" may be null; all others must not, unless their length is zero.
 */
#ifndef KINEPACK_KERNELS_H
#define KINEPACK_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* binding: begin */

enum kp_status {
    KP_OK = 0,
    KP_TRUNCATED = -1, /* the input ends before its content does */
    KP_CORRUPT = -2,   /* the input cannot have come from the encoder */
    KP_CAPACITY = -3,  /* the output buffer is too small */
    KP_ARGUMENT = -4   /* the caller broke a precondition */
};

enum kp_wavelet { KP_CUBIC = 0, KP_CDF53 = 1, KP_CDF97 = 2 };

/* ---- adaptive binary range coder (docs/kernels.md, "Binary range coder") -------------------------------------- */

/* Bits with `inputs` contexts each: contexts[count * inputs], or NULL for context 0 everywhere (one input only).
 * states[state_count] and, for two or three inputs, weights[state_count * inputs] are read and updated. */
int32_t kp_encode_bits(const uint8_t *bits, size_t count, const int32_t *contexts, uint32_t inputs, uint32_t *states,
                       size_t state_count, int32_t *weights, uint32_t rate, uint32_t mix_rate, uint8_t *out,
                       size_t capacity, size_t *size);
int32_t kp_decode_bits(const uint8_t *data, size_t size, uint8_t *bits, size_t count, const int32_t *contexts,
                       uint32_t inputs, uint32_t *states, size_t state_count, int32_t *weights, uint32_t rate,
                       uint32_t mix_rate);

/* Number of adaptive bins one context of the integer coder owns. */
uint32_t kp_integer_bins(uint32_t escape);

/* Integers with `inputs` contexts each. states[context_count * bins], weights[bins * inputs] (NULL for one input). */
int32_t kp_encode_integers(const int32_t *values, size_t count, const int32_t *contexts, uint32_t inputs,
                           uint32_t *states, size_t context_count, int32_t *weights, uint32_t escape, uint32_t rate,
                           uint32_t mix_rate, uint8_t *out, size_t capacity, size_t *size);
int32_t kp_decode_integers(const uint8_t *data, size_t size, int32_t *values, size_t count, const int32_t *contexts,
                           uint32_t inputs, uint32_t *states, size_t context_count, int32_t *weights,
                           uint32_t escape, uint32_t rate, uint32_t mix_rate);

/* ---- adaptive multi-symbol coder ------------------------------------------------------------------------------ */

/* Symbols below `alphabet`, one order-0 model per context. tables[context_count * (alphabet + 1)] is scratch. */
int32_t kp_encode_symbols(const uint16_t *symbols, size_t count, const int32_t *contexts, size_t context_count,
                          uint32_t alphabet, uint32_t increment, uint32_t limit, uint32_t *tables, uint8_t *out,
                          size_t capacity, size_t *size);
int32_t kp_decode_symbols(const uint8_t *data, size_t size, uint16_t *symbols, size_t count, const int32_t *contexts,
                          size_t context_count, uint32_t alphabet, uint32_t increment, uint32_t limit,
                          uint32_t *tables);

/* ---- bit and byte packing ------------------------------------------------------------------------------------- */

/* Most significant bit first, widths[count] of 0..32 bits, or NULL for the constant `width`. */
int32_t kp_pack_bits(const uint32_t *values, size_t count, const uint8_t *widths, uint32_t width, uint8_t *out,
                     size_t capacity, size_t *size);
int32_t kp_unpack_bits(const uint8_t *data, size_t size, uint32_t *values, size_t count, const uint8_t *widths,
                       uint32_t width);

/* Little-endian base 128, shortest form only. */
int32_t kp_encode_varints(const uint64_t *values, size_t count, uint8_t *out, size_t capacity, size_t *size);
int32_t kp_decode_varints(const uint8_t *data, size_t size, uint64_t *values, size_t count, size_t *consumed);

/* ---- kinematics ----------------------------------------------------------------------------------------------- */

/* Sine and cosine of count angles in radians; NaN when |angle| >= 1e6 or not finite. */
int32_t kp_sincos(const double *angles, size_t count, double *sines, double *cosines);

/* Local rotations of Euler joints: out = C R(axis 0) R(axis 1) R(axis 2) C^T, or rest where a joint has no channel.
 * values[frames * channels] times angle_scale are radians. axis_channel[joints * 3] is a channel or -1,
 * axis_id[joints * 3] is 0, 1 or 2, frame and rest are [joints * 9] or NULL for identity, out[frames * joints * 9]. */
int32_t kp_local_rotations(size_t frames, size_t joints, size_t channels, const double *values, double angle_scale,
                           const int32_t *axis_channel, const int32_t *axis_id, const double *frame,
                           const double *rest, double *out);

/* Global matrices, joint origins and measured points: local = T R S, parents[j] < j or -1. local_scale and tips may
 * be NULL (one, zero). Per frame and joint: 9 for rotations, 3 for translation, scale, origin and point. */
int32_t kp_forward_kinematics(size_t frames, size_t joints, const int32_t *parents, const double *local_rot,
                              const double *local_trans, const double *local_scale, const double *tips,
                              double *out_rot, double *out_origin, double *out_point);

/* Derivatives of points by channels, out[frames * joints * 3 * columns]: radians for rotation channels, units for
 * translation channels (trans_channel[joints * 3], channel or -1). column_of[channels] picks the output column of a
 * channel, or -1. Globals come from kp_forward_kinematics without scale. scratch[joints * 9]. */
int32_t kp_jacobian(size_t frames, size_t joints, size_t channels, const int32_t *parents, const double *values,
                    double angle_scale, const int32_t *axis_channel, const int32_t *axis_id, const double *frame,
                    const int32_t *trans_channel, const double *global_rot, const double *origin,
                    const double *point, const int32_t *column_of, size_t columns, double *scratch, double *out);

/* ---- lifting wavelets along the first axis -------------------------------------------------------------------- */

/* In place on data[rows * channels]; coefficients come coarse first. scratch[rows * channels]. */
int32_t kp_lifting_forward(double *data, size_t rows, size_t channels, uint32_t levels, int32_t wavelet,
                           double *scratch);
int32_t kp_lifting_inverse(double *data, size_t rows, size_t channels, uint32_t levels, int32_t wavelet,
                           double *scratch);
int32_t kp_lifting_forward_int(int32_t *data, size_t rows, size_t channels, uint32_t levels, int32_t *scratch);
int32_t kp_lifting_inverse_int(int32_t *data, size_t rows, size_t channels, uint32_t levels, int32_t *scratch);

/* ---- `kine`, the clip codec (docs/codecs/kine.md) ------------------------------------------------------------ */

/* Coefficients q[frames * tracks], block after block, each [row][track]; lengths[blocks] sum up to frames. model, states
 * and weights come from the codec's prior; states and weights are updated. With `ends` tracks may end before their block.
 * Scratch: logs[frames * tracks], runs[3 * tracks]. */
int32_t kp_kine_encode(const int32_t *q, size_t frames, size_t tracks, uint32_t *lengths, size_t blocks,
                       const uint8_t *classes, uint32_t unit, uint32_t quality, const int16_t *model,
                       uint32_t ends, uint32_t *states, int32_t *weights, uint8_t *logs, int32_t *runs, uint8_t *out,
                       size_t capacity, size_t *size);
int32_t kp_kine_decode(const uint8_t *data, size_t size, int32_t *q, size_t frames, size_t tracks, uint32_t *lengths,
                       size_t capacity, size_t *blocks, const uint8_t *classes, uint32_t unit, uint32_t quality,
                       const int16_t *model, uint32_t ends, uint32_t *states, int32_t *weights, uint8_t *logs,
                       int32_t *runs);

/* Tracks of decoded coefficients, track c in row places[c] of out[rows * frames], of which frames first..stop-1 are
 * sure to be filled; scratch of 2 n + 3 + 2 h + n h doubles, n the longest block and h = (n + 1) / 2. `bent`: blocks
 * begin with a line and a parabola. */
int32_t kp_kine_synthesise(const int32_t *q, size_t frames, size_t tracks, const uint32_t *lengths, size_t blocks,
                           const double *steps, const double *offsets, const uint32_t *starts,
                           const uint32_t *regressors, const double *weights, const uint32_t *places, uint32_t bent,
                           size_t first, size_t stop, double *scratch, size_t scratch_size, double *out);

/* Channels values[frames * channels] of the first frames of tracks[rows * stride]. turns[turn_count * 13] and
 * rests[turn_count * 4] as pose_turn in kine_pose.c reads them; plain[plain_count * 2] is track and channel,
 * scales[plain_count * 2] factor and value at rest. The caller has checked all indices. */
int32_t kp_kine_pose(const double *tracks, size_t stride, size_t frames, size_t channels, const int32_t *turns,
                     const double *rests, size_t turn_count, const int32_t *plain, const double *scales,
                     size_t plain_count, double per_angle, uint32_t continuous, double *values);
/* Puts stretches of Euler channels into the branch of their source; branches[count * 9] as in kine_pose.c, channels
 * checked by the caller. */
int32_t kp_kine_branches(double *values, size_t frames, size_t channels, const int32_t *branches, size_t count,
                         double per_angle);

/* Lossless in versions 1 and 2: values n * 10^k [frames * channels], k < 16 coded where varies[channel];
 * taps[channels * 8] of at most 2^14 in size; links [starts[channel], starts[channel + 1]) add
 * weight * surprise / 2^shift of earlier channels. Scratch: states of kp_kine_exact_states(), history of
 * kp_kine_exact_history() bytes a channel. */
typedef struct {
    int32_t channel, weight, shift;
} kp_exact_link;

uint32_t kp_kine_exact_states(void);
uint32_t kp_kine_exact_history(void);
int32_t kp_kine_exact_decode(const uint8_t *data, size_t size, int64_t *n, uint8_t *k, size_t frames, size_t channels,
                             const int32_t *taps, const uint8_t *varies, const uint32_t *starts,
                             const kp_exact_link *links, uint32_t *states, uint64_t *history);

/* Lossless since version 3: whole numbers [frames, channels] of at most 2^52 in size. `digits` [channels]: 0 any
 * number, up to 15 so many significant digits, plus 16 multiples of 2^-68 rad printed so. `scales` [channels]: log2 of a
 * typical move, 0 to 40. `prior`: the table of docs/codecs/kine.md, or NULL for streams before version 5, which ignore
 * `decimals` [channels] (of degrees) and `roles` [channels] (which channel of a known rig each is; 255 for none).
 * `room`: as many words as kp_kine_numbers_room says; UINT32_MAX: too many channels. */
uint32_t kp_kine_numbers_room(const uint8_t *digits, size_t channels);
int32_t kp_kine_numbers_encode(int64_t *numbers, size_t frames, size_t channels, const uint8_t *digits,
                               const int8_t *scales, const uint8_t *decimals, const uint8_t *roles,
                               const uint8_t *prior, int64_t *room, uint8_t *out, size_t capacity, size_t *size);
int32_t kp_kine_numbers_decode(const uint8_t *data, size_t size, int64_t *numbers, size_t frames, size_t channels,
                               const uint8_t *digits, const int8_t *scales, const uint8_t *decimals,
                               const uint8_t *roles, const uint8_t *prior, int64_t *room);

/* Rate-distortion quantiser of one block (kine_descent.c). */
int32_t kp_kine_descend(const double *y, size_t rows, size_t tracks, const float *basis, const float *metric,
                        const uint8_t *coupled, size_t group, float lambda, uint32_t sweeps, const float *costs,
                        const uint8_t *classes, uint32_t unit, uint32_t quality, const int16_t *model, float *error,
                        float *curvature, float *gradient, float *squares, uint32_t *limits, int32_t *means,
                        int32_t *runs, uint8_t *logs, int32_t *q);

/* ---- MPEG-4 body animation ------------------------------------------------------------------------------------- */

/* A bare FBA stream of I and P frames. Parameters are numbered in group order. levels[frames * those that are on],
 * intra[frames], on[count], ranges[4 * count] are the 5-bit k of I maximum, I minimum, P maximum and P minimum.
 * sixteenths: frames a second times 16, or 0 to leave it out. scratch[3722 * count] is always enough. */
int32_t kp_fba_encode(const int32_t *levels, const uint8_t *intra, size_t frames, const uint8_t *on,
                      const int32_t *ranges, size_t count, const uint8_t *group_sizes, uint32_t groups, uint32_t quant,
                      uint32_t sixteenths, uint32_t *scratch, size_t scratch_size, uint8_t *out, size_t capacity,
                      size_t *size);
/* values[capacity * width] receives reconstructed parameters; columns[count] says where, or -1. used[count] tells
 * which parameters were on in some frame. */
int32_t kp_fba_decode(const uint8_t *data, size_t size, size_t count, const uint8_t *group_sizes, uint32_t groups,
                      const int32_t *steps, const int32_t *columns, size_t width, uint32_t *scratch,
                      size_t scratch_size, int32_t *values, size_t capacity, size_t *frames, uint8_t *used,
                      uint32_t *sixteenths);

/* Segments of mpeg4-float, bap-indexing and sparse-indexing (docs/codecs). symbols[4 * (frames - 1) * width],
 * tables[257], table[1 << bits], columns[2 * width]; out[frames * width], or (rows + 1) * width. */
int32_t kp_float_frames_decode(const uint8_t *data, size_t size, size_t frames, size_t width, uint16_t *symbols,
                               uint32_t *tables, float *out);
int32_t kp_indexed_decode(const uint8_t *data, size_t size, size_t rows, size_t width, size_t fdf, uint32_t bits,
                          size_t rows_per_table, float *table, float *out);
int32_t kp_sparse_indexed_decode(const uint8_t *data, size_t size, size_t rows, size_t width, size_t fdf, uint32_t bits,
                                 size_t rows_per_table, uint32_t half, float *table, uint32_t *columns, float *out);

/* Sums and counts [level_count * buckets] of numbers[rows * width] by their column's level and their bucket. */
int32_t kp_bucket_sums(const double *numbers, size_t rows, size_t width, const int32_t *levels, size_t level_count,
                       const double *edges, size_t buckets, double *sums, double *counts);

/* The encoder's rows of one table: x[(rows + 1) * width], its first row and that of out[(rows + 1) * width] are the
 * poses before. A value is released when |accumulated - mean| > threshold and, in a closed loop, when that brings it
 * nearer; a threshold below zero releases always. edges[buckets - 1] ascend. deltas[rows *
 * fdf], indices and released [rows * (width - fdf)], carry[width] is read and updated. */
int32_t kp_index_rows(const double *x, size_t rows, size_t width, size_t fdf, const double *edges, const float *table,
                      size_t buckets, const double *mean, const double *threshold, uint32_t closed, double *carry,
                      float *deltas, uint16_t *indices, uint8_t *released, float *out);

/* ---- wavelet coefficients of a clip (docs/codecs/wavelet.md) ---------------------------------------------------- */

/* levels[rows * channels] as 16-bit codes, channel by channel. KP_CAPACITY sets *size to what is needed; four codes a
 * level and one a channel always suffice. */
int32_t kp_wavelet_encode_codes(const int32_t *levels, size_t rows, size_t channels, uint16_t *out, size_t capacity,
                                size_t *size);
/* ranges[2 * (levels + 1)]: the rows [first, end) of each band, coarse first, that frames start .. stop - 1 need. */
int32_t kp_wavelet_ranges(size_t rows, uint32_t levels, size_t start, size_t stop, uint64_t *ranges);
/* Adds to out[rows of all ranges * width], which is zero, the coefficients of the channels with columns[c] >= 0. */
int32_t kp_wavelet_decode_codes(const uint16_t *codes, size_t count, size_t rows, uint32_t levels,
                                const uint64_t *ranges, size_t channels, const double *steps, const int32_t *columns,
                                size_t width, double *out, size_t *used);
/* Frames start .. stop - 1 of the cubic inverse transform, from those coefficients. out[(stop - start) * width],
 * scratch[4 * the longest range * width]. */
int32_t kp_wavelet_inverse_window(const double *coefficients, size_t rows, uint32_t levels, const uint64_t *ranges,
                                  size_t start, size_t stop, size_t width, double *scratch, double *out);
/* Transpose of the cubic inverse transform, in place on data[rows * width]. scratch[rows * width]. */
int32_t kp_wavelet_adjoint(double *data, size_t rows, size_t width, uint32_t levels, double *scratch);

/* A rig as tables, -1 for channels it lacks. [joints] parents and weights; [joints * 3] axis, translation, scale and
 * rotation-vector channels, axis ids, offsets, rest scales and tips; [joints * 4] quaternion channels; [joints * 9]
 * frame and rest. */
typedef struct {
    size_t frames, joints, channels;
    const int32_t *parents, *axis_channel, *axis_id, *translation_channel, *scale_channel, *quaternion_channel,
        *rotvec_channel;
    const double *frame, *rest, *offsets, *rest_scale, *tips, *weights;
    double angle_scale;
    int32_t adds_translation;
} kp_rig;

/* Channel-major [channels * frames]: coefficients, and their indices by falling magnitude. joints[channels]: the
 * joint a channel moves, -1 for a channel the search leaves alone. */
typedef struct {
    const double *coefficients;
    const int32_t *order, *joints;
    uint32_t levels;
} kp_signals;

/* Algorithm 1 of Beaudoin et al. 2007 from kept[channels], which it changes; targets[frames * joints * 3] are the
 * original's points. scratch[frames * (channels + 46 * joints + 2) + 2 * joints]. *error is the sum of weighted squared
 * distances. */
int32_t kp_wavelet_anneal(const kp_rig *rig, const kp_signals *signals, const double *targets, uint32_t *kept,
                          uint32_t patience, uint64_t seed, uint32_t most, double *scratch, uint32_t *iterations,
                          double *error);

/* A motion and its first derivatives: kinds[channels] 0 none, 1 turns, 2 shifts; axes[frames * channels * 3] in object
 * space per unit of the channel; origins, points [frames * joints * 3]; weights [frames * joints]. */
typedef struct {
    size_t frames, joints, channels;
    const int32_t *parents, *kinds, *channel_joints;
    const double *weights, *axes, *origins, *points;
} kp_motion;

/* axes[frames * channels * 3] of Euler and translation channels; others are left as they are. */
int32_t kp_pose_axes(const kp_rig *rig, const double *values, const double *rotations, double *axes);
/* out[frames * channels]: J^T W residual[frames * joints * 3]; J^T W J change[frames * channels]; its diagonal.
 * scratch[9 * joints], and 10 * joints for the diagonal. */
int32_t kp_pose_pull(const kp_motion *motion, const double *residual, double *scratch, double *out);
int32_t kp_pose_curvature(const kp_motion *motion, const double *change, double *scratch, double *out);
int32_t kp_pose_diagonal(const kp_motion *motion, double *scratch, double *out);

/* ---- `kine-mesh`, the mesh codec (docs/codecs/kine-mesh.md) --------------------------------------------------- */

/* Coarse-to-fine order of vertices from distinct edges[2 * edge_count]: order[vertices], starts[vertices + 1],
 * refs[18 * vertices], rings and levels [vertices]. scratch[25 * vertices + 1 + 6 * edge_count],
 * byte_scratch[2 * vertices]. */
int32_t kp_mesh_hierarchy(const uint32_t *edges, size_t edge_count, size_t vertices, uint32_t *scratch,
                          uint8_t *byte_scratch, uint32_t *order, uint32_t *starts, uint32_t *refs, uint8_t *rings,
                          uint8_t *levels);
/* predictors[starts[vertices]] that reproduce features[used * vertices], used at most 16. */
int32_t kp_mesh_predictors(size_t vertices, const uint32_t *starts, const uint32_t *refs, const uint8_t *rings,
                           const double *features, uint32_t used, double bulge, double damping, double far,
                           double *predictors);
/* One component; steps[256] by level. */
int32_t kp_mesh_synthesise(size_t vertices, const uint32_t *starts, const uint32_t *refs, const uint8_t *rings,
                           const uint8_t *levels, const double *predictors, const double *steps, const int32_t *q,
                           double *values);
int32_t kp_mesh_quantize(size_t vertices, const uint32_t *starts, const uint32_t *refs, const uint8_t *rings,
                         const uint8_t *levels, const double *predictors, const double *steps, double rounding,
                         const double *wanted, int32_t *q, double *values);
/* The encoder's quantiser. S by columns: column_starts[vertices + 1], rows and weights [40 * vertices]; scratch
 * row_starts[vertices + 1], columns and values [40 * vertices], dense[vertices], touched[vertices]. */
int32_t kp_mesh_influence(size_t vertices, const uint32_t *starts, const uint32_t *refs, const double *predictors,
                          uint32_t *row_starts, uint32_t *columns, float *values, float *dense, uint32_t *touched,
                          uint32_t *column_starts, uint32_t *rows, float *weights);
/* q is read and bettered; past[vertices] are magnitudes of the components before, error[vertices] is scratch. */
int32_t kp_mesh_descend(size_t vertices, const uint32_t *starts, const uint32_t *refs, const uint8_t *rings,
                        const uint8_t *levels, const double *predictors, const double *steps,
                        const uint32_t *column_starts, const uint32_t *rows, const float *weights, const uint8_t *past,
                        double lambda, uint32_t sweeps, const double *wanted, int32_t *q, double *values,
                        double *error);
/* q[rows * vertices]: differences to the rounded mean of a vertex's ring become sums, each checked to be in 0..most. */
int32_t kp_mesh_sum(size_t vertices, const uint32_t *starts, const uint32_t *refs, const uint8_t *rings, size_t rows,
                    int32_t most, int32_t *q);

/* q[components * vertices]; states and weights are scratch of the sizes that kp_mesh_sizes tells, past[vertices]. */
int32_t kp_mesh_sizes(size_t *states, size_t *weights);
int32_t kp_mesh_encode(const int32_t *q, size_t vertices, size_t components, const uint32_t *starts,
                       const uint32_t *refs, const uint8_t *rings, const uint8_t *levels, uint32_t *states,
                       int32_t *weights, uint16_t *past, uint8_t *out, size_t capacity, size_t *size);
int32_t kp_mesh_decode(const uint8_t *data, size_t size, int32_t *q, size_t vertices, size_t components,
                       const uint32_t *starts, const uint32_t *refs, const uint8_t *rings, const uint8_t *levels,
                       uint32_t *states, int32_t *weights, uint16_t *past);

/* ---- connectivity (docs/format.md, "Coded faces") -------------------------------------------------------------- */

/* Scratch: words[words], keys[3 * faces], bytes[bytes]. */
int32_t kp_faces_scratch(size_t faces, size_t vertices, size_t *words, size_t *bytes);
/* policy 0 keeps the order of faces; odd ones walk the mesh: walked[3 * faces] receives the faces as they decode.
 * behind[3 * faces] is each half-edge's partner or 0xFFFFFFFF; own[3 * faces] and done[faces], zeroed, are scratch. */
int32_t kp_faces_encode(const int32_t *source, size_t faces, size_t vertices, uint32_t policy, const uint32_t *behind,
                        uint32_t *own, uint8_t *done, int32_t *walked, uint32_t *words, uint64_t *keys, uint8_t *bytes,
                        uint8_t *out, size_t capacity, size_t *size);
int32_t kp_faces_decode(const uint8_t *data, size_t size, int32_t *out, size_t faces, size_t vertices, uint32_t policy,
                        uint32_t *words, uint64_t *keys, uint8_t *bytes);

/* binding: end */

#endif

// The GEMV kernel. S warps, a team, own R rows of W together: warp s has parts s, s + S and so on of them, a part being U vectors
// of 16 bytes a lane and row. All loads of a part are in flight, those of the warp's next part issued from within the arithmetic
// of this one. The order of sums depends on k, S and U alone, so every choice of the others must give the same bits.
#pragma once
#include "gemv_formats.cuh"

// A format's activations from where SOURCE has them.
template <Format F, Source SOURCE>
struct Activations {
    static constexpr bool READY = SOURCE == COPIED || SOURCE == DIRECT;

    static __device__ __forceinline__ void stage(const char* x, unsigned k, char* sm) {
        if constexpr (SOURCE == COPIED) {
            const unsigned to = (unsigned)__cvta_generic_to_shared(sm), bytes = F == BF16 ? 2 * k : k + k / 4;
            for (unsigned i = threadIdx.x * 16; i < bytes; i += 4096)
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + i), "l"(x + i) : "memory");
            asm volatile("cp.async.wait_all;" ::: "memory");
        } else if constexpr (!READY) {
            constexpr unsigned N = SOURCE == BATCHED ? 4 : 1;
            for (unsigned first = threadIdx.x; first < k / 8; first += N * 256) {  // k is a multiple of 2,048, so all lanes
                uint4 v[N];                                                        // take part in the shuffles
#pragma unroll
                for (unsigned j = 0; j < N; j++)
                    if (first + j * 256 < k / 8) v[j] = load16<PLAIN>(x + (first + j * 256) * 16);
#pragma unroll
                for (unsigned j = 0; j < N; j++)
                    if (first + j * 256 < k / 8) {
                        float f[8];
                        unpack(f, v[j]);
                        Math<F>::store(sm, k, first + j * 256, f);
                    }
            }
        }
        if (SOURCE != DIRECT) __syncthreads();
    }
    static __device__ __forceinline__ typename Math<F>::X load(const char* x, unsigned k, unsigned v) {
        if constexpr (F == BF16 && READY) {
            float f[8];
            unpack(f, ((const uint4*)x)[v]);
            return {make_float4(f[0], f[1], f[2], f[3]), make_float4(f[4], f[5], f[6], f[7])};
        } else {
            return Math<F>::load(x, k, v);
        }
    }
};

__device__ __forceinline__ void write_result(const Args& a, unsigned row, float v) {
    const uint32_t b = __float_as_uint(v);
    a.y[row] = (uint16_t)((b + 0x7fff + ((b >> 16) & 1)) >> 16);  // to nearest, ties to even
    if (a.y32) a.y32[row] = v;
}

// Whoever brings the last of 32 results quantises them. All lanes of the warp that wrote `rows` from `row` on.
template <Format F>
__device__ __forceinline__ void quantise_results(const Args& a, unsigned row, unsigned rows) {
    if (row >= a.next_k) return;
    unsigned before = 0;
    __syncwarp();
    if (threadIdx.x % 32 == 0) before = add_acquire_release(a.arrived + row / 32, rows);
    if (__shfl_sync(~0u, before, 0) + rows < 32) return;
    __syncwarp();
    const unsigned i = row / 32 * 4 + threadIdx.x % 4;  // eights: four lanes have the block, the others do the same
    float f[8];
    unpack(f, __ldcg((const uint4*)a.y + i));
    Math<F>::store(a.ready, a.next_k, i, f);
    if (threadIdx.x % 32 == 0) a.arrived[row / 32] = 0;  // for the kernels after this
}

// Numbers are immediates: else a kernel takes all 16 barriers, and four blocks all of an SM's, which keeps the next kernel away.
template <int S, int TEAM = 0>
__device__ __forceinline__ void team_barrier(unsigned team) {
    if constexpr (TEAM < 8 / S) {
        if (team == TEAM)
            asm volatile("bar.sync %0, %1;" ::"n"(1 + TEAM), "n"(32 * S) : "memory");
        else
            team_barrier<S, TEAM + 1>(team);
    }
}
// The sums of the team's warps, in order; lane r of its first warp gets row r's. In turns two buffers, so one barrier is enough.
template <int R, int S>
__device__ __forceinline__ float sum_of_team(float (&parts)[8][R], float mine) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = warp / S * S;
    if (lane < R) parts[warp][lane] = mine;
    __syncwarp();
    team_barrier<S>(warp / S);
    if (warp == first && lane < R) {
        mine = parts[first][lane];
#pragma unroll
        for (int s = 1; s < S; s++) mine += parts[first + s][lane];
    }
    return mine;
}

template <Format F, Source SOURCE, int R, int S, int U, bool QUANTISES>
static __global__ __launch_bounds__(256) void gemv_k(const Args a) {
    using X = Activations<F, SOURCE>;
    constexpr unsigned PARTS = loads_of_piece(F) / U, STRIDE = S * U * 512;  // of a piece; bytes to the warp's next part
    static_assert(PARTS * U == loads_of_piece(F) && 32 % R == 0);
    extern __shared__ __align__(16) char sm[];
    __shared__ float sums[S == 1 ? 1 : 2][8][R];
    const unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5, first = warp % S;
    const unsigned teams = gridDim.x * (8 / S), groups = a.n / R, parts = a.k / PIECE * PARTS;
    const unsigned row = a.k / weights_in_16_bytes(F) * 16, scale_row = a.k / 16;  // bytes
    unsigned g = warp / S * gridDim.x + blockIdx.x;  // teams of a block take far rows, so that leftovers spread
    uint4 w[R][U];
    uint2 scales[R], next[R];
    const char* p = (const char*)a.w + (size_t)g * R * row + first * (U * 512) + lane * 16;
    const char* sp = a.s + (size_t)g * R * scale_row + Math<F>::scales_of_lane(lane);  // of the rows' first part
    auto load_next_scales = [&](unsigned part) {
        if constexpr (F != BF16)
#pragma unroll
            for (int r = 0; r < R; r++)
                next[r] = load_scales<U>(sp + r * scale_row + part / PARTS * 128 + part % PARTS * (U * 2));
        else
            for (int r = 0; r < R; r++) next[r] = make_uint2(0, 0);
    };
    auto take_next_scales = [&] {
#pragma unroll
        for (int r = 0; r < R; r++) scales[r] = next[r];
    };
    // from the last part of a group to the first of the team's next one
    const size_t jump = (size_t)teams * R * row - (size_t)((parts - 1 - first) / S) * STRIDE;
    if (g < groups) {
        load_next_scales(first);
        take_next_scales();
#pragma unroll
        for (int r = 0; r < R; r++)
#pragma unroll
            for (int u = 0; u < U; u++) w[r][u] = load16<NO_ALLOC>(p + r * row + u * 512);
    }
    if (a.trigger == BEFORE_WAIT || (a.trigger == AT_LAST_PIECE && g >= groups)) let_next_kernel_start();
    wait_for_kernels_before();
    X::stage((const char*)a.x, a.k, sm);
    const char* x = SOURCE == DIRECT ? (const char*)a.x : sm;
    for (unsigned turn = 0; g < groups; g += teams, turn ^= 1) {
        float acc[R][2];
#pragma unroll
        for (int r = 0; r < R; r++) acc[r][0] = acc[r][1] = 0;
        for (unsigned c = first; c < parts; c += S) {
            const bool last_part = c + S >= parts, more = !last_part || g + teams < groups;
            p += last_part ? jump : (size_t)STRIDE;
            if (last_part) sp += (size_t)teams * R * scale_row;
            if (!more && a.trigger == AT_LAST_PIECE) let_next_kernel_start();
            if (more) load_next_scales(last_part ? first : c + S);
#pragma unroll
            for (int u = 0; u < U; u++) {
                const auto xs = X::load(x, a.k, (c * U + u) * 32 + lane);
#pragma unroll
                for (int r = 0; r < R; r++) {
                    Math<F>::add(acc[r], w[r][u], xs, scales[r], u);
                    if (more) w[r][u] = load16<NO_ALLOC>(p + r * row + u * 512);
                }
            }
            if (more) take_next_scales();
        }
        float mine = 0;
#pragma unroll
        for (int r = 0; r < R; r++) {
            float v = acc[r][0] + acc[r][1];
#pragma unroll
            for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
            if (lane == r) mine = v;
        }
        if constexpr (S > 1) mine = sum_of_team<R, S>(sums[turn], mine);
        if (first != 0) continue;
        if (lane < R) write_result(a, g * R + lane, mine);
        if (QUANTISES) quantise_results<F>(a, g * R, R);
    }
}

template <Format F, Source SOURCE, int R, int S, int U, bool QUANTISES = false>
Kernel gemv_kernel() {
    return {gemv_k<F, SOURCE, R, S, U, QUANTISES>, SOURCE, R, S, U, QUANTISES};
}

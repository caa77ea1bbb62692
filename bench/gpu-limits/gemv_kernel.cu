// A warp owns R rows of W; its lanes read 16 bytes each, all loads of a piece of the R rows in flight, those of the next piece
// issued from within the arithmetic of this one. The order of sums depends on k alone, so every choice must give the same bits.
#include "gemv_formats.cuh"

template <Format F>
__device__ __forceinline__ void stage_activations(const uint16_t* x, unsigned k, char* sm) {
    for (unsigned i = threadIdx.x; i < k / 8; i += 256) {  // k is a multiple of 2,048, so all lanes take part in the shuffles
        const uint4 v = load16<PLAIN>(x + i * 8);
        const float f[8] = {lower_bf16(v.x), upper_bf16(v.x), lower_bf16(v.y), upper_bf16(v.y),
                            lower_bf16(v.z), upper_bf16(v.z), lower_bf16(v.w), upper_bf16(v.w)};
        Math<F>::store(sm, k, i, f);
    }
}

__device__ __forceinline__ void write_result(const Args& a, unsigned row, float v) {
    const uint32_t b = __float_as_uint(v);
    a.y[row] = (uint16_t)((b + 0x7fff + ((b >> 16) & 1)) >> 16);  // to nearest, ties to even
    if (a.y32) a.y32[row] = v;
}

template <Format F, int R>
static __global__ __launch_bounds__(256) void gemv_k(const Args a) {
    constexpr int U = loads_of_piece(F);
    extern __shared__ __align__(16) char sm[];
    const unsigned lane = threadIdx.x & 31, warps = gridDim.x * 8, groups = a.n / R, pieces = a.k / PIECE;
    const unsigned row = a.k / weights_in_16_bytes(F) * 16, scale_row = a.k / 16;  // bytes
    unsigned g = (threadIdx.x >> 5) * gridDim.x + blockIdx.x;  // warps of a block take far rows, so that leftovers spread
    uint4 w[R][U];
    uint2 scales[R], next[R];
    const char* p = (const char*)a.w + (size_t)g * R * row + lane * 16;
    const char* sp = a.s + (size_t)g * R * scale_row + Math<F>::scales_of_lane(lane);
    // from the last piece of a group to the first of the warp's next one
    const size_t jump = (size_t)warps * R * row - (size_t)(pieces - 1) * (U * 512);
    const size_t scale_jump = (size_t)warps * R * scale_row - (size_t)(pieces - 1) * 128;
    if (g < groups) {
#pragma unroll
        for (int r = 0; r < R; r++) {
            scales[r] = Math<F>::load_scales(sp + r * scale_row);
#pragma unroll
            for (int u = 0; u < U; u++) w[r][u] = load16<NO_ALLOC>(p + r * row + u * 512);
        }
    }
    if (a.trigger == BEFORE_WAIT || (a.trigger == AT_LAST_PIECE && g >= groups)) let_next_kernel_start();
    wait_for_kernels_before();
    stage_activations<F>(a.x, a.k, sm);
    __syncthreads();
    for (; g < groups; g += warps) {
        float acc[R][2];
#pragma unroll
        for (int r = 0; r < R; r++) acc[r][0] = acc[r][1] = 0;
        for (unsigned c = 0; c < pieces; c++) {
            const bool last_piece = c + 1 == pieces, more = !last_piece || g + warps < groups;
            p += last_piece ? jump : (size_t)(U * 512);
            sp += last_piece ? scale_jump : (size_t)128;
            if (!more && a.trigger == AT_LAST_PIECE) let_next_kernel_start();
            if (more)
#pragma unroll
                for (int r = 0; r < R; r++) next[r] = Math<F>::load_scales(sp + r * scale_row);
#pragma unroll
            for (int u = 0; u < U; u++) {
                const auto x = Math<F>::load(sm, a.k, (c * U + u) * 32 + lane);
#pragma unroll
                for (int r = 0; r < R; r++) {
                    Math<F>::add(acc[r], w[r][u], x, scales[r], u);
                    if (more) w[r][u] = load16<NO_ALLOC>(p + r * row + u * 512);
                }
            }
            if (more)
#pragma unroll
                for (int r = 0; r < R; r++) scales[r] = next[r];
        }
#pragma unroll
        for (int r = 0; r < R; r++) {
            float v = acc[r][0] + acc[r][1];
#pragma unroll
            for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
            if (lane == 0) write_result(a, g * R + r, v);
        }
    }
}

std::vector<Kernel> gemv_kernels(Format f) {
    if (f == BF16) return {{gemv_k<BF16, 1>, 1}, {gemv_k<BF16, 2>, 2}};
    if (f == Q8) return {{gemv_k<Q8, 1>, 1}, {gemv_k<Q8, 2>, 2}, {gemv_k<Q8, 4>, 4}};
    return {{gemv_k<Q4, 1>, 1}, {gemv_k<Q4, 2>, 2}, {gemv_k<Q4, 4>, 4}};
}
size_t gemv_shared_bytes(Format f, int k) {
    return f == BF16 ? (size_t)k * 4 : (size_t)k + k / 4;
}

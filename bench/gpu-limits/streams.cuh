// Two ways in which a block streams memory: loads to registers, and bulk copies to a ring in shared memory.
#pragma once
#include "device.cuh"

// Tiles of 256 x U vectors dealt round-robin to the blocks. All U loads of the first tile go out before start(), the next tile's
// from within the loop that takes this one: U registers live across the loop's end, so U loads really are in flight together.
// (Loading U and then taking U doesn't do: ptxas saves registers by taking the first before it issues the last.)
template <Load LOAD, int U, class Start, class Take>
__device__ __forceinline__ void stream_registers(const uint4* p, long tiles, Start start, Take take) {
    uint4 v[U];
    long t = blockIdx.x;
    const uint4* q = p + t * (256 * U) + threadIdx.x;
    const long step = (long)gridDim.x * (256 * U);
    if (t < tiles)
#pragma unroll
        for (int u = 0; u < U; u++) v[u] = load16<LOAD>(q + u * 256);
    start();
    while (t < tiles) {
        t += gridDim.x;
        q += step;
        const bool more = t < tiles;
#pragma unroll
        for (int u = 0; u < U; u++) {
            take(v[u]);
            if (more) v[u] = load16<LOAD>(q + u * 256);
        }
    }
}

// The ring: RING_BARRIERS bytes of mbarriers, then `stages` tiles. The second half of the barriers is for stages that are free
// again where a warp of its own copies.
constexpr int RING_BARRIERS = 256, FREE = RING_BARRIERS / 2, WORKERS = 256;
inline size_t ring_bytes(int tile_bytes, int stages) {
    return RING_BARRIERS + (size_t)tile_bytes * stages;
}

__device__ __forceinline__ void init_ring(unsigned ring, int stages) {
    for (int s = 0; s < stages; s++) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(ring + s * 8) : "memory");
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(ring + FREE + s * 8), "r"(WORKERS / 32) : "memory");
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ __forceinline__ void copy_to_ring(unsigned ring, int stage, const char* p, int bytes) {
    const unsigned barrier = ring + stage * 8, tile = ring + RING_BARRIERS + stage * bytes;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(tile), "l"(p),
                 "r"(bytes), "r"(barrier)
                 : "memory");
}
// Bounded, as wait_until.
__device__ __forceinline__ void wait_for_phase(unsigned barrier, unsigned parity) {
    unsigned done = 0;
    for (unsigned n = 0; !done; n++) {
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
        if (n > 4000000u) __trap();
    }
}
__device__ __forceinline__ unsigned read_tile(const char* tile, int bytes) {
    unsigned acc = 0;
#pragma unroll 4
    for (int o = threadIdx.x * 16; o < bytes; o += WORKERS * 16) acc ^= xor4(*(const uint4*)(tile + o));
    return acc;
}

// The block's tiles are first + i * step for i < n. before(i) runs in all threads before tile i is waited for; the ring is full
// by then, which is prefetch across whatever before() waits for. Returns the XOR of all that was read and of what before() gives.
template <class Before>
__device__ unsigned stream_ring(const char* p, long first, long step, long n, int tile_bytes, int stages, Before before) {
    extern __shared__ __align__(128) char shared[];
    const unsigned ring = (unsigned)__cvta_generic_to_shared(shared);
    auto copy = [&](long i, int stage) { copy_to_ring(ring, stage, p + (first + i * step) * tile_bytes, tile_bytes); };
    if (threadIdx.x == 0) {
        init_ring(ring, stages);
        for (int s = 0; s < stages && s < n; s++) copy(s, s);
    }
    __syncthreads();
    unsigned acc = 0, parity = 0;
    int stage = 0;
    for (long i = 0; i < n; i++) {
        acc ^= before(i);
        wait_for_phase(ring + stage * 8, parity);
        acc ^= read_tile(shared + RING_BARRIERS + stage * tile_bytes, tile_bytes);
        __syncthreads();
        if (threadIdx.x == 0 && i + stages < n) copy(i + stages, stage);
        if (++stage == stages) {
            stage = 0;
            parity ^= 1;
        }
    }
    return acc;
}

// The same in a block of WORKERS threads and a warp more, which does nothing but copy: it waits for free stages only. The workers
// may not use __syncthreads() in before().
template <class Before>
__device__ unsigned stream_ring_of_copier(const char* p, long first, long step, long n, int tile_bytes, int stages, Before before) {
    extern __shared__ __align__(128) char shared[];
    const unsigned ring = (unsigned)__cvta_generic_to_shared(shared);
    if (threadIdx.x == 0) init_ring(ring, stages);
    __syncthreads();
    unsigned acc = 0, parity = 0;
    int stage = 0;
    auto advance = [&] {
        if (++stage < stages) return;
        stage = 0;
        parity ^= 1;
    };
    if (threadIdx.x >= WORKERS) {
        if (threadIdx.x == WORKERS)
            for (long i = 0; i < n; i++) {
                if (i >= stages) wait_for_phase(ring + FREE + stage * 8, parity ^ 1);  // the round before
                copy_to_ring(ring, stage, p + (first + i * step) * tile_bytes, tile_bytes);
                advance();
            }
        return 0;
    }
    for (long i = 0; i < n; i++) {
        acc ^= before(i);
        wait_for_phase(ring + stage * 8, parity);
        acc ^= read_tile(shared + RING_BARRIERS + stage * tile_bytes, tile_bytes);
        __syncwarp();
        if (threadIdx.x % 32 == 0)
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(ring + FREE + stage * 8) : "memory");
        advance();
    }
    return acc;
}

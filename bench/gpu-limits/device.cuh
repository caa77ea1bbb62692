// Parts of kernels: a hash, and the few PTX instructions that C++ has no name for.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>

__host__ __device__ inline uint32_t hash(uint64_t i) {  // as good as random data
    uint64_t z = (i + 1) * 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return (uint32_t)(z >> 32);
}

// Almost never true, but the compiler can't know, so what led to v is computed.
__device__ __forceinline__ void use(unsigned v, unsigned* out) {
    if (v == 0x9E3779B9u) out[threadIdx.x] = v;
}
__device__ __forceinline__ unsigned xor4(const uint4& v) {
    return v.x ^ v.y ^ v.z ^ v.w;
}

enum Load { PLAIN, NO_ALLOC, NO_ALLOC_256B, BULK };

#define LOAD16(instruction, v, p) \
    asm volatile(instruction " {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p))

template <Load LOAD>
__device__ __forceinline__ uint4 load16(const void* p) {
    static_assert(LOAD != BULK);
    uint4 v;
    if constexpr (LOAD == PLAIN) LOAD16("ld.global.v4.u32", v, p);
    if constexpr (LOAD == NO_ALLOC) LOAD16("ld.global.nc.L1::no_allocate.v4.u32", v, p);
    if constexpr (LOAD == NO_ALLOC_256B) LOAD16("ld.global.nc.L1::no_allocate.L2::256B.v4.u32", v, p);
    return v;
}

// Programmatic dependent launch: what earlier kernels wrote may be read, and what they read written, after the wait only.
__device__ __forceinline__ void wait_for_kernels_before() {
    asm volatile("griddepcontrol.wait;" ::: "memory");
}
__device__ __forceinline__ void let_next_kernel_start() {
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

__device__ __forceinline__ void add_release(unsigned* p, unsigned v) {
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
__device__ __forceinline__ unsigned add_acquire_release(unsigned* p, unsigned v) {
    unsigned before;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(p), "r"(v) : "memory");
    return before;
}
__device__ __forceinline__ void store_release(unsigned* p, unsigned v) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
__device__ __forceinline__ void store_release_system(unsigned* p, unsigned v) {
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
__device__ __forceinline__ unsigned load_acquire(const unsigned* p) {
    unsigned v;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
__device__ __forceinline__ unsigned load_acquire_system(const unsigned* p) {
    unsigned v;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}

// Waits until *p has come to v; bounded, so that a fault ends the section and not the card. With NAP it sleeps between looks.
template <int NAP = 0>
__device__ __forceinline__ void wait_until(const unsigned* p, unsigned v) {
    for (unsigned n = 0; (int)(load_acquire(p) - v) < 0; n++) {
        if (NAP) __nanosleep(NAP);
        if (n > 4000000u) __trap();
    }
}

// First start and last end of the warps of one SM, so that the clock under this load is known. A warp's own time would be wrong:
// schedulers prefer the oldest warps, which end long before the others.
__device__ __forceinline__ void note_span(unsigned long long* span, long long start) {
    const long long end = clock64();
    unsigned sm;
    asm("mov.u32 %0, %%smid;" : "=r"(sm));
    if (sm == 0 && threadIdx.x % 32 == 0) {
        atomicMax(span, ~(unsigned long long)start);
        atomicMax(span + 1, (unsigned long long)end);
    }
}

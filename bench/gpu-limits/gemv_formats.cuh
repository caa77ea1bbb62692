// What differs between the formats of weights: the activations in shared memory, scales, and the products of 16 bytes of weights.
#pragma once
#include <cuda_fp16.h>

#include "device.cuh"
#include "gemv.cuh"

__device__ __forceinline__ float lower_bf16(uint32_t v) {
    return __uint_as_float(v << 16);
}
__device__ __forceinline__ float upper_bf16(uint32_t v) {
    return __uint_as_float(v & 0xffff0000u);
}
__device__ __forceinline__ int dot4(uint32_t a, uint32_t b, int c) {
    int d;
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}
__device__ __forceinline__ int dot16(const uint4& a, const uint4& b, int c) {
    return dot4(a.w, b.w, dot4(a.z, b.z, dot4(a.y, b.y, dot4(a.x, b.x, c))));
}
__device__ __forceinline__ uint4 nibbles(const uint4& v, int shift) {
    const uint32_t m = 0x0f0f0f0f;
    return make_uint4((v.x >> shift) & m, (v.y >> shift) & m, (v.z >> shift) & m, (v.w >> shift) & m);
}
__device__ __forceinline__ float half_at(const uint2& s, int i) {
    const uint32_t w = i < 2 ? s.x : s.y;
    return __half2float(__ushort_as_half((unsigned short)(i & 1 ? w >> 16 : w & 0xffff)));
}
// The f16 scales of a lane's next U vectors.
template <int U>
__device__ __forceinline__ uint2 load_scales(const char* p) {
    uint2 v = make_uint2(0, 0);
    unsigned short h = 0;
    if constexpr (U == 4) asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0,%1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(p));
    if constexpr (U == 2) asm volatile("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(v.x) : "l"(p));
    if constexpr (U == 1) {
        asm volatile("ld.global.nc.L1::no_allocate.u16 %0, [%1];" : "=h"(h) : "l"(p));
        v.x = h;
    }
    return v;
}
__device__ __forceinline__ void unpack(float (&f)[8], const uint4& v) {
    f[0] = lower_bf16(v.x), f[1] = upper_bf16(v.x), f[2] = lower_bf16(v.y), f[3] = upper_bf16(v.y);
    f[4] = lower_bf16(v.z), f[5] = upper_bf16(v.z), f[6] = lower_bf16(v.w), f[7] = upper_bf16(v.w);
}

// v counts the 16-byte vectors of a row, u the lane's vectors in a piece. Sums go to two accumulators, by u or by place.
template <Format F>
struct Math;

// Activations as f32, first and second four of each eight in a plane each: no bank conflicts.
template <>
struct Math<BF16> {
    struct X {
        float4 a, b;
    };
    static __device__ __forceinline__ void store(char* sm, unsigned k, unsigned i, const float (&f)[8]) {
        ((float4*)sm)[i] = make_float4(f[0], f[1], f[2], f[3]);
        ((float4*)sm)[k / 8 + i] = make_float4(f[4], f[5], f[6], f[7]);
    }
    static __device__ __forceinline__ X load(const char* sm, unsigned k, unsigned v) {
        return {((const float4*)sm)[v], ((const float4*)sm)[k / 8 + v]};
    }
    static __device__ __forceinline__ unsigned scales_of_lane(unsigned) { return 0; }
    static __device__ __forceinline__ void add(float (&acc)[2], const uint4& w, const X& x, const uint2&, int) {
        acc[0] = fmaf(lower_bf16(w.x), x.a.x, acc[0]), acc[1] = fmaf(upper_bf16(w.x), x.a.y, acc[1]);
        acc[0] = fmaf(lower_bf16(w.y), x.a.z, acc[0]), acc[1] = fmaf(upper_bf16(w.y), x.a.w, acc[1]);
        acc[0] = fmaf(lower_bf16(w.z), x.b.x, acc[0]), acc[1] = fmaf(upper_bf16(w.z), x.b.y, acc[1]);
        acc[0] = fmaf(lower_bf16(w.w), x.b.z, acc[0]), acc[1] = fmaf(upper_bf16(w.w), x.b.w, acc[1]);
    }
};

// Activations quantised to 8 bits; after them a block of 32 has its scale and -8 times its sum. i counts eights of activations.
struct Block {
    uint2 q;
    float scale;
    int sum;
};
__device__ __forceinline__ Block quantised(const float (&f)[8]) {  // four lanes have a block together
    float most = 0;
#pragma unroll
    for (int j = 0; j < 8; j++) most = fmaxf(most, fabsf(f[j]));
    most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
    most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
    const float scale = most * (1.0f / 127.0f), inverse = most > 0 ? __frcp_rn(scale) : 0.0f;
    uint32_t q[2] = {0, 0};
#pragma unroll
    for (int j = 0; j < 8; j++) q[j / 4] |= (uint32_t)(__float2int_rn(f[j] * inverse) & 255) << (8 * (j & 3));
    int sum = dot4(q[0], 0x01010101, dot4(q[1], 0x01010101, 0));
    sum += __shfl_xor_sync(~0u, sum, 1);
    sum += __shfl_xor_sync(~0u, sum, 2);
    return {make_uint2(q[0], q[1]), scale, sum};
}
__device__ __forceinline__ void store_block(char* sm, unsigned k, unsigned i, unsigned at, const Block& b) {
    *(uint2*)(sm + at) = b.q;
    if (i % 4 == 0) ((float2*)(sm + k))[i / 4] = make_float2(b.scale, __int_as_float(-8 * b.sum));
}

template <>
struct Math<Q8> {
    struct X {
        uint4 q;
        float scale;
    };
    static __device__ __forceinline__ void store(char* sm, unsigned k, unsigned i, const float (&f)[8]) {
        store_block(sm, k, i, i * 8, quantised(f));
    }
    static __device__ __forceinline__ X load(const char* sm, unsigned k, unsigned v) {
        return {((const uint4*)sm)[v], ((const float2*)(sm + k))[v >> 1].x};
    }
    static __device__ __forceinline__ unsigned scales_of_lane(unsigned lane) { return (lane >> 1) * 8; }
    static __device__ __forceinline__ void add(float (&acc)[2], const uint4& w, const X& x, const uint2& scales, int u) {
        acc[u & 1] = fmaf((float)dot16(w, x.q, 0), half_at(scales, u) * x.scale, acc[u & 1]);
    }
};

// First and second half of each block of activations in a plane each, as the lower and upper nibbles want them.
template <>
struct Math<Q4> {
    struct X {
        uint4 lower, upper;
        float2 scale_sum;
    };
    static __device__ __forceinline__ void store(char* sm, unsigned k, unsigned i, const float (&f)[8]) {
        const unsigned part = i % 4;
        store_block(sm, k, i, (part >> 1) * (k / 2) + i / 4 * 16 + (part & 1) * 8, quantised(f));
    }
    static __device__ __forceinline__ X load(const char* sm, unsigned k, unsigned v) {
        return {((const uint4*)sm)[v], ((const uint4*)(sm + k / 2))[v], ((const float2*)(sm + k))[v]};
    }
    static __device__ __forceinline__ unsigned scales_of_lane(unsigned lane) { return lane * 4; }
    static __device__ __forceinline__ void add(float (&acc)[2], const uint4& w, const X& x, const uint2& scales, int u) {
        const int offset = __float_as_int(x.scale_sum.y);  // nibbles stand for -8 to 7
        const int lower = dot16(nibbles(w, 0), x.lower, offset), upper = dot16(nibbles(w, 4), x.upper, 0);
        acc[u & 1] = fmaf((float)(lower + upper), half_at(scales, u) * x.scale_sum.x, acc[u & 1]);
    }
};

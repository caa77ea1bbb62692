// The rate of wgmma: 64 x 256 products of a warpgroup, the operands 128 bytes a row in shared memory, or A's in registers.
#include <cuda_bf16.h>

#include <cmath>
#include <stdexcept>

#include "device.cuh"
#include "rates.cuh"
#include "sections.cuh"

constexpr int ROWS_A = 64, ROWS_B = 256, ROW = 128, STEPS = 4;  // of 32 bytes: 16 bf16 or 32 s8
constexpr int MOST_GROUPS = 3;

// Rows of 128 bytes in groups of eight, whose 16-byte pieces change places by row (the 128-byte swizzle).
__device__ __forceinline__ unsigned place_of(unsigned row, unsigned piece) {
    return row * ROW + ((piece ^ (row & 7)) * 16);
}
__device__ __forceinline__ uint64_t descriptor(const void* tile) {
    const uint64_t at = (unsigned)__cvta_generic_to_shared(tile);
    return (at & 0x3ffff) >> 4 | 1ull << 16 | (uint64_t)(8 * ROW >> 4) << 32 | 1ull << 62;
}

#define R8(c, i) c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3]), c(d[i + 4]), c(d[i + 5]), c(d[i + 6]), c(d[i + 7])
#define R32(c, i) R8(c, i), R8(c, i + 8), R8(c, i + 16), R8(c, i + 24)
#define R128(c) R32(c, 0), R32(c, 32), R32(c, 64), R32(c, 96)
#define F32(x) "+f"(x)
#define S32(x) "+r"(x)
#define D128                                                                                                                   \
    "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31," \
    "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61," \
    "%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91," \
    "%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,"    \
    "%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127}"

__device__ __forceinline__ void multiply(float (&d)[128], uint64_t a, uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 " D128 ", %128, %129, 1, 1, 1, 0, 0;"
                 : R128(F32)
                 : "l"(a), "l"(b));
}
__device__ __forceinline__ void multiply(int (&d)[128], uint64_t a, uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8 " D128 ", %128, %129, 1;" : R128(S32) : "l"(a), "l"(b));
}
__device__ __forceinline__ void multiply(float (&d)[128], const unsigned (&a)[4], uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 " D128 ", {%128,%129,%130,%131}, %132, 1, 1, 1, 0;"
                 : R128(F32)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
__device__ __forceinline__ void multiply(int (&d)[128], const unsigned (&a)[4], uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8 " D128 ", {%128,%129,%130,%131}, %132, 1;"
                 : R128(S32)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
// Nothing that reads or writes the sums moves across this, which the compiler wouldn't know of waits.
__device__ __forceinline__ void hold(float (&d)[128]) {
#pragma unroll
    for (int i = 0; i < 128; i++) asm volatile("" : "+f"(d[i])::"memory");
}
__device__ __forceinline__ void hold(int (&d)[128]) {
#pragma unroll
    for (int i = 0; i < 128; i++) asm volatile("" : "+r"(d[i])::"memory");
}
__device__ __forceinline__ unsigned bits(float v) {
    return __float_as_uint(v);
}
__device__ __forceinline__ unsigned bits(int v) {
    return (unsigned)v;
}

// Every block has the same A for each of its warpgroups, and the same B. y, if not null: block 0's product.
template <class Sum, bool A_IN_REGISTERS, int GROUPS>
static __global__ void __launch_bounds__(128 * GROUPS, 1)
    wgmma_k(int rounds, const uint4* a, const uint4* b, Sum* y, unsigned* out, unsigned long long* span) {
    extern __shared__ char shared[];
    char* tiles = (char*)(((uintptr_t)shared + 1023) & ~(uintptr_t)1023);  // B, then an A for each warpgroup
    const unsigned group = threadIdx.x / 128, lane = threadIdx.x % 32;
    char* mine = tiles + ROWS_B * ROW + group * (ROWS_A * ROW);
    for (unsigned i = threadIdx.x; i < ROWS_B * ROW / 16; i += blockDim.x) *(uint4*)(tiles + place_of(i / 8, i % 8)) = b[i];
    for (unsigned i = threadIdx.x % 128; i < ROWS_A * ROW / 16; i += 128) *(uint4*)(mine + place_of(i / 8, i % 8)) = a[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();

    Sum d[128];
#pragma unroll
    for (int i = 0; i < 128; i++) d[i] = 0;
    unsigned regs[STEPS][4];
    const unsigned row = threadIdx.x % 128 / 32 * 16 + lane / 4;
    if (A_IN_REGISTERS)
#pragma unroll
        for (int s = 0; s < STEPS; s++)
#pragma unroll
            for (int i = 0; i < 4; i++)  // rows 0 and 8 of the first 16 bytes, then of the others
                regs[s][i] = ((const unsigned*)a)[(row + (i & 1) * 8) * (ROW / 4) + s * 8 + i / 2 * 4 + lane % 4];
    const uint64_t in_a = descriptor(mine), in_b = descriptor(tiles);
    const long long start = clock64();
#pragma unroll 1
    for (int k = 0; k < rounds; k++) {
        hold(d);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int s = 0; s < STEPS; s++) {
            if constexpr (A_IN_REGISTERS)
                multiply(d, regs[s], in_b + s * 2);
            else
                multiply(d, in_a + s * 2, in_b + s * 2);
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    hold(d);
    note_span(span, start);
    unsigned acc = 0;
#pragma unroll
    for (int i = 0; i < 128; i++) acc ^= bits(d[i]);
    use(acc, out);
    if (y && blockIdx.x == 0)
#pragma unroll
        for (int i = 0; i < 128; i++)
            y[(group * ROWS_A + row + (i & 2) * 4) * ROWS_B + i / 4 * 8 + lane % 4 * 2 + (i & 1)] = d[i];
}

template <class Sum>
struct Type;
template <>
struct Type<float> {
    static constexpr const char *NAME = "bf16_m64n256k16", *UNIT = "TFLOP/s";
    static constexpr uint32_t KEEP = 0x80ff80ff, SET = 0x3f003f00;  // any sign, 0.5 to 2
    static constexpr int WIDTH = 2;                                 // bytes
    static double value(const std::vector<uint8_t>& v, int i) {
        __nv_bfloat16_raw raw;
        raw.x = (unsigned short)(v[2 * i] | v[2 * i + 1] << 8);
        return (double)__bfloat162float(__nv_bfloat16(raw));
    }
};
template <>
struct Type<int> {
    static constexpr const char *NAME = "s8_m64n256k32", *UNIT = "TOP/s";
    static constexpr uint32_t KEEP = ~0u, SET = 0;
    static constexpr int WIDTH = 1;
    static double value(const std::vector<uint8_t>& v, int i) { return (int8_t)v[i]; }
};

template <class Sum>
struct Rates {
    using T = Type<Sum>;
    Memory a, b, y, out, span;
    Rates() : a(ROWS_A * ROW), b(ROWS_B * ROW), y(MOST_GROUPS * ROWS_A * ROWS_B * 4), out(4096), span(16) {
        fill(a.p, ROWS_A * ROW, T::KEEP, T::SET, 31);
        fill(b.p, ROWS_B * ROW, T::KEEP, T::SET, 32);
    }
    template <bool A_IN_REGISTERS, int GROUPS>
    void start(int blocks, int rounds, Sum* y, unsigned* out, unsigned long long* span) {
        auto kernel = wgmma_k<Sum, A_IN_REGISTERS, GROUPS>;
        const int bytes = 1024 + (ROWS_B + GROUPS * ROWS_A) * ROW;
        static const bool allowed = (allow_shared(kernel, bytes), true);
        (void)allowed;
        launch(kernel, blocks, GROUPS * 128, bytes, AFTER, rounds, a.as<uint4>(), b.as<uint4>(), y, out, span);
    }
    static std::vector<uint8_t> bytes_of(const Memory& memory, size_t n) {
        std::vector<uint8_t> v(n);
        CK(cudaMemcpy(v.data(), memory.p, n, cudaMemcpyDeviceToHost));
        return v;
    }
    // The product of one and of two rounds against the host; sums are exact in s32, and have an error of a few 2^-23 in f32.
    template <bool A_IN_REGISTERS, int GROUPS>
    void compare(int rounds) {
        const int k = ROW / T::WIDTH;
        CK(cudaMemsetAsync(y.p, 255, MOST_GROUPS * ROWS_A * ROWS_B * 4, stream));
        start<A_IN_REGISTERS, GROUPS>(1, rounds, y.as<Sum>(), out.as<unsigned>(), span.as<unsigned long long>());
        CK(cudaStreamSynchronize(stream));
        auto x = bytes_of(a, ROWS_A * ROW), w = bytes_of(b, ROWS_B * ROW);
        std::vector<Sum> d(GROUPS * ROWS_A * ROWS_B);
        CK(cudaMemcpy(d.data(), y.p, d.size() * 4, cudaMemcpyDeviceToHost));
        double worst = 0;
        for (size_t at = 0; at < d.size(); at++) {
            const int i = (int)(at / ROWS_B % ROWS_A), j = (int)(at % ROWS_B);
            double sum = 0, magnitude = 0;
            for (int c = 0; c < k; c++) {
                const double term = rounds * T::value(x, i * k + c) * T::value(w, j * k + c);
                sum += term;
                magnitude += std::fabs(term);
            }
            const double error = std::fabs((double)d[at] - sum) / magnitude;
            if (!(error <= worst)) worst = std::isfinite(error) ? error : INFINITY;
        }
        const char* where = A_IN_REGISTERS ? "a_in_registers" : "shared";
        const std::string name = text("wgmma/%s/check_%s_%d_warpgroups_%d_rounds", T::NAME, where, GROUPS, rounds);
        put(name, "rel", {worst}, "largest error / sum of magnitudes");
        if (!(worst < 1e-5)) throw std::runtime_error("wrong product, error " + number(worst));
    }
    template <bool A_IN_REGISTERS, int GROUPS>
    void rate() {
        const char* where = A_IN_REGISTERS ? "a_in_registers" : "shared";
        const std::string name = text("wgmma/%s/%s_%d_warpgroups", T::NAME, where, GROUPS);
        const double of_round = 2.0 * ROWS_A * ROWS_B * (ROW / T::WIDTH), instructions = GROUPS * STEPS * 128.0;
        measure_rate(
            name,
            [&](int rounds, unsigned* out, unsigned long long* span) {
                start<A_IN_REGISTERS, GROUPS>(sm_count, rounds, nullptr, out, span);
            },
            instructions, of_round / (STEPS * 128), T::UNIT, 20);
        part(name + "/check", [&] {
            compare<A_IN_REGISTERS, GROUPS>(1);
            compare<A_IN_REGISTERS, GROUPS>(2);
        });
    }
};

template <class Sum>
static void rates_of() {
    Rates<Sum> rates;
    rates.template rate<false, 1>();
    rates.template rate<false, 2>();
    rates.template rate<false, 3>();
    rates.template rate<true, 1>();
    rates.template rate<true, 2>();
}

void wgmma_section() {
    part("wgmma/bf16", rates_of<float>);
    part("wgmma/s8", rates_of<int>);
}

// Bare rates of instructions, from registers, with 1,024 threads an SM.
#include <algorithm>

#include "device.cuh"
#include "rates.cuh"
#include "sections.cuh"

enum Op { FFMA, IMAD, LOP3, SHF, PRMT, DP4A, I2F, CVTH, HFMA2, LOP3_IMAD, LOP3_FFMA, DP4A_FFMA };

template <Op OP>
__device__ __forceinline__ void step(unsigned (&x)[8], float (&f)[8], unsigned a, float fa, int i, int j) {
    unsigned& r = x[i];
    const unsigned y = x[(i + 1) & 7], z = x[(i + 3) & 7];  // neighbours, so that no two steps fold into one
    if constexpr (OP == FFMA) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(f[i]) : "f"(fa));
    if constexpr (OP == IMAD) asm volatile("mad.lo.u32 %0, %0, %1, %1;" : "+r"(r) : "r"(a));
    if constexpr (OP == LOP3) asm volatile("lop3.b32 %0, %0, %1, %2, 0xE8;" : "+r"(r) : "r"(y), "r"(z));
    if constexpr (OP == SHF) asm volatile("shf.l.wrap.b32 %0, %0, %1, 7;" : "+r"(r) : "r"(y));
    if constexpr (OP == PRMT) asm volatile("prmt.b32 %0, %0, %1, 0x6250;" : "+r"(r) : "r"(y));
    if constexpr (OP == DP4A) asm volatile("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(r) : "r"(y), "r"(a));
    if constexpr (OP == I2F) asm volatile("{.reg .f32 t; cvt.rn.f32.s32 t, %0; mov.b32 %0, t;}" : "+r"(r));
    if constexpr (OP == CVTH)
        asm volatile("{.reg .b16 l, h; .reg .f32 t; mov.b32 {l, h}, %0; cvt.f32.f16 t, l; mov.b32 %0, t;}" : "+r"(r));
    if constexpr (OP == HFMA2) asm volatile("fma.rn.f16x2 %0, %0, %1, %1;" : "+r"(r) : "r"(a));
    if constexpr (OP == LOP3_IMAD) j & 1 ? step<IMAD>(x, f, a, fa, i, 0) : step<LOP3>(x, f, a, fa, i, 0);
    if constexpr (OP == LOP3_FFMA) j & 1 ? step<FFMA>(x, f, a, fa, i, 0) : step<LOP3>(x, f, a, fa, i, 0);
    if constexpr (OP == DP4A_FFMA) j & 1 ? step<FFMA>(x, f, a, fa, i, 0) : step<DP4A>(x, f, a, fa, i, 0);
}
template <Op OP>
static __global__ __launch_bounds__(256) void rate_k(int rounds, unsigned* out, unsigned long long* span) {
    unsigned x[8], a = hash(threadIdx.x + 77) | 1, acc = 0;
    float f[8], fa = 0.25f + (a & 255) * 0.001f;
    for (int i = 0; i < 8; i++) {
        x[i] = hash((blockIdx.x * 256 + threadIdx.x) * 8 + i);
        f[i] = (float)(x[i] & 1023);
    }
    if (OP == HFMA2) a = 0x34003400 | (a & 0x00ff00ff);
    const long long start = clock64();
    for (int k = 0; k < rounds; k++)
#pragma unroll
        for (int j = 0; j < 8; j++)
#pragma unroll
            for (int i = 0; i < 8; i++) step<OP>(x, f, a, fa, i, j);
    note_span(span, start);
    for (int i = 0; i < 8; i++) acc ^= x[i] ^ __float_as_uint(f[i]);
    use(acc, out);
}

__device__ __forceinline__ void multiply(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void multiply(int (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ unsigned operand(int i, float) {  // bf16 of any sign, 0.5 to 2
    return (hash(i) & 0x80ff80ff) | 0x3f003f00;
}
__device__ __forceinline__ unsigned operand(int i, int) {
    return hash(i);
}
__device__ __forceinline__ unsigned bits(float v) {
    return __float_as_uint(v);
}
__device__ __forceinline__ unsigned bits(int v) {
    return (unsigned)v;
}
template <class Sum>
static __global__ __launch_bounds__(256) void mma_k(int rounds, unsigned* out, unsigned long long* span) {
    unsigned a[2][4], b[2][2], acc = 0;
    Sum c[8][4];
    const int first = (blockIdx.x * 256 + threadIdx.x) * 12;
    for (int i = 0; i < 8; i++) a[i / 4][i % 4] = operand(first + i, Sum());
    for (int i = 0; i < 4; i++) b[i / 2][i % 2] = operand(first + 8 + i, Sum());
    for (int i = 0; i < 32; i++) c[i / 4][i % 4] = i;
    const long long start = clock64();
    for (int k = 0; k < rounds; k++)
#pragma unroll
        for (int i = 0; i < 8; i++) multiply(c[i], a[i & 1], b[i & 1]);
    note_span(span, start);
    for (int i = 0; i < 32; i++) acc ^= bits(c[i / 4][i % 4]);
    use(acc, out);
}

void measure_rate(const std::string& name, const RateRun& start, double instructions_of_sm, double operations, const char* unit,
                  double ms) {
    part(name, [&] {
        Memory out(4096), span(16);
        auto run = [&](int rounds) {
            auto once = [&](int) { start(rounds, out.as<unsigned>(), span.as<unsigned long long>()); };
            return timed(5, once, 80, 2, [&] { CK(cudaMemsetAsync(span.p, 0, 16, stream)); });
        };
        const int rounds = (int)std::min(2e6, std::max(200.0, 2000 * ms * 1e3 / median(run(2000))));
        const Values us = run(rounds);
        unsigned long long s[2];
        CK(cudaMemcpy(s, span.p, 16, cudaMemcpyDeviceToHost));
        const double cycles = (double)(s[1] - ~s[0]);
        Values v;
        for (double u : us) v.push_back(sm_count * instructions_of_sm * rounds * operations / u * 1e-6);
        std::string note =
            text("%.5g threads' instructions/clk/SM, SM %.0f MHz", instructions_of_sm * rounds / cycles, cycles / us.back());
        show(name, unit, v, s[1] ? note : "");  // no block on SM 0: the clock isn't known
    });
}

using RateKernel = void (*)(int, unsigned*, unsigned long long*);
// instructions: of a thread and round; operations: of an instruction of a thread, in the unit given
static void rate(const char* name, RateKernel kernel, double instructions, double operations, const char* unit, double ms) {
    auto start = [=](int rounds, unsigned* out, unsigned long long* span) {
        launch(kernel, sm_count * 4, 256, 0, AFTER, rounds, out, span);
    };
    measure_rate(std::string("rate/") + name, start, 4 * 256 * instructions, operations, unit, ms);
}
template <Op OP>
static void rate_of(const char* name) {
    rate(name, rate_k<OP>, 64, 1, "Tinst/s", 4);
}

void rates_section() {
    rate("mma_bf16_m16n8k16", mma_k<float>, 8, 2.0 * 16 * 8 * 16 / 32, "TFLOP/s", 20);
    rate("mma_s8_m16n8k32", mma_k<int>, 8, 2.0 * 16 * 8 * 32 / 32, "TOP/s", 20);
    rate_of<DP4A>("dp4a");
    rate_of<FFMA>("ffma");
    rate_of<IMAD>("imad");
    rate_of<LOP3>("lop3");
    rate_of<SHF>("shf");
    rate_of<PRMT>("prmt");
    rate_of<I2F>("i2f");
    rate_of<CVTH>("cvt_f32_f16");
    rate_of<HFMA2>("hfma2");
    rate_of<LOP3_IMAD>("lop3+imad");
    rate_of<LOP3_FFMA>("lop3+ffma");
    rate_of<DP4A_FFMA>("dp4a+ffma");
}

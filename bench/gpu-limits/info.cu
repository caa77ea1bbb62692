// What the driver says about the card, and the clock that it really has.
#include "run.cuh"
#include "sections.cuh"

__device__ __forceinline__ long long nanoseconds() {
    long long t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    return t;
}
__device__ long long next_tick(long long t) {
    long long next;
    do next = nanoseconds();
    while (next == t);
    return next;
}
static __global__ void clock_k(long long* cycles, long long* ns, long long* tick) {
    long long before = next_tick(nanoseconds()), start = next_tick(before), t = clock64(), end;
    do end = nanoseconds();
    while (end - start < 20000000);
    *cycles = clock64() - t;
    *ns = end - start;
    *tick = start - before;
}

static void measure_clock() {
    Memory memory(24);
    long long *p = memory.as<long long>(), r[3];
    launch(clock_k, 1, 1, 0, AFTER, p, p + 1, p + 2);
    CK(cudaStreamSynchronize(stream));  // a copy in the default stream doesn't wait for this one
    CK(cudaMemcpy(r, p, sizeof r, cudaMemcpyDeviceToHost));
    show("info/clock_measured", "MHz", {r[0] * 1e3 / r[1]}, text("one thread at work; globaltimer ticks each %lld ns", r[2]));
}
static int attribute(cudaDeviceAttr which) {
    int v = 0;
    CK(cudaDeviceGetAttribute(&v, which, 0));
    return v;
}

void info_section() {
    part("info", [] {
        cudaDeviceProp p;
        int driver = 0, runtime = 0;
        size_t free = 0, total = 0;
        CK(cudaGetDeviceProperties(&p, 0));
        CK(cudaDriverGetVersion(&driver));
        CK(cudaRuntimeGetVersion(&runtime));
        CK(cudaMemGetInfo(&free, &total));
        const double khz = attribute(cudaDevAttrClockRate), memory_khz = attribute(cudaDevAttrMemoryClockRate);
        const int bus = attribute(cudaDevAttrGlobalMemoryBusWidth);
        show("info/device", "sm", {p.major * 10.0 + p.minor}, p.name);
        show("info/cuda", "version", {(double)driver}, text("driver; runtime %d", runtime));
        show("info/sms", "SM", {(double)p.multiProcessorCount},
             text("shared memory/SM %zu, registers/SM %d", p.sharedMemPerMultiprocessor, p.regsPerMultiprocessor));
        show("info/l2", "MB", {p.l2CacheSize / 1e6}, text("at most %d B persisting", p.persistingL2CacheMaxSize));
        show("info/memory", "GB", {total / 1e9}, text("free %.6g, bus %d bit", free / 1e9, bus));
        show("info/clock_attr", "MHz", {khz / 1e3},
             text("memory %.6g MHz, peak %.6g GB/s", memory_khz / 1e3, 2 * memory_khz * bus / 8 / 1e6));
        measure_clock();
    });
}

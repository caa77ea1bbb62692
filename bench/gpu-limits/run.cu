#include "run.cuh"

#include <algorithm>
#include <stdexcept>

#include "device.cuh"

void check(cudaError_t error, const char* call, const char* file, int line) {
    if (error == cudaSuccess) return;
    throw std::runtime_error(text("%s at %s:%d: %s", cudaGetErrorName(error), file, line, call));
}

static void end_broken_capture() {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (!stream || cudaStreamIsCapturing(stream, &status) != cudaSuccess || status == cudaStreamCaptureStatusNone) return;
    cudaGraph_t graph = nullptr;
    cudaStreamEndCapture(stream, &graph);
    if (graph) cudaGraphDestroy(graph);
}
void part(const std::string& name, const std::function<void()>& measure) {
    if (late()) return fail(name, "skipped: deadline of the section");
    try {
        measure();
        CK(cudaGetLastError());
        CK(cudaStreamSynchronize(stream));
    } catch (const std::exception& e) {
        fail(name, e.what());
        end_broken_capture();
        cudaGetLastError();
    }
}

Graph::Graph(const std::function<void()>& record) {
    CK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    record();
    CK(cudaStreamEndCapture(stream, &graph));
    CK(cudaGraphInstantiate(&exec, graph, 0));
    CK(cudaGraphUpload(exec, stream));
}
Graph::~Graph() {
    if (exec) cudaGraphExecDestroy(exec);
    if (graph) cudaGraphDestroy(graph);
}

size_t pool_bytes(size_t most_gib) {
    size_t free = 0, total = 0;
    CK(cudaMemGetInfo(&free, &total));
    size_t gib = free >> 30;
    return std::min<size_t>(most_gib, gib > 2 ? gib - 2 : 1) << 30;
}

static __global__ void fill_k(uint4* p, size_t n, uint32_t keep, uint32_t set, uint64_t seed) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        uint4 v;
        v.x = (hash(seed + 4 * i) & keep) | set;
        v.y = (hash(seed + 4 * i + 1) & keep) | set;
        v.z = (hash(seed + 4 * i + 2) & keep) | set;
        v.w = (hash(seed + 4 * i + 3) & keep) | set;
        p[i] = v;
    }
}
void fill(void* p, size_t bytes, uint32_t keep, uint32_t set, uint64_t seed) {
    fill_k<<<sm_count * 8, 256, 0, stream>>>((uint4*)p, bytes / 16, keep, set, seed);
    CK(cudaGetLastError());
}

static __global__ void empty_k() {}
void launch_empty() {
    empty_k<<<sm_count, 256, 0, stream>>>();
}

static __global__ void spin_k(long long cycles) {
    for (long long start = clock64(); clock64() - start < cycles;) {
    }
}
Values timed(int repeats, const std::function<void(int)>& f, double spin_us, int warm, const std::function<void()>& before) {
    static cudaEvent_t start = nullptr, end = nullptr;
    if (!start) {
        CK(cudaEventCreate(&start));
        CK(cudaEventCreate(&end));
    }
    Values us;
    for (int i = 0; i < repeats + warm; i++) {
        if (before) before();
        if (spin_us > 0) spin_k<<<1, 1, 0, stream>>>((long long)(spin_us * 1800));
        CK(cudaEventRecord(start, stream));
        f(i);
        CK(cudaEventRecord(end, stream));
        CK(cudaStreamSynchronize(stream));
        CK(cudaGetLastError());
        float ms = 0;
        CK(cudaEventElapsedTime(&ms, start, end));
        if (i >= warm) us.push_back(ms * 1e3);
    }
    return us;
}
HostTimes host_timed(int repeats, const std::function<void()>& f) {
    HostTimes times;
    CK(cudaStreamSynchronize(stream));
    for (int i = 0; i < repeats; i++) {
        double start = now();
        f();
        times.call.push_back((now() - start) * 1e6);
        CK(cudaStreamSynchronize(stream));
        times.done.push_back((now() - start) * 1e6);
    }
    return times;
}

Values divided(Values us, double n) {
    for (double& v : us) v /= n;
    return us;
}
Values gb_per_s(Values us, double bytes) {
    for (double& v : us) v = bytes / v * 1e-3;
    return us;
}
bool replace_if_higher(Values& best, const Values& v) {
    if (!best.empty() && median(v) <= median(best)) return false;
    best = v;
    return true;
}

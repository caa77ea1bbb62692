// Running things on the card and timing them. A process measures one section, so what all of it needs is global.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>
#include <functional>

#include "report.cuh"

inline cudaStream_t stream = nullptr;
inline int sm_count = 0;

#define CK(call) check((call), #call, __FILE__, __LINE__)
void check(cudaError_t error, const char* call, const char* file, int line);  // throws

// One measurement: its failure is a line in the report, and the next one goes on.
void part(const std::string& name, const std::function<void()>& measure);

struct Memory {  // of the card
    void* p = nullptr;
    explicit Memory(size_t bytes) { CK(cudaMalloc(&p, bytes)); }
    Memory(const Memory&) = delete;
    ~Memory() { cudaFree(p); }
    template <class T>
    T* as() const {
        return (T*)p;
    }
};

// Regions of a pool, one after the other, so that nothing is read again before the rest of the pool went through L2.
struct Walk {
    const char* pool;
    size_t bytes, regions, at = 0;
    Walk(const Memory& memory, size_t pool_bytes, size_t bytes)
        : pool(memory.as<char>()), bytes(bytes), regions(pool_bytes / bytes) {}
    const char* next() { return pool + (at++ % regions) * bytes; }
};

struct Graph {  // of what `record` launches
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    explicit Graph(const std::function<void()>& record);
    Graph(const Graph&) = delete;
    ~Graph();
    void run() { CK(cudaGraphLaunch(exec, stream)); }
};

enum How { AFTER, DEPENDENT, COOPERATIVE };  // after the kernel before; programmatic dependent launch; all blocks resident

template <class... Expected, class... Given>
void launch(void (*kernel)(Expected...), int grid, int block, size_t shared, How how, Given... given) {
    cudaLaunchAttribute attribute = {};
    if (how == DEPENDENT) {
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
    } else {
        attribute.id = cudaLaunchAttributeCooperative;
        attribute.val.cooperative = 1;
    }
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(grid);
    config.blockDim = dim3(block);
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = how == AFTER ? 0 : 1;
    CK(cudaLaunchKernelEx(&config, kernel, Expected(given)...));
}
template <class... Given>
void allow_shared(void (*kernel)(Given...), int bytes) {
    CK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

size_t pool_bytes(size_t most_gib);  // what is free, in whole GiB

// word = (hash & keep) | set: keep and set choose valid bf16, int8 that are not zero and so on
void fill(void* p, size_t bytes, uint32_t keep, uint32_t set, uint64_t seed);

void launch_empty();  // a kernel that does nothing, a block an SM

// Microseconds of f by events. A spin in front keeps the card busy while the host queues everything, so that the host's own time
// doesn't show between the two events.
Values timed(int repeats, const std::function<void(int)>& f, double spin_us = 80, int warm = 2,
             const std::function<void()>& before = nullptr);

struct HostTimes {
    Values call, done;  // microseconds until f returned, and until the card was done
};
HostTimes host_timed(int repeats, const std::function<void()>& f);

Values divided(Values us, double n);
Values gb_per_s(Values us, double bytes);
bool replace_if_higher(Values& best, const Values& v);  // by the median

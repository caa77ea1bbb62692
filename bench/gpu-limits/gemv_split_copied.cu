// Ready activations, copied to shared memory.
#include "gemv_split.cuh"

std::vector<Kernel> split_copied(Format f) {
    if (f == BF16) return split_kernels_of<BF16, COPIED>();
    return f == Q8 ? split_kernels_of<Q8, COPIED>() : split_kernels_of<Q4, COPIED>();
}

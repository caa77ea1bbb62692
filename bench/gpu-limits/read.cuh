#pragma once
#include <cstddef>

// The best rate, in GB/s, of the kernels in read.cu over pieces of 1 GiB of `pool`: the ceiling that shares refer to.
double read_ceiling(const void* pool, size_t bytes);

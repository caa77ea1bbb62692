// What the GEMVs work on.
#include "gemv.cuh"

#include <algorithm>

Gemv::Gemv(Format format, size_t weight_bytes, std::vector<Kernel> all)
    : format(format), weight_bytes(weight_bytes), scale_bytes(format == BF16 ? 4096 : weight_bytes / 8), w(weight_bytes),
      s(scale_bytes), xy(1 << 20), y32(1 << 20), ready_xy(1 << 20), arrived(1 << 16), kernels(std::move(all)) {
    // bf16: any sign, 2^-7 to 2^-6; int8: odd, so never 0; nibbles: any. Scales near 2^-13 and 2^-9 keep a chain of 129 in range.
    const uint32_t keep = format == BF16 ? 0x807f807f : ~0u, set = format == BF16 ? 0x3c003c00 : format == Q8 ? 0x01010101 : 0;
    fill(w.p, weight_bytes, keep, set, 11);
    fill(s.p, scale_bytes, 0x03ff03ff, format == Q8 ? 0x08000800 : 0x18001800, 12);
    CK(cudaMemsetAsync(arrived.p, 0, 1 << 16, stream));
    reset_activations();
    for (int k : {2048, 4096, 8192, 14336}) prepare(0, k, given(k), AFTER);
    for (Kernel& kernel : kernels) allow_shared(kernel.run, 100 * 1024);
}
void Gemv::reset_activations() {
    fill(activations(0), 65536, 0x80ff80ff, 0x3f003f00, 13);
}
int Gemv::blocks_for(const Kernel& kernel, const Shape& shape) const {
    return (shape.n / kernel.rows * kernel.warps + 7) / 8;
}
bool Gemv::fits(const Choice& c, const Shape& shape) const {
    const Kernel& kernel = kernels[c.kernel];
    if (parts_of_row(format, kernel, shape.k) < kernel.warps) return false;
    if ((c.blocks - 1) * sm_count >= blocks_for(kernel, shape)) return false;  // the same as with a block less
    int blocks = 0;
    CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel.run, 256, gemv_shared_bytes(format, kernel.source, shape.k)));
    return blocks >= c.blocks;
}
void Gemv::run(const Choice& c, const Shape& shape, const Place& place, int step, How how, float* f32, const Link& link) {
    const Kernel& kernel = kernels[c.kernel];
    const char* ready_x = link.carry == GIVEN ? given(shape.k) : ready(step);
    Args args = {};
    args.w = (const uint4*)(w.as<char>() + place.weights);
    args.s = s.as<char>() + place.scales;
    args.x = takes_ready(c) ? (const void*)ready_x : activations(step);
    args.y = activations(step + 1);
    args.y32 = f32;
    args.ready = ready(step + 1);
    args.arrived = arrived.as<unsigned>();
    args.n = shape.n;
    args.k = shape.k;
    args.next_k = link.next_k;
    args.trigger = c.trigger;
    launch(kernel.run, std::min(c.blocks * sm_count, blocks_for(kernel, shape)), 256,
           gemv_shared_bytes(format, kernel.source, shape.k), how, args);
}

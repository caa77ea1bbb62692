var<workgroup> sums: array<f32, 256>;

// The sum of what each of 256 threads has: the sums of threads 128 apart are added, then 64, ..., 1 apart.
fn total(t: u32, own: f32) -> f32 {
  workgroupBarrier();
  sums[t] = own;
  for (var n = 128u; n > 0u; n >>= 1u) {
    workgroupBarrier();
    if (t < n) { sums[t] += sums[t + n]; }
  }
  workgroupBarrier();
  return sums[0];
}

var<workgroup> sums: array<f32, 256>;

// The sum of 16 numbers that are `apart` from each other in `sums`: pairs 8 numbers apart are added first, then 4, 2
// and 1.
fn tree(first: u32, apart: u32) -> f32 {
  var x: array<f32, 8>;
  for (var i = 0u; i < 8u; i++) { x[i] = sums[first + i * apart] + sums[first + (i + 8u) * apart]; }
  return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

// The sum of what each of 256 threads has: the sums of threads 128 apart are added, then 64, ..., 1 apart.
fn total(t: u32, own: f32) -> f32 {
  workgroupBarrier();
  sums[t] = own;
  workgroupBarrier();
  var sum = 0.0;
  if (t < 16u) { sum = tree(t, 16u); }
  workgroupBarrier();
  if (t < 16u) { sums[t] = sum; }
  workgroupBarrier();
  return tree(0u, 1u);
}

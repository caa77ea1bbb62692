var<workgroup> sums: array<f32, 256>;

// The sum of 16 numbers that are 16 apart in `sums`: pairs 8 numbers apart are added first, then 4, 2 and 1.
fn tree(first: u32) -> f32 {
  var x: array<f32, 8>;
  for (var i = 0u; i < 8u; i++) { x[i] = sums[first + i * 16u] + sums[first + (i + 8u) * 16u]; }
  return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

// As shared/total.wgsl: each subgroup adds all, by pairs of lanes as far as it has that many. Lanes are counted, since
// neither their number nor their order is known.
fn total(t: u32, own: f32) -> f32 {
  let lanes = subgroupAdd(1u);
  let lane = subgroupExclusiveAdd(1u);
  workgroupBarrier();
  sums[t] = own;
  workgroupBarrier();
  let column = lane % 16u;
  var sum = tree(column);
  if (lanes < 16u) { sum += tree(column + 8u); }
  if (lanes < 8u) { sum += tree(column + 4u) + tree(column + 12u); }
  if (lanes >= 16u) { sum += subgroupShuffleXor(sum, 8u); }
  if (lanes >= 8u) { sum += subgroupShuffleXor(sum, 4u); }
  sum += subgroupShuffleXor(sum, 2u);
  return sum + subgroupShuffleXor(sum, 1u);
}

// As shared/largest.wgsl: each subgroup reads all, a lane some of them.
fn largest_of(t: u32, own: f32, before: f32) -> f32 {
  let lanes = subgroupAdd(1u);
  let lane = subgroupExclusiveAdd(1u);
  scores[t] = own;
  workgroupBarrier();
  var largest = before;
  for (var j = lane; j < 64u; j += lanes) { largest = max(largest, scores[j]); }
  workgroupBarrier();
  return subgroupMax(largest);
}

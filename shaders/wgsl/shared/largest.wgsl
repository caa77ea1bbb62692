// The largest of `before` and of what each of 64 threads has, which `scores` has afterwards.
fn largest_of(t: u32, own: f32, before: f32) -> f32 {
  scores[t] = own;
  workgroupBarrier();
  var largest = before;
  for (var j = 0u; j < 64u; j++) { largest = max(largest, scores[j]); }
  workgroupBarrier();
  return largest;
}

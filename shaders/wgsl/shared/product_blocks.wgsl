fn w_0(base: u32, plane: u32, word: u32) -> u32 { return w0[base + (plane * p.m_0.plane + word) * 32u]; }

// Of a panel of matrix 0: the sums of this thread's column and segment of k, for each row.
fn products_0(panel: u32, first: u32, rows: u32, t: u32) -> array<f32, 8> {
  let groups = p.k / 32u;
  let segment = t / 32u;
  let base = panel * p.m_0.panel + t % 32u;
  var acc: array<f32, 8>;
  for (var g = segment * groups / 8u; g < (segment + 1u) * groups / 8u; g++) {
    let s = scales_0(base, g);
    let a = vec4(codes_0(base, g, 0u), codes_0(base, g, 1u), codes_0(base, g, 2u), codes_0(base, g, 3u));
    let b = vec4(codes_0(base, g, 4u), codes_0(base, g, 5u), codes_0(base, g, 6u), codes_0(base, g, 7u));
    for (var r = 0u; r < ROWS; r++) {
      if (r < rows) {
        let at = group_at(first + r, g);
        let x = vec4(word(at), word(at + 1u), word(at + 2u), word(at + 3u));
        let y = vec4(word(at + 4u), word(at + 5u), word(at + 6u), word(at + 7u));
        var sums = vec2(0, bitcast<i32>(word(at + 9u)));
        if (HALVES_0 && MINS_0) { let sum = sum16(x); sums = vec2(sum, sums.y - sum); }
        let products = vec2(dot16(a, x), dot16(b, y));
        acc[r] = add_group(HALVES_0, MINS_0, acc[r], s, products, sums, bitcast<f32>(word(at + 8u)));
      }
    }
  }
  return acc;
}

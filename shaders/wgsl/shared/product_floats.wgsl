fn w_0(base: u32, plane: u32, word: u32) -> u32 { return w0[base + (plane * p.m_0.plane + word) * STRIDE]; }

// Of a panel of matrix 0: the sums of this thread's column and segment of k, for each row.
fn products_0(panel: u32, first: u32, rows: u32, t: u32) -> array<f32, 8> {
  let segment = t / 32u;
  let base = p.m_0.begin + panel * p.m_0.panel + t % 32u % STRIDE;
  let blocks = (p.k + 31u) / 32u;
  let end = min((segment + 1u) * blocks / 8u * 8u, (p.k + 3u) / 4u);
  var acc: array<f32, 8>;
  for (var i = segment * blocks / 8u * 8u; i < end; i++) {
    let w = values_0(base, i);
    for (var r = 0u; r < ROWS; r++) {
      if (r < rows) {
        // Zeros after the end of a row.
        var x = vec4(x_at(first + r, i * 4u), 0.0, 0.0, 0.0);
        if (i * 4u + 3u < p.k) {
          x = vec4(x.x, x_at(first + r, i * 4u + 1u), x_at(first + r, i * 4u + 2u), x_at(first + r, i * 4u + 3u));
        } else {
          if (i * 4u + 1u < p.k) { x.y = x_at(first + r, i * 4u + 1u); }
          if (i * 4u + 2u < p.k) { x.z = x_at(first + r, i * 4u + 2u); }
        }
        acc[r] = fma(w.w, x.w, fma(w.z, x.z, fma(w.y, x.y, fma(w.x, x.x, acc[r]))));
      }
    }
  }
  return acc;
}

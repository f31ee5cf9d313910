//! Kernel texts that other parts print read, verify and print back character for character.

use presk_kernel::{parse_all, verify};

const LINEAR: &str = "\
kernel dot (%0 : f32[batch: 4, 3], %1 : f32[3, 2]) -> %2 : f32[batch: 4, 2] {
  for i0 in 0..4 {
    for i2 in 0..2 {
      %2[i0, i2] = 0
    }
    for i1 in 0..3 {
      s0 = %0[i0, i1]
      for i2 in 0..2 {
        %2[i0, i2] = (%2[i0, i2] + (s0 * %1[i1, i2]))
      }
    }
  }
}
kernel add (%0 : f32[batch: 4, 2], %1 : f32[2]) -> %2 : f32[batch: 4, 2] {
  for i0 in 0..4 {
    for i1 in 0..2 {
      %2[i0, i1] = (%0[i0, i1] + %1[i1])
    }
  }
}
";

const ATTENTION: &str = "\
kernel pack (%0 : f32[batch: 1, heads: 2, seq: 4, hd: 4]) -> %1 : f32[batch: 1, heads: 2, hd: 4, seq: 4] {
  for i0 in 0..1 {
    for i1 in 0..2 {
      for i2 in 0..4 {
        for i3 in 0..4 {
          %1[i0, i1, i2, i3] = %0[i0, i1, i3, i2]
        }
      }
    }
  }
}
kernel ein[batch, heads, seq, seq2] (%0 : f32[batch: 1, heads: 2, seq: 4, hd: 4], %1 : f32[batch: 1, heads: 2, hd: 4, seq: 4]) -> %2 : f32[batch: 1, heads: 2, seq: 4, seq2: 4] {
  for i0 in 0..1 {
    for i1 in 0..2 {
      for i2 in 0..2 {
        for i3 in 0..1 {
          v0 = splat(0)
          v1 = splat(0)
          for i4 in 0..4 {
            s0 = %0[i0, i1, ((i2 * 2) + 0), i4]
            s1 = %0[i0, i1, ((i2 * 2) + 1), i4]
            v2 = %1[i0, i1, i4, ((i3 * 4) + 0)]<v>
            v0 = (v0 + (splat(s0) * v2)<v>)<v>
            v1 = (v1 + (splat(s1) * v2)<v>)<v>
          }
          %2[i0, i1, ((i2 * 2) + 0), ((i3 * 4) + 0)] <v= v0
          %2[i0, i1, ((i2 * 2) + 1), ((i3 * 4) + 0)] <v= v1
        }
      }
    }
  }
}
";

fn reads_back(text: &str) {
    let kernels = parse_all(text).expect("a printed kernel reads");
    kernels.iter().for_each(|kernel| verify(kernel).expect("a lowered kernel is proven"));
    assert_eq!(kernels.iter().map(ToString::to_string).collect::<String>(), text);
}

#[test]
fn the_kernels_of_a_linear_layer_read_back() {
    reads_back(LINEAR);
}

#[test]
fn a_packed_contraction_in_lanes_reads_back() {
    reads_back(ATTENTION);
}

#[test]
fn heads_of_dumps_are_comments() {
    let text = format!("-- 2 kernels, 2 launches, f32\n-- fusion: 2 launches without it, 0 saved (0%)\n{LINEAR}");
    assert_eq!(parse_all(&text).expect("comments are skipped").len(), 2);
}

#[test]
fn loops_to_split_are_found() {
    use presk_kernel::parallel::{is_parallel, outermost_parallel};
    let kernels = parse_all(ATTENTION).expect("a printed kernel reads");
    let depths = |number: usize| (0..6).filter(|&depth| is_parallel(&kernels[number], depth)).collect::<Vec<_>>();
    assert_eq!(depths(0), [0, 1, 2, 3]);
    // The loops over blocks of rows and columns count; the one over k doesn't begin a perfect nest.
    assert_eq!(depths(1), [0, 1, 2, 3]);
    assert_eq!(outermost_parallel(&kernels[1]), Some(0));
}

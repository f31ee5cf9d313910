//! Maxima and minima as IEEE 754-2019 has them: NaN where there is one, −0 below +0.

/// Values that are taken side by side: some vectors of every instruction set.
const LANES: usize = 64;

/// Halves of the lanes, their halves and so on.
const HALVES: [usize; 6] = [32, 16, 8, 4, 2, 1];

macro_rules! extremes {
    ($module:ident, $real:ty, $word:ty) => {
        pub mod $module {
            use super::{HALVES, LANES};

            /// # Safety
            /// As `Routine`.
            #[inline(always)]
            pub unsafe fn max<P>(
                rows: *const *const $real,
                values: *mut $real,
                _: *const $real,
                number: usize,
                count: usize,
            ) {
                // SAFETY: the caller's promise.
                unsafe { each(rows, values, number, count, |x, best| if x > best { x } else { best }, 0.0) }
            }

            /// # Safety
            /// As `Routine`.
            #[inline(always)]
            pub unsafe fn min<P>(
                rows: *const *const $real,
                values: *mut $real,
                _: *const $real,
                number: usize,
                count: usize,
            ) {
                // SAFETY: the caller's promise.
                unsafe { each(rows, values, number, count, |x, best| if x < best { x } else { best }, -0.0) }
            }

            /// Of equals `better` gives either; `zero` is the better of the two zeros.
            ///
            /// # Safety
            /// As `Routine`.
            #[inline(always)]
            unsafe fn each(
                rows: *const *const $real,
                values: *mut $real,
                number: usize,
                count: usize,
                better: impl Fn($real, $real) -> $real + Copy,
                zero: $real,
            ) {
                for number in 0..number {
                    // SAFETY: the caller's promise; a row is a slice while nothing is written.
                    unsafe {
                        let row = *rows.add(number);
                        let place = values.add(number);
                        place.write_unaligned(of_row(row, count, place.read_unaligned(), better, zero));
                    }
                }
            }

            /// # Safety
            /// There are `count` elements from `row` on.
            #[inline(always)]
            unsafe fn of_row(
                row: *const $real,
                count: usize,
                before: $real,
                better: impl Fn($real, $real) -> $real + Copy,
                zero: $real,
            ) -> $real {
                let size = |x: $real| x.abs().to_bits();
                let mut best = [before; LANES];
                // The greatest size by its bits: that of a NaN is above all others.
                let mut most = [size(before); LANES];
                let whole = count - count % LANES;
                for at in (0..whole).step_by(LANES) {
                    // SAFETY: the caller's promise.
                    let x = unsafe { row.add(at).cast::<[$real; LANES]>().read_unaligned() };
                    for ((best, most), x) in best.iter_mut().zip(&mut most).zip(x) {
                        *best = better(x, *best);
                        *most = size(x).max(*most);
                    }
                }
                for half in HALVES {
                    for lane in 0..half {
                        best[lane] = better(best[lane + half], best[lane]);
                        most[lane] = most[lane + half].max(most[lane]);
                    }
                }
                let (mut found, mut most) = (best[0], most[0]);
                for at in whole..count {
                    // SAFETY: the caller's promise.
                    let x = unsafe { row.add(at).read_unaligned() };
                    found = better(x, found);
                    most = size(x).max(most);
                }
                if most > <$real>::INFINITY.to_bits() {
                    return <$real>::NAN;
                }
                if found != 0.0 {
                    return found;
                }
                // SAFETY: the caller's promise.
                let has = (0..count).any(|at| unsafe { row.add(at).read_unaligned() }.to_bits() == zero.to_bits());
                if has || before.to_bits() == zero.to_bits() { zero } else { -zero }
            }
        }
    };
}

extremes!(single, f32, u32);
extremes!(double, f64, u64);

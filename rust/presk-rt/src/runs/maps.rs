//! Maps of runs: an element less a number, times or by a number, times an element of another run, and one more added.

use std::ops::{Add, Div, Mul, Sub};

/// What is made of each element of a run: whichever of these there are, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Map {
    /// The element less a number.
    pub centre: bool,
    /// That and a number.
    pub scale: Option<Scale>,
    /// That times the element of another run.
    pub gain: bool,
    /// That and the element of another run added.
    pub shift: bool,
}

/// What is made of an element and a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// The element times the number.
    Product,
    /// The element divided by the number.
    Quotient,
}

impl Map {
    /// How many there are.
    pub const COUNT: usize = 24;

    /// A number for each, below [`Self::COUNT`].
    #[must_use]
    pub const fn number(self) -> usize {
        let scale = match self.scale {
            None => 0,
            Some(Scale::Product) => 1,
            Some(Scale::Quotient) => 2,
        };
        self.centre as usize + 2 * (self.gain as usize) + 4 * (self.shift as usize) + 8 * scale
    }

    /// The map of a number.
    #[must_use]
    pub const fn numbered(number: usize) -> Self {
        let scale = match number / 8 {
            0 => None,
            1 => Some(Scale::Product),
            _ => Some(Scale::Quotient),
        };
        Self { centre: number % 2 == 1, scale, gain: number / 2 % 2 == 1, shift: number / 4 % 2 == 1 }
    }
}

/// What a map takes besides its run. What it doesn't have isn't looked at.
#[derive(Clone, Copy, Debug)]
pub struct With<'a, T> {
    /// The number that is subtracted.
    pub centre: T,
    /// The number that is multiplied with or divided by.
    pub scale: T,
    /// The factors.
    pub gains: &'a [T],
    /// What is added.
    pub shifts: &'a [T],
}

/// Elements that are taken at once, and of what is left.
const LONG: usize = 128;
const SHORT: usize = 16;

/// The map of a number, of a run.
///
/// # Safety
/// As [`super::Mapped`], but that all sources are there.
#[inline(always)]
pub unsafe fn run<T, const MAP: usize>(sources: [*const T; 3], target: *mut T, centre: T, scale: T, count: usize)
where
    T: Copy + Default + Add<Output = T> + Sub<Output = T> + Mul<Output = T> + Div<Output = T>,
{
    let (long, short) = (count - count % LONG, count - count % SHORT);
    // SAFETY: the caller's promise; all are below `count`.
    unsafe {
        for at in (0..long).step_by(LONG) {
            block::<T, MAP, LONG>(sources, target, centre, scale, at);
        }
        for at in (long..short).step_by(SHORT) {
            block::<T, MAP, SHORT>(sources, target, centre, scale, at);
        }
        for at in short..count {
            block::<T, MAP, 1>(sources, target, centre, scale, at);
        }
    }
}

/// The same of L elements from one on.
///
/// # Safety
/// As [`run`]; there are as many elements.
#[inline(always)]
unsafe fn block<T, const MAP: usize, const L: usize>(
    sources: [*const T; 3],
    target: *mut T,
    centre: T,
    scale: T,
    at: usize,
) where
    T: Copy + Default + Add<Output = T> + Sub<Output = T> + Mul<Output = T> + Div<Output = T>,
{
    let map = const { Map::numbered(MAP) };
    let mut y = [T::default(); L];
    // SAFETY: the caller's promise. Nothing is written while elements are borrowed.
    let [x, gains, shifts] = sources.map(|source| unsafe { &*source.add(at).cast::<[T; L]>() });
    for (((y, &x), &gain), &shift) in y.iter_mut().zip(x).zip(gains).zip(shifts) {
        let x = if map.centre { x - centre } else { x };
        let x = match map.scale {
            None => x,
            Some(Scale::Product) => x * scale,
            Some(Scale::Quotient) => x / scale,
        };
        let x = if map.gain { x * gain } else { x };
        *y = if map.shift { x + shift } else { x };
    }
    // SAFETY: the caller's promise.
    unsafe { target.add(at).cast::<[T; L]>().write(y) };
}

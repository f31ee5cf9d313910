//! Sampling: the reference's rule in f64. A position is drawn with probability softmax(logits / temperature), among the
//! `top_k` largest and the fewest of these that reach the probability `top_p`; at temperature 0 it is the largest.
//!
//! Of equal logits the last counts as larger; NaN counts as larger than +∞. Sums run in the order of the likeliest down
//! where the allowed positions are chosen, and in the order of the positions where one of them is.

use std::cmp::Ordering;

use super::link::SampleStep;
use super::run::Run;
use crate::draw;
use crate::error::Error;

impl Run<'_> {
    /// Runs a sample step, one row after the other.
    pub fn sample(&mut self, step: &SampleStep) -> Result<(), Error> {
        let key = self.key(&step.key)?;
        let first = self.first(step.layout)?;
        let super::Leased { memory, weights, order, .. } = &mut *self.leased;
        let scalar = |spot| step.scalar.get(memory.read(spot), 0);
        let rule = Rule { temperature: scalar(&step.temperature), top_p: scalar(&step.top_p), top_k: step.top_k };
        let logits = memory.read(&step.logits);
        let cells = memory.cells(&step.target);
        let (weights, order) = (&mut weights[..step.size], &mut order[..step.size]);
        for place in 0..step.layout.count() {
            self.watch.look()?;
            let start = place / step.inner * step.size * step.inner + place % step.inner;
            let logit = |at: usize| step.element.get(logits, start + at * step.inner);
            let mut uniform = [0.0];
            let number = first + step.layout.number(place) as u64;
            draw::fill_uniform(&key, self.settings.step, number, draw::Uniform::UNIT, &mut uniform);
            cells.set_int(place, rule.position(&logit, uniform[0], weights, order) as i64);
        }
        Ok(())
    }
}

/// How a position is drawn.
#[derive(Clone, Copy, Debug)]
struct Rule {
    temperature: f64,
    top_p: f64,
    /// 0 allows all.
    top_k: usize,
}

impl Rule {
    /// The position that one uniform chooses. `weights` and `order` have one place for each logit.
    fn position(self, logit: &dyn Fn(usize) -> f64, uniform: f64, weights: &mut [f64], order: &mut [u32]) -> usize {
        let largest =
            (0..weights.len()).fold(0, |best, at| if above(logit(at), logit(best)).is_lt() { best } else { at });
        if self.temperature == 0.0 {
            return largest;
        }
        let top = logit(largest);
        for (at, weight) in weights.iter_mut().enumerate() {
            let value = logit(at);
            // An infinite largest logit is as far from itself as any: not at all.
            let distance = if value == top { 0.0 } else { value - top };
            *weight = libm::exp(distance / self.temperature);
        }
        if self.top_k == 0 && self.top_p >= 1.0 {
            return drawn(0..weights.len(), weights, uniform);
        }
        let allowed = self.allowed(logit, weights, order);
        order[..allowed].sort_unstable();
        drawn(order[..allowed].iter().map(|&at| at as usize), weights, uniform)
    }

    /// Puts the allowed positions first, the likeliest down; how many they are, one at least.
    fn allowed(self, logit: &dyn Fn(usize) -> f64, weights: &[f64], order: &mut [u32]) -> usize {
        for (number, at) in (0..).zip(order.iter_mut()) {
            *at = number;
        }
        let downward = |a: &u32, b: &u32| above(logit(*b as usize), logit(*a as usize)).then(b.cmp(a));
        let count = if self.top_k == 0 { order.len() } else { self.top_k.min(order.len()) };
        if count < order.len() {
            order.select_nth_unstable_by(count, downward);
        }
        let order = &mut order[..count];
        order.sort_unstable_by(downward);
        let wanted = self.top_p * order.iter().fold(0.0, |sum, &at| sum + weights[at as usize]);
        let mut reached = 0.0;
        for (taken, &at) in (1..).zip(order.iter()) {
            reached += weights[at as usize];
            if wanted <= reached {
                return taken;
            }
        }
        count
    }
}

/// The first position at which the running sum of weights passes the uniform's part of their sum, else the last.
fn drawn(allowed: impl Iterator<Item = usize> + Clone, weights: &[f64], uniform: f64) -> usize {
    let threshold = uniform * allowed.clone().fold(0.0, |sum, at| sum + weights[at]);
    let mut reached = 0.0;
    let mut last = 0;
    for at in allowed {
        last = at;
        reached += weights[at];
        if threshold < reached {
            break;
        }
    }
    last
}

/// Reals in order, NaN above all.
fn above(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(logits: &[f64], rule: Rule, uniform: f64) -> usize {
        let (mut weights, mut order) = (vec![0.0; logits.len()], vec![0; logits.len()]);
        rule.position(&|at| logits[at], uniform, &mut weights, &mut order)
    }

    const PLAIN: Rule = Rule { temperature: 1.0, top_p: 1.0, top_k: 0 };

    #[test]
    fn a_uniform_falls_into_its_interval() {
        let logits = [1.0f64, 2.0, 4.0, 1.0].map(f64::ln);
        for (uniform, expected) in [(0.0, 0), (0.12, 0), (0.13, 1), (0.37, 1), (0.38, 2), (0.87, 2), (0.88, 3)] {
            assert_eq!(position(&logits, PLAIN, uniform), expected, "{uniform}");
        }
    }

    #[test]
    fn temperature_0_takes_the_last_of_the_largest() {
        let greedy = Rule { temperature: 0.0, ..PLAIN };
        assert_eq!(position(&[1.0, 3.0, 3.0, 2.0], greedy, 0.0), 2);
        assert_eq!(position(&[1.0, f64::NAN, f64::INFINITY], greedy, 0.0), 1);
        assert_eq!(position(&[-0.0, 0.0, -0.0], greedy, 0.9), 2);
    }

    #[test]
    fn only_the_allowed_are_drawn() {
        let logits = [1.0f64, 2.0, 4.0, 1.0].map(f64::ln);
        for step in 0..100 {
            let uniform = f64::from(step) / 100.0;
            assert!(matches!(position(&logits, Rule { top_k: 2, ..PLAIN }, uniform), 1 | 2));
            assert_eq!(position(&logits, Rule { top_p: 0.5, ..PLAIN }, uniform), 2);
            assert_eq!(position(&logits, Rule { top_p: 0.0, ..PLAIN }, uniform), 2);
            // The last of the two equal ones counts as likelier.
            assert_ne!(position(&logits, Rule { top_k: 3, ..PLAIN }, uniform), 0);
            assert!(position(&logits, Rule { top_p: 0.76, ..PLAIN }, uniform) != 0);
        }
    }

    #[test]
    fn infinite_logits_are_certain_or_impossible() {
        assert_eq!(position(&[0.0, f64::INFINITY, 5.0], PLAIN, 0.999), 1);
        assert_eq!(position(&[f64::NEG_INFINITY, 0.0, f64::NEG_INFINITY], PLAIN, 0.999), 1);
        assert_eq!(position(&[f64::NEG_INFINITY; 4], PLAIN, 0.6), 2);
    }
}

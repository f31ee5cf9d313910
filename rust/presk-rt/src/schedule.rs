//! The schedule: buffers, and the steps that read and write them, in order. docs/schedule.md has its text and its meaning.
//!
//! [`read`] makes one of text, [`crate::verify`] proves it safe, [`crate::execute`] runs it. Pure data: sizes and offsets
//! count elements of the buffer named, as in the text.

use presk_kernel::Kernel;
use presk_kernel::ir::{Element, Place};

use crate::draw::Uniform;

mod lexer;
pub mod limits;
mod reader;
mod steps;

pub use reader::read;

/// Which kind of buffer a name is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// `hN`, an argument's leaf.
    Input,
    /// `oN`, a leaf of the result.
    Output,
    /// `aN`, a buffer of the arena.
    Arena,
    /// `cN`, a constant.
    Constant,
}

impl Space {
    /// The letter in the text.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Self::Input => 'h',
            Self::Output => 'o',
            Self::Arena => 'a',
            Self::Constant => 'c',
        }
    }
}

/// A buffer's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name {
    /// Its kind.
    pub space: Space,
    /// Its number among those of its kind.
    pub number: u32,
}

impl std::fmt::Display for Name {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}{}", self.space.letter(), self.number)
    }
}

/// `hN : element[sizes] "path"`; a quantised one is followed by its scales.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// The leaf's path from the parameter's name down.
    pub path: String,
    /// What an element is.
    pub element: Element,
    /// Sizes of its axes.
    pub sizes: Vec<u64>,
    /// Whether the call may overwrite it.
    pub donated: bool,
    /// Where it is declared.
    pub place: Place,
}

/// `oN : element[sizes] "path"`.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// The leaf's path.
    pub path: String,
    /// What an element is.
    pub element: Element,
    /// Sizes of its axes.
    pub sizes: Vec<u64>,
    /// The donated input whose buffer it is.
    pub shares: Option<u32>,
    /// Where it is declared.
    pub place: Place,
}

/// `cN : element = number`, of one element.
#[derive(Clone, Debug, PartialEq)]
pub struct Fixed {
    /// What it is.
    pub element: Element,
    /// Its value: an integer's or a truth value's is whole.
    pub value: Number,
    /// Where it is declared.
    pub place: Place,
}

/// A number in the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Digits alone, perhaps with a sign.
    Whole(i64),
    /// With a point or an exponent, or `inf`, or `nan`.
    Real(f64),
}

impl Number {
    /// The number in f64.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "a literal of digits alone is rounded once, as any other literal")]
    pub fn real(self) -> f64 {
        match self {
            Self::Whole(value) => value as f64,
            Self::Real(value) => value,
        }
    }
}

/// `aN : element[count] at offset`.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// What an element is.
    pub element: Element,
    /// How many there are.
    pub count: u64,
    /// Its first byte in the arena.
    pub offset: u64,
    /// Where it is declared.
    pub place: Place,
}

/// Elements of a buffer from an offset on: `start`, and for each loop a stride times its counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The buffer.
    pub buffer: Name,
    /// The offset with all counters 0.
    pub start: u64,
    /// Strides by the loop's number, each loop once.
    pub strides: Vec<(u32, u64)>,
}

/// How a launch's loop is divided over workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// The executor may divide the outermost parallel loop.
    Free,
    /// It may not.
    Whole,
    /// The loop at this depth over that many workers, the pool's where it isn't said.
    At {
        /// The depth in the kernel's perfect nest.
        depth: u64,
        /// The number of workers.
        workers: Option<u64>,
    },
}

/// What a draw's key is made of besides the seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The stream.
    pub stream: String,
    /// The path.
    pub path: String,
    /// The loops whose counters are its indices, outermost first.
    pub counters: Vec<u32>,
}

/// A drawn tensor's sizes, and the axis whose indices number rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Sizes of the axes.
    pub sizes: Vec<u64>,
    /// The axis of rows.
    pub rows: Option<u64>,
}

/// Which distribution a draw is of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Standard deviation and mean.
    Normal(f64, f64),
    /// From and up to, and the numbers it is kept within.
    Uniform(Uniform),
}

/// A step and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What it does.
    pub kind: StepKind,
    /// Where it begins.
    pub place: Place,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq)]
pub enum StepKind {
    /// A kernel on views.
    Launch(Launch),
    /// Steps repeated.
    Loop(Loop),
    /// Elements of one float type to another.
    Convert(Transfer),
    /// Elements as they are.
    Copy(Transfer),
    /// The number of a loop's round plus a start, as an integer.
    Count {
        /// The loop.
        counter: u32,
        /// What is added.
        start: u64,
        /// Where it goes.
        target: View,
    },
    /// Two buffers of the arena exchange their places.
    Swap(Name, Name),
    /// A drawn tensor.
    Draw {
        /// Of what.
        distribution: Distribution,
        /// Its shape.
        shape: Shape,
        /// Its elements.
        element: Element,
        /// Its key.
        key: Key,
        /// Where it goes.
        target: View,
    },
    /// A dropout mask.
    Mask {
        /// What an element of the probability is.
        given: Element,
        /// The probability.
        probability: View,
        /// The mask's shape.
        shape: Shape,
        /// Its elements.
        element: Element,
        /// Its key.
        key: Key,
        /// Where it goes.
        target: View,
    },
    /// Positions drawn by logits.
    Sample(Sample),
}

/// `launch kN name (views) -> (views) split "site"`.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// Number of the kernel.
    pub kernel: u32,
    /// Its name without brackets.
    pub name: String,
    /// Its inputs, a quantised one being two.
    pub inputs: Vec<View>,
    /// Its outputs.
    pub outputs: Vec<View>,
    /// How it is divided.
    pub split: Split,
    /// The site.
    pub site: String,
}

/// `loop lN in 0..trips { … }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// Number of the counter, not that of an enclosing loop.
    pub counter: u32,
    /// Number of rounds.
    pub trips: u64,
    /// Whether the counter runs downward.
    pub reversed: bool,
    /// The steps of a round.
    pub steps: Vec<Step>,
}

/// So many elements from one view to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    /// How many.
    pub count: u64,
    /// What they are.
    pub from: Element,
    /// What they become.
    pub to: Element,
    /// Where they are.
    pub source: View,
    /// Where they go.
    pub target: View,
}

/// `sample …`: for each index of `shape`, a position along the axis that stands at `axis` of the logits.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// What a logit is.
    pub element: Element,
    /// The logits.
    pub logits: View,
    /// What temperature and `top_p` are.
    pub scalar: Element,
    /// The temperature.
    pub temperature: View,
    /// The probability to be reached.
    pub top_p: View,
    /// The result's shape.
    pub shape: Shape,
    /// Where the axis stands.
    pub axis: u64,
    /// Its size.
    pub size: u64,
    /// How many of the largest are allowed, 0 being all.
    pub top_k: u64,
    /// The key.
    pub key: Key,
    /// Where the positions go.
    pub target: View,
}

/// All an entry does.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// The entry.
    pub name: String,
    /// The realization's name.
    pub realization: String,
    /// `h0` …
    pub inputs: Vec<Input>,
    /// `o0` …
    pub outputs: Vec<Output>,
    /// `c0` …
    pub constants: Vec<Fixed>,
    /// Bytes of the arena.
    pub arena: u64,
    /// `a0` …
    pub regions: Vec<Region>,
    /// `k0` …
    pub kernels: Vec<Kernel>,
    /// The steps.
    pub steps: Vec<Step>,
}

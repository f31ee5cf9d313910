//! Buffers and views of them: where they lie, and whether two may overlap.

use presk_kernel::ir::{Element, Place};

use super::fault;
use crate::error::{Error, ErrorKind};
use crate::schedule::{Fixed, Name, Number, Region, Schedule, Space, Step, StepKind, View, limits};

/// How elements are stored: what two element types must have in common for one to be read as the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// Eight bytes, a float.
    F64,
    /// Four bytes, a float.
    F32,
    /// Two bytes, a float.
    Bf16,
    /// Eight bytes, an integer; whether it is below a bound is checked when it is used.
    Int,
    /// One byte, a truth value.
    Bool,
    /// One byte of a quantised number.
    Int8,
    /// Half a byte of one.
    Int4,
}

impl Storage {
    /// How an element is stored.
    #[must_use]
    pub fn of(element: Element) -> Self {
        match element {
            Element::F64 => Self::F64,
            Element::F32 => Self::F32,
            Element::Bf16 => Self::Bf16,
            Element::I64 | Element::Index(_) => Self::Int,
            Element::Bool => Self::Bool,
            Element::Int8(_) => Self::Int8,
            Element::Int4(_) => Self::Int4,
        }
    }

    /// Bytes of an element, and what its place is a multiple of; a half for int4 is given as 1.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::F64 | Self::Int => 8,
            Self::F32 => 4,
            Self::Bf16 => 2,
            Self::Bool | Self::Int8 | Self::Int4 => 1,
        }
    }

    /// The bytes that so many elements take, of int4 in rows of that many.
    #[must_use]
    pub fn extent(self, count: u64, row: Option<u64>) -> u64 {
        match (self, row) {
            (Self::Int4, Some(0)) => 0,
            (Self::Int4, Some(row)) => count / row * row.div_ceil(2),
            _ => count * self.bytes(),
        }
    }
}

/// The number of elements of a shape; none past the limit.
#[must_use]
pub fn extent_of(sizes: &[u64]) -> Option<u64> {
    if sizes.iter().any(|&size| size > limits::ELEMENTS) {
        return None;
    }
    if sizes.contains(&0) {
        return Some(0);
    }
    sizes.iter().try_fold(1u64, |count, &size| count.checked_mul(size)).filter(|&count| count <= limits::ELEMENTS)
}

/// A view that a step touches.
#[derive(Clone, Debug)]
pub struct Touched {
    name: Name,
    /// Its first byte in the buffer with all counters 0, and strides in bytes.
    start: i128,
    strides: Vec<(u32, i128)>,
    bytes: i128,
    row: Option<u64>,
}

impl Touched {
    pub fn buffer(&self) -> Name {
        self.name
    }

    /// Elements of a row, of int4.
    pub fn row(&self) -> Option<u64> {
        self.row
    }
}

/// A schedule's buffers.
pub struct Buffers<'s> {
    schedule: &'s Schedule,
    /// For each buffer of the arena, which class it belongs to: those that swaps connect.
    class: Vec<u32>,
    /// The buffers of each class.
    members: Vec<Vec<u32>>,
}

/// Most buffers that swaps may connect with one another.
const CLASS: usize = 64;

impl<'s> Buffers<'s> {
    /// Checks the declarations, and which buffers swaps connect.
    pub fn of(schedule: &'s Schedule) -> Result<Self, Error> {
        check_arguments(schedule)?;
        schedule.constants.iter().try_for_each(check_constant)?;
        for region in &schedule.regions {
            check_region(region, schedule.arena)?;
        }
        let mut classes = Classes((0..u32::try_from(schedule.regions.len()).unwrap_or(u32::MAX)).collect());
        connect(&schedule.steps, schedule, &mut classes)?;
        let mut buffers = Self { schedule, class: Vec::new(), members: vec![Vec::new(); schedule.regions.len()] };
        for (number, region) in (0..).zip(&schedule.regions) {
            let class = classes.root(number);
            buffers.class.push(class);
            let members = &mut buffers.members[class as usize];
            members.push(number);
            if members.len() > CLASS {
                let what = "the number of buffers that exchange places".into();
                return fault(ErrorKind::Limit { what, limit: CLASS as u64 }, region.place);
            }
        }
        buffers.members.iter().try_for_each(|members| buffers.check_class(members))?;
        Ok(buffers)
    }

    /// The class a buffer of the arena belongs to: those that swaps connect.
    pub fn class_of(&self, number: u32) -> u32 {
        self.class[number as usize]
    }

    /// The buffers of a class.
    pub fn members_of(&self, class: u32) -> &[u32] {
        &self.members[class as usize]
    }

    /// Buffers that exchange places lie apart.
    fn check_class(&self, members: &[u32]) -> Result<(), Error> {
        for (at, &left) in members.iter().enumerate() {
            for &right in &members[..at] {
                let (left, right) = (&self.schedule.regions[left as usize], &self.schedule.regions[right as usize]);
                let end = |region: &Region| region.offset + region_bytes(region);
                if left.offset < end(right) && right.offset < end(left) {
                    let message = "buffers that exchange places lie apart, and these overlap".into();
                    return fault(ErrorKind::Overlap(message), left.place);
                }
            }
        }
        Ok(())
    }

    /// Element and number of elements of a buffer, and the length of its rows where it is int4.
    fn declared(&self, name: Name) -> Option<(Element, u64, Option<u64>)> {
        let number = name.number as usize;
        match name.space {
            Space::Input => {
                let input = self.schedule.inputs.get(number)?;
                let row = matches!(input.element, Element::Int4(_)).then(|| input.sizes.last().copied().unwrap_or(1));
                Some((input.element, extent_of(&input.sizes)?, row))
            }
            Space::Output => {
                let output = self.schedule.outputs.get(number)?;
                Some((output.element, extent_of(&output.sizes)?, None))
            }
            Space::Arena => self.schedule.regions.get(number).map(|region| (region.element, region.count, None)),
            Space::Constant => self.schedule.constants.get(number).map(|constant| (constant.element, 1, None)),
        }
    }

    /// A view of `count` elements, proven to lie in its buffer in every round of the loops.
    pub fn touched(
        &self,
        view: &View,
        element: Element,
        count: u64,
        loops: &[(u32, u64)],
        place: Place,
    ) -> Result<Touched, Error> {
        let type_fault = |message| fault(ErrorKind::Type(message), place);
        let name = view.buffer;
        let Some((declared, elements, row)) = self.declared(name) else {
            return type_fault(format!("there is no buffer {name}"));
        };
        let storage = Storage::of(declared);
        if storage != Storage::of(element) {
            return type_fault(format!("{name} holds elements of another type than the step wants"));
        }
        let mut end = u128::from(view.start) + u128::from(count);
        for &(counter, stride) in &view.strides {
            let Some(&(_, trips)) = loops.iter().find(|&&(number, _)| number == counter) else {
                return type_fault(format!("l{counter} is not the counter of an enclosing loop"));
            };
            end += u128::from(stride) * u128::from(trips.saturating_sub(1));
        }
        let runs = loops.iter().all(|&(_, trips)| trips > 0);
        if runs && end > u128::from(elements) {
            let message = format!("a view of {name} ends at element {end} of {elements}");
            return fault(ErrorKind::Bounds(message), place);
        }
        let in_rows = |number: u64| row.is_none_or(|row| row == 0 || number.is_multiple_of(row));
        if !(in_rows(view.start) && in_rows(count) && view.strides.iter().all(|&(_, stride)| in_rows(stride))) {
            return type_fault(format!("a view of {name} is made of whole rows"));
        }
        let bytes = |number: u64| i128::from(storage.extent(number.min(limits::ELEMENTS), row));
        let strides = view.strides.iter().map(|&(counter, stride)| (counter, bytes(stride))).collect();
        Ok(Touched { name, start: bytes(view.start), strides, bytes: bytes(count), row })
    }

    /// Whether two views of one step may have a byte in common in some round.
    pub fn may_overlap(&self, left: &Touched, right: &Touched, loops: &[(u32, u64)]) -> bool {
        if left.bytes == 0 || right.bytes == 0 || loops.iter().any(|&(_, trips)| trips == 0) {
            return false;
        }
        let (first, second) = (self.root(left.name), self.root(right.name));
        if first == second {
            return meet(left, right, 0, loops);
        }
        if first.space != Space::Arena || second.space != Space::Arena {
            return false;
        }
        let (first, second) = (self.class[first.number as usize], self.class[second.number as usize]);
        if first == second {
            // Whoever has exchanged places with whom, two buffers have two places.
            return false;
        }
        let offset = |number: u32| i128::from(self.schedule.regions[number as usize].offset);
        let (left_places, right_places) = (&self.members[first as usize], &self.members[second as usize]);
        left_places.iter().any(|&a| right_places.iter().any(|&b| meet(left, right, offset(a) - offset(b), loops)))
    }

    /// The buffer whose memory a name is of: an output may be a donated input's.
    fn root(&self, name: Name) -> Name {
        match name.space {
            Space::Output => match self.schedule.outputs[name.number as usize].shares {
                Some(input) => Name { space: Space::Input, number: input },
                None => name,
            },
            _ => name,
        }
    }
}

/// Whether two views have a byte in common in some round, `apart` being the distance of their buffers.
fn meet(left: &Touched, right: &Touched, apart: i128, loops: &[(u32, u64)]) -> bool {
    let (mut low, mut high) = (left.start - right.start + apart, left.start - right.start + apart);
    for &(counter, trips) in loops {
        let stride = |touched: &Touched| {
            touched.strides.iter().find(|&&(number, _)| number == counter).map_or(0, |&(_, stride)| stride)
        };
        let moves = (stride(left) - stride(right)) * i128::from(trips.saturating_sub(1));
        low += moves.min(0);
        high += moves.max(0);
    }
    low < right.bytes && high > -left.bytes
}

/// Which buffers are connected: each names another of its class, or itself.
struct Classes(Vec<u32>);

impl Classes {
    fn root(&mut self, mut number: u32) -> u32 {
        while self.0[number as usize] != number {
            let next = self.0[self.0[number as usize] as usize];
            self.0[number as usize] = next;
            number = next;
        }
        number
    }
}

fn connect(steps: &[Step], schedule: &Schedule, classes: &mut Classes) -> Result<(), Error> {
    for step in steps {
        match &step.kind {
            StepKind::Loop(each) => connect(&each.steps, schedule, classes)?,
            StepKind::Swap(first, second) => {
                let region = |name: &Name| schedule.regions.get(name.number as usize);
                match (region(first), region(second)) {
                    (Some(a), Some(b)) if a.count == b.count && Storage::of(a.element) == Storage::of(b.element) => {}
                    _ => {
                        let message = format!("{first} and {second} aren't two buffers of one size and element");
                        return fault(ErrorKind::Type(message), step.place);
                    }
                }
                let (a, b) = (classes.root(first.number), classes.root(second.number));
                classes.0[a as usize] = b;
            }
            _ => {}
        }
    }
    Ok(())
}

pub fn region_bytes(region: &Region) -> u64 {
    region.count * Storage::of(region.element).bytes()
}

fn check_region(region: &Region, arena: u64) -> Result<(), Error> {
    if region.element.scale_axes().is_some() {
        return fault(ErrorKind::Type("only inputs are quantised".into()), region.place);
    }
    if region.count > limits::ELEMENTS || arena > limits::ELEMENTS {
        let what = "the number of elements of a buffer or bytes of the arena".into();
        return fault(ErrorKind::Limit { what, limit: limits::ELEMENTS }, region.place);
    }
    if !region.offset.is_multiple_of(Storage::of(region.element).bytes()) {
        return fault(ErrorKind::Bounds("a buffer begins at a multiple of its element's bytes".into()), region.place);
    }
    if region.offset.checked_add(region_bytes(region)).is_none_or(|end| end > arena) {
        return fault(ErrorKind::Bounds("a buffer leaves the arena".into()), region.place);
    }
    Ok(())
}

fn check_constant(constant: &Fixed) -> Result<(), Error> {
    let fits = match (constant.element, constant.value) {
        (Element::F64 | Element::F32 | Element::Bf16, _) => true,
        (Element::I64, Number::Whole(_)) => true,
        (Element::Index(bound), Number::Whole(value)) => u64::try_from(value).is_ok_and(|value| value < bound),
        (Element::Bool, Number::Whole(value)) => value == 0 || value == 1,
        _ => false,
    };
    if fits { Ok(()) } else { fault(ErrorKind::Type("the constant is none of its element".into()), constant.place) }
}

fn check_arguments(schedule: &Schedule) -> Result<(), Error> {
    let type_fault = |message: &str, place| fault(ErrorKind::Type(message.into()), place);
    let too_large = |place| {
        let what = "the number of elements of a buffer".into();
        fault(ErrorKind::Limit { what, limit: limits::ELEMENTS }, place)
    };
    for (number, input) in schedule.inputs.iter().enumerate() {
        if extent_of(&input.sizes).is_none() {
            return too_large(input.place);
        }
        let Some(axes) = input.element.scale_axes() else { continue };
        if axes.end as usize > input.sizes.len() || input.donated {
            return type_fault("a quantised input's scales vary along its axes, and it isn't donated", input.place);
        }
        if schedule.inputs.get(number + 1).is_none_or(|scales| scales.element != Element::F32) {
            return type_fault("a quantised input is followed by its scales, f32", input.place);
        }
    }
    for (number, output) in schedule.outputs.iter().enumerate() {
        let Some(elements) = extent_of(&output.sizes) else { return too_large(output.place) };
        if output.element.scale_axes().is_some() {
            return type_fault("only inputs are quantised", output.place);
        }
        let Some(shared) = output.shares else { continue };
        let fits = schedule.inputs.get(shared as usize).is_some_and(|input| {
            let storage = Storage::of(input.element) == Storage::of(output.element);
            input.donated && storage && extent_of(&input.sizes) == Some(elements)
        });
        if !fits || schedule.outputs[..number].iter().any(|other| other.shares == Some(shared)) {
            return type_fault("an output takes the buffer of a donated input like it, once", output.place);
        }
    }
    Ok(())
}

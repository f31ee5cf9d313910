//! The kernel files of tests/kernel, run by the interpreter: see tests/kernel/test_kir.py for their form.

use std::collections::BTreeMap;
use std::path::PathBuf;

use presk_kernel::ir::{BufferType, Element, Kernel};
use presk_kernel::{Error, Options, Program, lanes, parse, verify};

struct Case {
    name: String,
    text: String,
    sections: BTreeMap<String, String>,
}

fn cases() -> Vec<Case> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernel");
    let paths =
        std::fs::read_dir(folder).expect("the folder of kernel files").map(|entry| entry.expect("an entry").path());
    let files = paths.filter(|path| path.extension().is_some_and(|extension| extension == "kir"));
    files
        .map(|path| {
            let file = std::fs::read_to_string(&path).expect("a readable file");
            let mut parts = file.split("\n== ");
            let head = parts.next().expect("a head");
            let sections = parts.map(|part| {
                let (heading, body) = part.split_once('\n').unwrap_or((part, ""));
                (heading.trim().to_owned(), body.trim().to_owned())
            });
            let text = head.trim().to_owned() + "\n";
            Case { name: path.display().to_string(), text, sections: sections.collect() }
        })
        .collect()
}

fn bytes(words: &str, buffer: &BufferType) -> Vec<u8> {
    let words = words.split_whitespace();
    let float = |word: &str| word.parse::<f32>().expect("a decimal");
    match buffer.element {
        Element::F64 => words.flat_map(|word| word.parse::<f64>().expect("a decimal").to_ne_bytes()).collect(),
        Element::F32 => words.flat_map(|word| float(word).to_ne_bytes()).collect(),
        Element::Bf16 => words.flat_map(|word| ((float(word).to_bits() >> 16) as u16).to_ne_bytes()).collect(),
        Element::I64 | Element::Index(_) => {
            words.flat_map(|word| word.parse::<i64>().expect("an integer").to_ne_bytes()).collect()
        }
        Element::Bool => words.map(|word| u8::from(word == "true")).collect(),
        Element::Int8(_) => words.map(|word| word.parse::<i8>().expect("an integer") as u8).collect(),
        Element::Int4(_) => {
            let nibbles: Vec<u8> = words.map(|word| word.parse::<i8>().expect("an integer") as u8 & 15).collect();
            let row = usize::try_from(buffer.row().expect("axes")).expect("a small row");
            let pairs = nibbles.chunks(row).flat_map(|row| row.chunks(2));
            pairs.map(|pair| pair[0] | pair.get(1).copied().unwrap_or(0) << 4).collect()
        }
    }
}

type Buffers = Vec<Vec<u8>>;

fn arguments(case: &Case, kernel: &Kernel) -> (Buffers, Buffers) {
    let section = |heading: String| case.sections.get(&heading).cloned().unwrap_or_default();
    let mut inputs = Vec::new();
    for (number, buffer) in kernel.inputs.iter().enumerate() {
        let shared = kernel.outputs.iter().any(|output| output.shares == u32::try_from(number).ok());
        inputs.push(if shared { Vec::new() } else { bytes(&section(format!("input %{number}")), buffer) });
        if buffer.scales().is_some() {
            let scales = section(format!("scales %{number}"));
            inputs.push(
                scales
                    .split_whitespace()
                    .flat_map(|word| word.parse::<f32>().expect("a decimal").to_ne_bytes())
                    .collect(),
            );
        }
    }
    let outputs = kernel.outputs.iter().map(|output| match output.shares {
        Some(input) => bytes(&section(format!("input %{input}")), &output.buffer),
        None => vec![0; usize::try_from(output.buffer.bytes().expect("bounded")).expect("small")],
    });
    (inputs, outputs.collect())
}

fn run(case: &Case, kernel: &Kernel, options: Options) -> Result<Buffers, Error> {
    let program = Program::compile(kernel)?;
    let (inputs, mut outputs) = arguments(case, kernel);
    let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    program.run(&inputs, &mut outputs.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>(), options)?;
    Ok(outputs)
}

/// NaNs made one, so that bytes compare.
fn canonical(bytes: &[u8], element: Element) -> Vec<u8> {
    match element {
        Element::F64 => bytes
            .chunks(8)
            .map(|each| f64::from_ne_bytes(each.try_into().expect("eight bytes")))
            .flat_map(|each| if each.is_nan() { f64::NAN } else { each }.to_ne_bytes())
            .collect(),
        Element::F32 => bytes
            .chunks(4)
            .map(|each| f32::from_ne_bytes(each.try_into().expect("four bytes")))
            .flat_map(|each| if each.is_nan() { f32::NAN } else { each }.to_ne_bytes())
            .collect(),
        Element::Bf16 => bytes
            .chunks(2)
            .map(|each| u16::from_ne_bytes(each.try_into().expect("two bytes")))
            .flat_map(|each| if each & 0x7fff > 0x7f80 { 0x7fc0 } else { each }.to_ne_bytes())
            .collect(),
        _ => bytes.to_vec(),
    }
}

fn assert_outputs(case: &Case, kernel: &Kernel, outputs: &[Vec<u8>]) {
    for (number, (output, found)) in kernel.outputs.iter().zip(outputs).enumerate() {
        let heading = format!("output %{}", kernel.inputs.len() + number);
        let wanted =
            bytes(case.sections.get(&heading).unwrap_or_else(|| panic!("{}: no {heading}", case.name)), &output.buffer);
        let element = output.buffer.element;
        assert_eq!(canonical(found, element), canonical(&wanted, element), "{}: {heading}", case.name);
    }
}

#[test]
fn kernels_write_what_their_files_say() {
    for case in cases() {
        let found = parse(&case.text).and_then(|kernel| {
            verify(&kernel)?;
            Ok((run(&case, &kernel, Options { shadow: true, split: None })?, kernel))
        });
        match found {
            Err(error) => {
                let place = if error.place.line == 0 {
                    String::new()
                } else {
                    format!(" {}:{}", error.place.line, error.place.column)
                };
                let heading = format!("error {}{place}", error.kind.code());
                assert!(case.sections.contains_key(&heading), "{}: {heading}: {error}", case.name);
            }
            Ok((outputs, kernel)) => {
                assert_outputs(&case, &kernel, &outputs);
                let unwatched = run(&case, &kernel, Options::default()).expect("it ran watched");
                assert_outputs(&case, &kernel, &unwatched);
            }
        }
    }
}

#[test]
fn texts_read_back() {
    for case in cases() {
        if let Ok(kernel) = parse(&case.text) {
            let bare = case.text.lines().filter(|line| !line.starts_with("--")).map(|line| format!("{line}\n"));
            assert_eq!(kernel.to_string(), bare.collect::<String>(), "{}", case.name);
        } else {
            assert!(case.sections.keys().any(|heading| heading.starts_with("error ")), "{}", case.name);
        }
    }
}

#[test]
fn lanes_keep_the_bits() {
    let mut rewritten = 0;
    for case in cases() {
        let Ok(kernel) = parse(&case.text) else { continue };
        let watched = Options { shadow: true, split: None };
        let Ok(outputs) = verify(&kernel).and_then(|()| run(&case, &kernel, watched)) else { continue };
        let in_lanes = lanes::rewrite(&kernel, None);
        verify(&in_lanes).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        if let Some(wanted) = case.sections.get("lanes") {
            assert_eq!(in_lanes.to_string().trim(), wanted, "{}", case.name);
        }
        rewritten += usize::from(in_lanes != kernel);
        assert_eq!(parse(&in_lanes.to_string()).expect("it prints"), in_lanes, "{}", case.name);
        let after = run(&case, &in_lanes, watched).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        for (number, output) in kernel.outputs.iter().enumerate() {
            let element = output.buffer.element;
            assert_eq!(canonical(&outputs[number], element), canonical(&after[number], element), "{}", case.name);
        }
    }
    assert!(rewritten >= 5, "some files hold loops that run in lanes: {rewritten}");
}

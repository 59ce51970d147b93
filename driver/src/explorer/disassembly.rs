//! Machine code as lines of text, each with what its instruction is for.

use backend_cranelift::Listing;
use codegen::ir::Line;
use iced_x86::{Decoder, DecoderOptions, Formatter as _, GasFormatter, Instruction};
use target_lexicon::{Architecture, Triple};

/// Number of bytes of code without a disassembler on a line.
const WORD: usize = 4;

/// Returns the code in lines: instructions on x86-64, words in hexadecimal digits elsewhere.
pub(super) fn disassembled(listing: &Listing, target: &Triple) -> Vec<Line> {
    if target.architecture == Architecture::X86_64 { x86_64(listing) } else { words(listing) }
}

fn x86_64(listing: &Listing) -> Vec<Line> {
    let mut formatter = GasFormatter::new();
    let options = formatter.options_mut();
    options.set_space_after_operand_separator(true);
    options.set_uppercase_hex(false);
    options.set_branch_leading_zeros(false);
    options.set_rip_relative_addresses(true);
    let mut decoder = Decoder::new(64, &listing.code, DecoderOptions::NONE);
    let (mut lines, mut instruction) = (Vec::new(), Instruction::default());
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        let mut text = String::new();
        formatter.format(&instruction, &mut text);
        let (start, end) = (instruction.ip() as u32, instruction.next_ip() as u32);
        lines.push(line(listing, start, end, &text));
    }
    lines
}

fn words(listing: &Listing) -> Vec<Line> {
    let chunks = listing.code.chunks(WORD).enumerate();
    let of = |(nth, bytes): (usize, &[u8])| {
        let start = (nth * WORD) as u32;
        let text: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        line(listing, start, start + bytes.len() as u32, &text.join(" "))
    };
    chunks.map(of).collect()
}

/// Returns the line of the bytes from `start` to `end`, with the symbols that a linker writes into them.
fn line(listing: &Listing, start: u32, end: u32, text: &str) -> Line {
    let written = listing.relocations.iter().filter(|(at, _)| (start..end).contains(at));
    let names: Vec<String> = written.map(|(_, name)| format!("  # {name}")).collect();
    let here = listing.topics.iter().filter(|(range, _)| range.start < end && start < range.end);
    Line {
        text: format!("{start:4x}  {text}{}", names.concat()),
        topics: here.map(|(_, topic)| *topic).collect(),
    }
}

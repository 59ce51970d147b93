//! Sites: what a failure after the checks says. Each is added to the descriptor of its function.

use crate::ir::{Builder, Data, Linkage, SymbolKind, Value};
use crate::lower::explain::codes::{Callee, Case, Header, Meaning, Site, Span, Text};
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::schema::{Part, Words};
use crate::lower::quote::elide;

/// What is wrong at a place of a function's body.
#[derive(Clone, Debug)]
pub(crate) struct Fault<'a> {
    pub(crate) complaint: Complaint,
    /// Whose error it may be.
    pub(crate) callee: Callee,
    /// The kind of the error; if empty that of the complaint.
    pub(crate) kind: &'a str,
    /// What it is about; may be empty. A template is there as a whole, since its end has values too.
    pub(crate) subject: String,
    /// What the first value means, where it is one of these statuses: kind and subject.
    pub(crate) cases: Vec<(i32, &'a str, &'a str)>,
}

impl Fault<'_> {
    /// A complaint about nothing in particular.
    pub(crate) fn plain(complaint: Complaint) -> Self {
        let (callee, subject) = (Callee::None, String::new());
        Fault { complaint, callee, kind: "", subject, cases: Vec::new() }
    }
}

/// Adds a site to a descriptor, which is data number `index` of the module; yields its address. The backtrace is
/// that of the function, unless it has one of its own.
pub(crate) fn add(
    b: &mut Builder<'_>,
    index: usize,
    fault: &Fault<'_>,
    frame: Option<&str>,
) -> Value {
    let data = &mut b.module.data[index];
    let descriptor = data.symbol;
    let offset = append(data, fault, frame.unwrap_or_default());
    let base = b.address(descriptor);
    b.ptr_offset(base, offset.into())
}

/// The address of a site of no function, which has nothing to say but the frame of the function whose descriptor goes
/// with it.
pub(crate) fn plain(b: &mut Builder<'_>) -> Value {
    const NAME: &str = "tvm_ffi_codegen.site";
    let known = b.module.find(NAME).is_some();
    let symbol = b.module.declare(NAME, Linkage::Local, SymbolKind::Data);
    if !known {
        let Fault { complaint, callee, .. } = Fault::plain(Complaint::Failed);
        let (complaint, frame, meaning) = (complaint as u32, Text::default(), Meaning::default());
        let mut words = Vec::with_capacity(Site::WORDS as usize);
        Site { next: 0, complaint, callee, frame, meaning, cases: 0 }.encode(&mut words);
        let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        b.module.data.push(Data::constant(symbol, bytes, 4));
    }
    b.address(symbol)
}

/// Appends words and texts; yields the offset in bytes.
fn append(data: &mut Data, fault: &Fault<'_>, frame: &str) -> u32 {
    let mut header = header(&data.bytes);
    let offset = data.bytes.len() as u32;
    let words = Site::WORDS + Case::WORDS * fault.cases.len() as u32;
    let mut text = Vec::new();
    let mut span = |quoted: &str| {
        let start = offset + 4 * words - header.texts + text.len() as u32;
        text.extend_from_slice(quoted.as_bytes());
        Text(Span { offset: start, length: quoted.len() as u32 })
    };
    let template = fault.complaint == Complaint::Own;
    let subject = if template { (&fault.subject).into() } else { elide(&fault.subject) };
    let mut encoded = Vec::with_capacity(words as usize);
    Site {
        next: header.site,
        complaint: fault.complaint as u32,
        callee: fault.callee,
        frame: span(frame),
        meaning: Meaning { kind: span(fault.kind), subject: span(&subject) },
        cases: fault.cases.len() as u32,
    }
    .encode(&mut encoded);
    for &(status, kind, subject) in &fault.cases {
        let meaning = Meaning { kind: span(kind), subject: span(subject) };
        Case { status: status as u32, meaning }.encode(&mut encoded);
    }
    data.bytes.extend(encoded.iter().flat_map(|word| word.to_le_bytes()));
    data.bytes.extend(text);
    data.bytes.resize(data.bytes.len().next_multiple_of(4), 0);
    header.site = offset;
    header.size = data.bytes.len() as u32;
    let mut encoded = Vec::with_capacity(Header::WORDS as usize);
    header.encode(&mut encoded);
    for (to, word) in data.bytes.chunks_exact_mut(4).zip(encoded) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    offset
}

fn header(bytes: &[u8]) -> Header {
    let words: Vec<u32> = bytes
        .chunks_exact(4)
        .take(Header::WORDS as usize)
        .map(|word| word.iter().rev().fold(0, |all, &byte| all << 8 | u32::from(byte)))
        .collect();
    let header = Header::decode(&mut Words { left: &words });
    header.unwrap_or_else(|| unreachable!("a descriptor starts with its header"))
}

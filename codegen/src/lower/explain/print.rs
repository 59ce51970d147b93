//! Descriptors as text, decoded by the tables they were made from.

use crate::lower::explain::codes::{
    Case, Header, LeafKind, Literal, LiteralCode, Op, Output, Outputs, Received, Rpn, RuleCode,
    Site, Span, Tail, Text,
};
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::schema::{Part, Texts, Words};

/// The lines of a descriptor. What does not decode is said to be damaged.
pub(crate) fn print(bytes: &[u8]) -> String {
    let all: Vec<u32> = bytes.chunks_exact(4).map(word).collect();
    let mut words = Words { left: &all };
    let mut lines = Lines { text: Texts(&[]), all: &all, lines: Vec::new() };
    if lines.descriptor(&mut words, bytes).is_none() {
        lines.add(0, "damaged".to_owned());
    }
    lines.lines.join("\n")
}

fn word(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte))
}

struct Lines<'a> {
    text: Texts<'a>,
    all: &'a [u32],
    lines: Vec<String>,
}

impl<'a> Lines<'a> {
    fn add(&mut self, depth: usize, line: String) {
        self.lines.push(format!("{}{}", "  ".repeat(depth), line.trim_end()));
    }

    /// Decodes and adds a record.
    fn part<P: Part>(&mut self, depth: usize, name: &str, words: &mut Words<'_>) -> Option<P> {
        let part = P::decode(words)?;
        self.add(depth, format!("{name} {}", part.show(&self.text)));
        Some(part)
    }

    /// The words at an offset in bytes.
    fn at(&self, offset: u32) -> Option<Words<'a>> {
        Some(Words { left: self.all.get(offset as usize / 4..)? })
    }

    fn descriptor(&mut self, words: &mut Words<'_>, bytes: &'a [u8]) -> Option<()> {
        let header = Header::decode(&mut words.clone())?;
        self.text = Texts(bytes.get(header.texts as usize..)?);
        self.part::<Header>(0, "header", words)?;
        self.steps(0, words)?;
        let mut next = header.outputs;
        while next != 0 {
            next = self.outputs(&mut self.at(next)?)?;
        }
        let mut next = header.received;
        while next != 0 {
            next = self.received(&mut self.at(next)?)?;
        }
        let mut next = header.site;
        while next != 0 {
            next = self.site(next)?;
        }
        Some(())
    }

    fn steps(&mut self, depth: usize, words: &mut Words<'_>) -> Option<()> {
        loop {
            let op = Op::decode(words)?;
            let (text, tails) = op.take(words, &self.text)?;
            if op == Op::End {
                return Some(());
            }
            self.add(depth, format!("{op:?} {text}"));
            for &tail in tails {
                self.tail(depth + 1, tail, words)?;
            }
        }
    }

    fn tail(&mut self, depth: usize, tail: Tail, words: &mut Words<'_>) -> Option<()> {
        match tail {
            Tail::Numbers => self.add(depth, numbers(words)?),
            Tail::Literals => {
                for _ in 0..words.take()? {
                    let line = Literal::decode(words)?.show_value(&self.text);
                    self.add(depth, line);
                }
            }
            Tail::Steps => {
                words.take()?;
                self.steps(depth, words)?;
            }
            Tail::Alternatives => {
                for _ in 0..words.take()? {
                    let slot = words.take()?;
                    self.add(depth, format!("type slot {slot}"));
                    self.tail(depth + 1, Tail::Steps, words)?;
                }
            }
            Tail::Expression => {
                let line = format!("= {}", expression(words, &self.text)?);
                self.add(depth, line);
            }
            Tail::Rule => {
                let rule = self.part::<RuleCode>(depth, "rule", words)?;
                for _ in 0..rule.expressions() {
                    self.tail(depth + 1, Tail::Expression, words)?;
                }
            }
            Tail::Leaves => {
                let line = leaves(words, &self.text)?;
                self.add(depth, line);
            }
        }
        Some(())
    }

    fn received(&mut self, words: &mut Words<'_>) -> Option<u32> {
        let received = self.part::<Received>(0, "received", words)?;
        for _ in 0..received.known {
            let line = format!("known symbol {}", words.take()?);
            self.add(1, line);
        }
        self.steps(1, words)?;
        Some(received.next)
    }

    fn outputs(&mut self, words: &mut Words<'_>) -> Option<u32> {
        let Outputs { next, count } = Outputs::decode(words)?;
        (0..count).try_for_each(|_| self.part::<Output>(0, "output", words).map(drop))?;
        Some(next)
    }

    /// Yields where the next one is.
    fn site(&mut self, offset: u32) -> Option<u32> {
        let mut words = self.at(offset)?;
        let site = Site::decode(&mut words.clone())?;
        let complaint = Complaint::ALL.get(site.complaint as usize)?;
        self.part::<Site>(0, &format!("site {complaint:?}"), &mut words)?;
        (0..site.cases).try_for_each(|_| self.part::<Case>(1, "case", &mut words).map(drop))?;
        Some(site.next)
    }
}

impl Literal {
    fn show_value(self, text: &Texts<'_>) -> String {
        match self.code {
            LiteralCode::Int => format!("literal {}", self.bits as i64),
            LiteralCode::Text => {
                let span = Span { offset: self.bits as u32, length: (self.bits >> 32) as u32 };
                format!("literal {}", Text(span).show(text))
            }
        }
    }
}

/// `numbers 0x12002`
fn numbers(words: &mut Words<'_>) -> Option<String> {
    let count = words.take()?;
    let all: Option<Vec<String>> =
        (0..count).map(|_| Some(format!("{:#x}", words.take()?))).collect();
    Some(format!("numbers {}", all?.join(", ")))
}

/// `Slot slot 1; Const bits 0x2; Mul`
fn expression(words: &mut Words<'_>, text: &Texts<'_>) -> Option<String> {
    let mut all = Vec::new();
    loop {
        let code = Rpn::decode(words)?;
        let (record, tails) = code.take(words, text)?;
        if code == Rpn::End {
            return Some(all.join("; "));
        }
        let mut line = format!("{code:?} {record}").trim_end().to_owned();
        if !tails.is_empty() {
            line += &format!(" ({})", leaves(words, text)?);
        }
        all.push(line);
    }
}

/// `leaves "n" Int = Slot slot 1`
fn leaves(words: &mut Words<'_>, text: &Texts<'_>) -> Option<String> {
    words.take()?;
    let count = words.take()?;
    let entry = |_| {
        let (name, kind) = (Text::decode(words)?, LeafKind::decode(words)?);
        Some(format!("{} {kind:?} = {}", name.show(text), expression(words, text)?))
    };
    let entries: Option<Vec<String>> = (0..count).map(entry).collect();
    Some(format!("leaves {}", entries?.join(", ")))
}

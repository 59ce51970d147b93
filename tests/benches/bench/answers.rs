//! Answers of all peers to all calls, from child processes, because peers without checks may crash.

use std::time::Duration;

use tvm_ffi_codegen_tests::ffi::{self, Ffi};

use crate::cases::{Call, questions, timed};
use crate::children;
use crate::functions::{Answer, Arguments, Functions, JIT, answer};
use crate::peers::{Kind, Peer, Peers};
use crate::report::Section;
use crate::setup::Setup;

/// Name of the child.
pub(crate) const NAME: &str = "answers";

/// Verdicts on the answers, by peer and call. An empty text is a correct answer.
#[derive(Debug)]
pub(crate) struct Answers {
    pub(crate) calls: Vec<Call>,
    by_peer: Vec<(String, Vec<String>)>,
}

/// Text for a function that a peer lacks.
const ABSENT: &str = "—";

impl Answers {
    /// Asks all peers.
    ///
    /// # Panics
    /// If one of our peers answers wrongly, or another one whose checks must be identical to ours.
    pub(crate) fn new(peers: &Peers) -> Answers {
        let calls: Vec<Call> = timed().into_iter().chain(questions()).collect();
        let mut by_peer = vec![(JIT.to_owned(), ask("jit", calls.len()))];
        for peer in peers.all.iter().filter(|peer| peer.has_libraries()) {
            let folder = peer.folder.to_str().expect("the path is text");
            by_peer.push((peer.name.clone(), ask(folder, calls.len())));
        }
        for (name, answers) in &by_peer {
            let peer = peers.all.iter().find(|peer| peer.name == *name);
            let strict = peer.is_none_or(must_agree);
            for (call, answer) in calls.iter().zip(answers).filter(|_| strict) {
                assert!(answer.is_empty(), "{name}, {}: {answer}", call.name());
            }
        }
        Answers { calls, by_peer }
    }

    /// Returns the reason why a call of a peer cannot be timed; None if the answer is correct.
    pub(crate) fn fault(&self, peer: &str, call: &str) -> Option<&str> {
        let (_, answers) = self.by_peer.iter().find(|(name, _)| name == peer)?;
        let index = self.calls.iter().position(|asked| asked.name() == call)?;
        Some(answers[index].as_str()).filter(|answer| !answer.is_empty())
    }

    /// Returns a table of wrong answers.
    pub(crate) fn section(&self, peers: &Peers) -> Section {
        let mut text = String::from("| call | should | ");
        self.by_peer.iter().for_each(|(name, _)| text.push_str(&format!("{name} | ")));
        text.push_str(&format!("\n|---|---|{}\n", "---|".repeat(self.by_peer.len())));
        for (index, call) in self.calls.iter().enumerate() {
            let should = if call.fails { "fail" } else { "succeed" };
            text.push_str(&format!("| {} | {should} | ", call.name()));
            for (_, answers) in &self.by_peer {
                let answer = if answers[index].is_empty() { "yes" } else { &answers[index] };
                text.push_str(&format!("{answer} | "));
            }
            text.push('\n');
        }
        let mut notes = vec![
            "Every peer is asked in a process of its own. `yes`: it succeeds or fails as our \
             declarations demand, and hands the kernel what it should get. Calls that a peer answers \
             otherwise are not timed. Ours and the functions in C must answer all as they should, or there \
             is no report."
                .to_owned(),
            text,
        ];
        notes.extend(peers.all.iter().filter_map(claims));
        Section { title: "What is checked".to_owned(), notes, tables: Vec::new() }
    }
}

/// Returns the checks that a peer states it omits: a line per text, with its cases.
fn claims(peer: &Peer) -> Option<String> {
    let mut lines: Vec<(&str, Vec<&str>)> = Vec::new();
    for (case, text) in peer.unchecked.as_object()? {
        let text = text.as_str().unwrap_or_default();
        match lines.iter_mut().find(|(known, _)| *known == text) {
            Some((_, cases)) => cases.push(case),
            None => lines.push((text, vec![case])),
        }
    }
    let line = |(text, cases): (&str, Vec<&str>)| {
        format!("* {} says of {}: {text}", peer.name, cases.join(", "))
    };
    Some(lines.into_iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// Returns true for our peers and hand-written C, whose checks must be identical.
fn must_agree(peer: &Peer) -> bool {
    match peer.kind {
        Kind::Ours(_) => true,
        Kind::Compiler => peer.name.starts_with("C,"),
        Kind::System => false,
    }
}

/// Asks a peer in children; after a crash another child continues with the next call.
fn ask(folder: &str, count: usize) -> Vec<String> {
    let mut answers = Vec::new();
    while answers.len() < count {
        let from = answers.len().to_string();
        let ended = children::run(&[NAME, folder, &from], Duration::from_secs(60));
        answers.extend(ended.output.lines().map(str::to_owned));
        if answers.len() < count {
            let why = ended.reason();
            let first_error = ended.errors.lines().next().unwrap_or_default();
            eprintln!("bench: {folder}, call {}: {why} {first_error}", answers.len());
            answers.push(why);
        }
    }
    answers
}

/// Runs the child: prints a line per answer.
pub(crate) fn child(setup: &Setup, arguments: &[String]) {
    let [folder, from] = arguments else { panic!("{arguments:?}") };
    let ffi = Ffi::new(ffi::installed());
    let kernels = Peers::built(setup);
    let jit = Functions::jit(&kernels, &ffi);
    let loaded = (folder != "jit").then(|| {
        let peer = Peer::of_folder(folder.into());
        Functions::load(&peer, &ffi).unwrap_or_else(|error| panic!("{error}"))
    });
    let functions = loaded.as_ref().unwrap_or(&jit);
    let calls: Vec<Call> = timed().into_iter().chain(questions()).collect();
    let arguments = Arguments::new(&calls, &ffi);
    let from = from.parse().expect("a number");
    for (index, call) in calls.iter().enumerate().skip(from) {
        let Some(function) = functions.by_case.get(call.case) else {
            println!("{ABSENT}");
            continue;
        };
        let reference = answer(jit.by_case[call.case], arguments.of(index), &ffi);
        println!("{}", judge(call, &answer(*function, arguments.of(index), &ffi), &reference));
    }
}

/// Judges an answer; empty if it is correct.
fn judge(call: &Call, answer: &Answer, reference: &Answer) -> String {
    match (call.fails, answer) {
        (false, Answer::Result(None)) | (true, Answer::Raises(_)) => String::new(),
        (false, Answer::Result(_)) if answer == reference => String::new(),
        (false, Answer::Result(_)) => "other arguments for the kernel".to_owned(),
        (true, Answer::Result(_)) => "accepts".to_owned(),
        (false, Answer::Raises(kind)) => format!("refuses: {kind}"),
        (_, Answer::Broken(how)) => how.clone(),
    }
}

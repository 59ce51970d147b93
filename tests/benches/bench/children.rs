//! Child processes of this program, for work that may crash or hang, or whose memory is measured.

use std::io::Read;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// First argument of a child.
pub(crate) const CHILD: &str = "--child";

/// Exit status and output of a child.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Exit status; None if the child exceeded the limit.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) output: String,
    pub(crate) errors: String,
}

impl Ended {
    /// Describes an unsuccessful end.
    pub(crate) fn reason(&self) -> String {
        use std::os::unix::process::ExitStatusExt;
        match self.status.map(|status| (status.signal(), status)) {
            None => "takes too long".to_owned(),
            Some((Some(signal), _)) => format!("crash (signal {signal})"),
            Some((None, status)) => status.to_string(),
        }
    }

    pub(crate) fn is_success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

/// Runs a child with these arguments; kills it after the limit.
pub(crate) fn run(arguments: &[&str], limit: Duration) -> Ended {
    let program = std::env::current_exe().expect("the program has a path");
    let mut command = Command::new(program);
    command.arg(CHILD).args(arguments);
    run_command(&mut command, limit)
}

/// Runs any program with a time limit.
pub(crate) fn run_command(command: &mut Command, limit: Duration) -> Ended {
    let start = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut output = child.stdout.take().expect("it is piped");
    let mut errors = child.stderr.take().expect("it is piped");
    let output = std::thread::spawn(move || read(&mut output));
    let errors = std::thread::spawn(move || read(&mut errors));
    let status = loop {
        let status = child.try_wait().expect("it is a child");
        if status.is_some() || start.elapsed() > limit {
            break status;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    if status.is_none() {
        child.kill().and_then(|()| child.wait()).expect("it is a child");
    }
    let text = |reader: std::thread::JoinHandle<String>| reader.join().unwrap_or_default();
    Ended { status, output: text(output), errors: text(errors) }
}

fn read(from: &mut dyn Read) -> String {
    let mut bytes = Vec::new();
    // After an error the bytes so far count.
    let _ = from.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

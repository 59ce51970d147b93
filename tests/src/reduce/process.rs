//! The command, run with a file.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use tempfile::TempDir;

/// Failure that a reduction keeps.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Status with which the command ends.
    pub status: ExitStatus,
    /// Part of what it prints.
    pub says: Option<String>,
}

/// A command, and the file that it is run with.
#[derive(Debug)]
pub struct Process {
    command: Vec<String>,
    seconds: u64,
    folder: TempDir,
    name: OsString,
}

/// Statuses of `timeout` for a command that it has ended, that it cannot run, and that it does not find.
const ENDED: i32 = 124;
const UNUSABLE: i32 = 126;
const MISSING: i32 = 127;

impl Process {
    /// Prepares runs of a command that end after some seconds. The file of a candidate has the name of `file`, in a
    /// folder of its own; it stands for `{}` in the command, or is its last argument.
    ///
    /// # Errors
    /// If no folder can be made.
    pub fn new(command: &[String], file: &Path, seconds: u64) -> Result<Process, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let name = file.file_name().unwrap_or_default().to_owned();
        let mut command = command.to_vec();
        if !command.iter().any(|word| word.contains("{}")) {
            command.push("{}".to_owned());
        }
        Ok(Process { command, seconds, folder, name })
    }

    /// Runs the command and returns its failure.
    ///
    /// # Errors
    /// If the command cannot be run, succeeds, does not end, or does not say `says`.
    pub fn failure(&self, text: &str, says: Option<String>) -> Result<Failure, String> {
        let (status, output) = self.run(text)?;
        if status.success() {
            return Err("the command succeeds".to_owned());
        }
        match status.code() {
            Some(ENDED) => return Err(format!("the command takes over {} seconds", self.seconds)),
            Some(UNUSABLE | MISSING) => return Err(output.trim().to_owned()),
            Some(_) | None => {}
        }
        let failure = Failure { status, says };
        if failure.is(status, &output) {
            return Ok(failure);
        }
        Err(format!("the command does not say {:?}:\n{output}", failure.says.unwrap_or_default()))
    }

    /// Returns true if the command fails in this way.
    ///
    /// # Errors
    /// If it cannot be run.
    pub fn fails(&self, text: &str, failure: &Failure) -> Result<bool, String> {
        self.run(text).map(|(status, output)| failure.is(status, &output))
    }

    /// Runs the command; returns how it ended and what it printed.
    fn run(&self, text: &str) -> Result<(ExitStatus, String), String> {
        let path = self.folder.path().join(&self.name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        let path = path.display().to_string();
        let words = self.command.iter().map(|word| word.replace("{}", &path));
        let mut command = Command::new("timeout");
        command.arg("--kill-after=1").arg(self.seconds.to_string()).args(words);
        command.stdin(Stdio::null());
        let output = command.output().map_err(|error| format!("timeout: {error}"))?;
        let printed = [output.stdout, output.stderr].concat();
        Ok((output.status, String::from_utf8_lossy(&printed).into_owned()))
    }
}

impl Failure {
    fn is(&self, status: ExitStatus, output: &str) -> bool {
        status == self.status && self.says.as_ref().is_none_or(|text| output.contains(text))
    }
}

//! Peers whose compilers run from Python.
//!
//! `peers/NAME.py OUT` writes `OUT/<case>.so` for the cases that the system can express, `OUT/needs`, `OUT/times.json`
//! and `OUT/unchecked.json`; with status 3 a line on standard error gives the reason why there is nothing.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::{Kind, Peer, Peers};
use crate::setup::Setup;

/// Names of scripts and of their peers.
const SYSTEMS: [[&str; 2]; 3] =
    [["tvm", "Apache TVM"], ["cutedsl", "CuTe DSL"], ["orcjit", "tvm-ffi-orcjit"]];

/// Returns the interpreter of a script's environment.
pub(crate) fn environment(setup: &Setup, name: &str) -> Option<PathBuf> {
    let python = setup.folder.join(format!("venv-{name}/bin/python"));
    Some(python).filter(|path| path.exists())
}

/// Runs every script whose environment exists.
pub(super) fn systems(setup: &Setup, peers: &mut Peers) {
    if setup.short {
        peers.left_out.push("other systems: not in short mode".to_owned());
        return;
    }
    for [script, name] in SYSTEMS {
        match system(setup, script, name) {
            Ok(peer) => peers.all.push(peer),
            Err(why) => peers.left_out.push(format!("{name}: {why}")),
        }
    }
}

fn system(setup: &Setup, script: &str, name: &str) -> Result<Peer, String> {
    let path = setup.sources.join(format!("{script}.py"));
    if !path.exists() {
        return Err(format!("there is no peers/{script}.py"));
    }
    let python = environment(setup, script).ok_or("its environment could not be made")?;
    let folder = setup.folder.join("peers").join(script);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let output = Command::new(python).arg(path).arg(&folder).output();
    let output = output.map_err(|error| error.to_string())?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        let last = message.lines().last().unwrap_or_default();
        return Err(format!("{} ({})", last, output.status));
    }
    let read = |file: &str| {
        let text = std::fs::read_to_string(folder.join(file)).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or(Value::Null)
    };
    let (times, unchecked) = (read("times.json"), read("unchecked.json"));
    Ok(Peer { name: name.to_owned(), kind: Kind::System, folder, times, unchecked })
}

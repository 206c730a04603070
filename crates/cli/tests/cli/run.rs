//! Runs the command in a directory of its own.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

/// A report of `frostline sim` without the command line, which differs between equal runs.
pub(crate) fn without_command(report: &str) -> Value {
    let mut report: Value = serde_json::from_str(report).unwrap();
    report.as_object_mut().unwrap().remove("command").expect("reports have the command line");
    report
}

/// A directory for each test, removed at its end. The command runs in it, so that messages name
/// files like the test does.
pub(crate) struct Scratch(tempfile::TempDir);

/// Files, by their paths in a directory, of which other directories are made.
pub(crate) struct Kept(Vec<(PathBuf, Vec<u8>)>);

/// The output of a run of the command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Scratch {
    pub(crate) fn new() -> Scratch {
        Scratch(tempfile::tempdir().unwrap())
    }

    /// A directory with files that were kept.
    pub(crate) fn of(kept: &Kept) -> Scratch {
        let scratch = Scratch::new();
        for (path, content) in &kept.0 {
            let path = scratch.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        scratch
    }

    /// All files of the directory.
    pub(crate) fn keep(self) -> Kept {
        let (mut kept, mut directories) = (Vec::new(), vec![self.0.path().to_path_buf()]);
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    directories.push(path);
                } else {
                    let content = fs::read(&path).unwrap();
                    kept.push((path.strip_prefix(self.0.path()).unwrap().to_path_buf(), content));
                }
            }
        }
        Kept(kept)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    /// A file of page numbers.
    pub(crate) fn pages(&self, name: &str, lbas: impl IntoIterator<Item = u32>) {
        let bytes: Vec<u8> = lbas.into_iter().flat_map(u32::to_le_bytes).collect();
        self.file(name, bytes);
    }

    /// The names of all files, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let name = |e: std::io::Result<std::fs::DirEntry>| e.unwrap().file_name();
        let mut names: Vec<_> = entries.map(|e| name(e).into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_frostline"));
        command.args(args).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    /// Runs the command with the words of a line as arguments.
    pub(crate) fn run(&self, line: &str) -> Ran {
        let output = self.command(line.split_whitespace()).output().unwrap();
        Ran {
            status: output.status.code().expect("the command was not killed"),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs a line that must succeed without messages; returns its standard output.
    pub(crate) fn quiet(&self, line: &str) -> String {
        let ran = self.run(line);
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{line}");
        ran.out
    }

    /// Runs a line that must succeed without messages; returns the JSON on its standard output.
    pub(crate) fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.quiet(line)).unwrap()
    }

    /// Runs a line that must fail with this status and an empty standard output; returns its
    /// message.
    pub(crate) fn fails(&self, status: i32, line: &str) -> String {
        let ran = self.run(line);
        assert_eq!((ran.status, ran.out.as_str()), (status, ""), "{line}: {}", ran.err);
        ran.err
    }

    /// Runs command lines; returns each with its output, and its exit status if that is not 0.
    pub(crate) fn transcript<L: AsRef<str>>(&self, lines: impl IntoIterator<Item = L>) -> String {
        let mut text = String::new();
        for line in lines {
            let Ran { status, out, err } = self.run(line.as_ref());
            text += &format!("$ frostline {}\n{out}{err}", line.as_ref());
            text += &(if status == 0 { "\n".to_string() } else { format!("exit {status}\n\n") });
        }
        text
    }
}

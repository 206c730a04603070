//! Runs the system's `sqlite3` with the extension that belongs to this test.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use frostline_store::{Stats, Store, StoreInfo};
use frostline_zone::OpenOptions;
use tempfile::TempDir;

/// The extension, without the end of its name: it is built beside the tests.
fn extension() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    tests.with_file_name("libfrostline_sqlite")
}

fn load() -> String {
    format!(".load {}\n", extension().display())
}

fn command() -> Command {
    let mut command = Command::new("sqlite3");
    command.args(["-batch", "-init", "/dev/null"]);
    command
}

/// True if there is a `sqlite3` that loads extensions.
pub(crate) fn is_there() -> bool {
    let options = command().args([":memory:", "pragma compile_options"]).output();
    options.is_ok_and(|out| {
        let options = String::from_utf8_lossy(&out.stdout).into_owned();
        out.status.success() && !options.contains("OMIT_LOAD_EXTENSION")
    })
}

/// The name of a database in a store of 1 GiB.
pub(crate) fn uri(directory: &TempDir, name: &str) -> String {
    uri_of_size(directory, name, "1GiB")
}

pub(crate) fn uri_of_size(directory: &TempDir, name: &str, size: &str) -> String {
    let store = directory.path().join("store");
    format!("file:{name}?vfs=frostline&store={}&size={size}", store.display())
}

/// What the store holds, and what was written to it; no process has it open.
pub(crate) fn inspect(directory: &TempDir) -> (StoreInfo, Stats) {
    let store = format!("file:{}", directory.path().join("store").display());
    let device = frostline_zone::open(&store, &OpenOptions::default()).unwrap();
    let mut store = Store::inspect(device).unwrap();
    assert_eq!(store.check().unwrap().findings, []);
    (store.info().unwrap(), store.stats().unwrap())
}

/// What a shell prints, on its output and as errors.
pub(crate) fn run_all(db: &str, lines: &str) -> (String, String) {
    let mut child = command()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    write!(stdin, ".log stderr\n{}.open '{db}'\n{lines}\n", load()).unwrap();
    drop(stdin);
    let out = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(out.stdout), text(out.stderr))
}

/// The text that a shell on a terminal prints when a database is opened; `None` without a program
/// that gives one.
pub(crate) fn on_a_terminal(db: &str) -> Option<String> {
    let shell = "sqlite3 -batch -init /dev/null";
    let mut script = Command::new("script");
    let script = script.args(["-qec", shell, "/dev/null"]).stdin(Stdio::piped());
    let mut child = script.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let mut stdin = child.stdin.take().unwrap();
    write!(stdin, "{}.open '{db}'\n.quit\n", load()).unwrap();
    let out = child.wait_with_output().unwrap();
    drop(stdin);
    Some(String::from_utf8(out.stdout).unwrap())
}

/// What a shell prints on its output.
pub(crate) fn run(db: &str, lines: &str) -> String {
    run_all(db, lines).0
}

/// A shell that stays.
pub(crate) struct Shell {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    questions: u64,
}

impl Shell {
    /// With a database open.
    pub(crate) fn start(db: &str) -> Shell {
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec sqlite3 -batch -init /dev/null 2>&1"]);
        let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut shell = Shell { child, stdin, stdout, questions: 0 };
        shell.tell(&format!("{}.open '{db}'", load()));
        shell
    }

    /// Sends lines, and does not wait for what they print.
    pub(crate) fn tell(&mut self, lines: &str) {
        writeln!(self.stdin, "{lines}").unwrap();
        self.stdin.flush().unwrap();
    }

    /// Sends a line; returns all that is printed until it is done.
    pub(crate) fn ask(&mut self, line: &str) -> String {
        self.questions += 1;
        let end = format!("answer {} ends", self.questions);
        self.tell(&format!("{line}\n.print {end}"));
        let mut answer = String::new();
        loop {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "it ended: {answer}");
            if line.trim_end() == end {
                return answer.trim_end().to_string();
            }
            answer += &line;
        }
    }

    /// Ends it as a user does.
    pub(crate) fn quit(mut self) {
        self.tell(".quit");
        // Its status is that of the last statement that failed; a crash has none.
        assert!(self.child.wait().unwrap().code().is_some());
    }
}

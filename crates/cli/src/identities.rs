//! The identities of a sweep's files, by their content, and of the program that reads them.

use std::path::PathBuf;
use std::thread::{self, JoinHandle};

use frostline_papers::identify;
use frostline_results::{InputFile, SimReport, TraceReport};

use crate::args::SimArgs;
use crate::cause::paper_failure;
use crate::failure::Failure;

/// The commit of this program; empty if it is not known.
pub(crate) const COMMIT: &str = env!("FROSTLINE_COMMIT");

/// The digest of a file. A pipe has none.
type Digest = frostline_papers::Result<Option<InputFile>>;

/// The digest of a file, in the making.
enum Looked {
    /// A thread computes it.
    ByThread(JoinHandle<Digest>),
    /// It is there: the system gave no thread.
    Done(Digest),
}

/// Digests that are computed while the traces are read.
pub(crate) struct Looking {
    traces: Vec<Looked>,
    preload: Option<Looked>,
    model: Option<Looked>,
}

/// The identities of a sweep's files, by their content.
pub(crate) struct Identities {
    /// The preload.
    pub preload: Option<InputFile>,
    /// The model of frozen pages.
    pub model: Option<InputFile>,
    /// The digest of each trace; `None` for a pipe.
    pub traces: Vec<Option<String>>,
}

impl Identities {
    /// Starts to compute the digests.
    pub(crate) fn look(args: &SimArgs) -> Looking {
        let look = |path: &PathBuf| {
            let of_thread = path.clone();
            match thread::Builder::new().spawn(move || identify(&of_thread)) {
                Ok(thread) => Looked::ByThread(thread),
                Err(_) => Looked::Done(identify(path)),
            }
        };
        Looking {
            traces: args.traces.iter().map(look).collect(),
            preload: args.preload.as_ref().map(look),
            model: args.model.as_ref().map(look),
        }
    }

    /// Adds program and files to the report of their runs.
    pub(crate) fn sign(&self, report: &mut SimReport) {
        report.commit = Some(COMMIT.to_string()).filter(|commit| !commit.is_empty());
        let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
        report.command = ["frostline".to_string()].into_iter().chain(words.skip(1)).collect();
        report.setup.preload = self.preload.clone();
        report.setup.model = self.model.clone();
    }
}

impl Looking {
    /// Waits for the digests; also puts those of the traces into their reports.
    pub(crate) fn wait(self, traces: &mut [TraceReport]) -> Result<Identities, Failure> {
        let mut digests = Vec::new();
        for (looked, trace) in self.traces.into_iter().zip(traces) {
            let file = join(looked)?;
            trace.bytes = file.as_ref().map_or(0, |file| file.bytes);
            trace.sha256 = file.map(|file| file.sha256);
            digests.push(trace.sha256.clone());
        }
        let preload = self.preload.map(join).transpose()?.flatten();
        let model = self.model.map(join).transpose()?.flatten();
        Ok(Identities { preload, model, traces: digests })
    }
}

fn join(looked: Looked) -> Result<Option<InputFile>, Failure> {
    let digest = match looked {
        Looked::ByThread(thread) => {
            thread.join().map_err(|_| Failure::job("sim", "a thread panicked"))?
        }
        Looked::Done(digest) => digest,
    };
    digest.map_err(|error| paper_failure("sim", error))
}

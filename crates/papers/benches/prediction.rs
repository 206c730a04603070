//! The latency of writes with PHFTL's predictions, by request size (Sun et al., DAC 2023, figure
//! 6).
//!
//! `cargo bench -p frostline-papers --bench prediction -- [REQUESTS]`
//!
//! A request's bytes go to a drive as slow as a ZN540, with pages of 16 KiB and within 16 MiB, as
//! in the paper. A write is done once its bytes are on the drive. It is predicted before that (in
//! sequence), or meanwhile by a thread that has a core of its own; its predictions are only needed
//! when pages go to flash. Both ways give the same predictions, which is checked. The network has
//! been trained, and does not learn during the measurement. Two cores must be free.

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use frostline_learn::{Instructions, PageClassifier};
use frostline_placement::{Classified, Classifier, ClassifierSetup, Request, UserWrite};
use frostline_random::SplitMix;
use frostline_zone::{Clock, Device, Drive, Shape, Timed, in_memory};

const PAGE_BYTES: usize = 16 << 10;
/// Pages of the space: 16 MiB.
const SPACE: u32 = 1024;
/// Long enough that all requests fall into the half of a window without training.
const WINDOW: u32 = 1 << 18;
/// The most requests that wait for their predictions.
const WAITING: usize = 64;
const ZONE: u64 = 64 << 20;

/// A classifier, and the states of its pages.
struct Predictions {
    classifier: PageClassifier,
    pages: Vec<Classified>,
    written: Vec<bool>,
    now: u32,
}

impl Predictions {
    /// A classifier after two and a half windows.
    fn trained(chance: &mut SplitMix) -> Self {
        let setup = ClassifierSetup {
            space: SPACE,
            window: WINDOW,
            full_history: true,
            adaptive: true,
            seed: 1,
        };
        let mut predictions = Predictions {
            classifier: PageClassifier::new(&setup, Instructions::fastest()),
            pages: vec![Classified::default(); SPACE as usize],
            written: vec![false; SPACE as usize],
            now: 0,
        };
        while predictions.now < WINDOW * 8 / 3 {
            predictions.of(&request(chance, 1));
        }
        predictions
    }

    /// The number of pages of a request that are predicted to be short-living.
    fn of(&mut self, request: &Request) -> u32 {
        self.classifier.on_request(request);
        let mut short = 0;
        for lba in request.lba..request.lba + request.pages {
            self.now += 1;
            let first = !std::mem::replace(&mut self.written[lba as usize], true);
            let write = UserWrite { first, zone: 1, ..UserWrite::first(lba, self.now) };
            let page = &mut self.pages[lba as usize];
            short += u32::from(self.classifier.is_short_living(&write, page));
        }
        short
    }
}

/// Half of the requests go to a sixteenth of the space.
fn request(chance: &mut SplitMix, pages: u32) -> Request {
    let places = SPACE >> (4 * chance.below(2));
    Request { lba: chance.below(places - pages + 1), pages, now: 0, valid: u64::from(SPACE) }
}

/// Writes requests of a size one after the other; calls `predict` with each before its bytes are
/// written.
fn write(
    pages: u32,
    requests: usize,
    chance: &mut SplitMix,
    mut predict: impl FnMut(Request),
) -> Vec<Duration> {
    let shape = Shape { bytes: ZONE, zone_bytes: Some(ZONE), ..Shape::default() };
    let memory = in_memory(&shape).expect("memory");
    let device = Timed::new(Arc::clone(&memory), Drive::ZN540, Clock::Exact);
    let bytes = vec![0x5a; pages as usize * PAGE_BYTES];
    let mut at = 0;
    let mut latencies = Vec::with_capacity(requests);
    for _ in 0..requests {
        let request = request(chance, pages);
        if at + bytes.len() as u64 > device.geometry().zone_capacity {
            memory.reset(0).expect("a zone");
            at = 0;
        }
        let began = Instant::now();
        predict(request);
        device.append(0, at, &bytes).expect("room");
        latencies.push(began.elapsed());
        at += bytes.len() as u64;
    }
    latencies
}

/// Predicts requests until the sender is gone; returns the number of short-living pages.
fn predict_all(requests: &Receiver<Request>, predictions: &mut Predictions) -> u32 {
    let mut short = 0;
    loop {
        match requests.try_recv() {
            Ok(request) => short += predictions.of(&request),
            Err(TryRecvError::Empty) => spin_loop(),
            Err(TryRecvError::Disconnected) => return short,
        }
    }
}

/// Median and 95th percentile, in microseconds. Means would measure the operating system where
/// others share the machine.
fn quantiles(mut latencies: Vec<Duration>) -> String {
    latencies.sort_unstable();
    let [half, most] = [50, 95].map(|percent| latencies[(latencies.len() - 1) * percent / 100]);
    format!("{:.1} / {:.1}", half.as_secs_f64() * 1e6, most.as_secs_f64() * 1e6)
}

fn main() {
    let requests = std::env::args().skip(1).find(|arg| !arg.starts_with("--"));
    let requests = requests.map_or(2000, |n| n.parse().expect("REQUESTS is a number"));
    println!("latency of {requests} writes: median / 95th percentile, us");
    println!("| KiB | no prediction | in sequence | on another core |");
    println!("|--:|--:|--:|--:|");
    for pages in [1, 2, 4, 8, 16] {
        let none = write(pages, requests, &mut SplitMix::new(2), |_| ());

        let mut predictions = Predictions::trained(&mut SplitMix::new(1));
        let mut short = 0;
        let in_sequence = write(pages, requests, &mut SplitMix::new(2), |request| {
            short += predictions.of(&request);
        });

        let mut predictions = Predictions::trained(&mut SplitMix::new(1));
        let (send, receive) = sync_channel(WAITING);
        let (elsewhere, same) = thread::scope(|scope| {
            let worker = scope.spawn(move || predict_all(&receive, &mut predictions));
            let latencies = write(pages, requests, &mut SplitMix::new(2), |request| {
                send.send(request).expect("the other core listens");
            });
            drop(send);
            (latencies, worker.join().expect("no panic"))
        });
        assert_eq!(short, same, "both predict alike");
        let size = (pages as usize * PAGE_BYTES) >> 10;
        let [none, in_sequence, elsewhere] = [none, in_sequence, elsewhere].map(quantiles);
        println!("| {size} | {none} | {in_sequence} | {elsewhere} |");
    }
}

//! Views of a store as they come, and what was done lately.

use std::collections::VecDeque;

use frostline_store::{CallView, StoreView, Written};

/// Seconds that `lately` reaches back.
const LATELY: f64 = 2.0;

/// Points of the curve of WAF, one a second.
const CURVE: usize = 240;

/// The counters of a view.
struct Past {
    seconds: f64,
    written: Written,
    calls: Vec<CallView>,
}

/// Views of a store as they come.
#[derive(Default)]
pub struct History {
    now: Option<StoreView>,
    /// The views of the last seconds, the oldest in front.
    past: VecDeque<Past>,
    /// WAF lately, second by second.
    wafs: VecDeque<f64>,
}

/// The work of a store in the last seconds.
pub struct Lately {
    /// Its length, in seconds.
    pub seconds: f64,
    /// Pages written in it.
    pub written: Written,
    /// Calls in it.
    pub calls: Vec<CallView>,
}

impl History {
    /// Takes the next view. One of another store, or of the same opened anew, begins a new history.
    pub fn push(&mut self, view: StoreView) {
        let is_other = |now: &StoreView| now.store != view.store || now.seconds > view.seconds;
        if self.now.as_ref().is_some_and(is_other) {
            *self = History::default();
        }
        let before = self.now.as_ref().map_or(0.0, |now| now.seconds);
        let seconds = view.seconds;
        self.past.push_back(Past::of(&view));
        while self.past.len() > 2 && self.past[1].seconds <= seconds - LATELY {
            self.past.pop_front();
        }
        self.now = Some(view);
        if before.floor() < seconds.floor()
            && let Some(waf) = self.waf_lately()
        {
            self.wafs.push_back(waf);
            if self.wafs.len() > CURVE {
                self.wafs.pop_front();
            }
        }
    }

    /// The last view.
    pub fn now(&self) -> Option<&StoreView> {
        self.now.as_ref()
    }

    /// The work since the oldest of the last seconds' views, or since the store was opened if there
    /// is one view only.
    pub fn lately(&self) -> Option<Lately> {
        let now = self.now.as_ref()?;
        let Some(then) = self.past.front().filter(|then| then.seconds < now.seconds) else {
            let (seconds, written) = (now.seconds, now.since_opened());
            return Some(Lately { seconds, written, calls: now.calls.clone() });
        };
        let calls = now.calls.iter().zip(&then.calls).map(|(now, then)| now.since(then));
        Some(Lately {
            seconds: now.seconds - then.seconds,
            written: now.written.since(&then.written),
            calls: calls.collect(),
        })
    }

    /// WAF in the last seconds, if the user wrote anything in them.
    pub fn waf_lately(&self) -> Option<f64> {
        self.lately().filter(|lately| lately.written.user > 0).map(|lately| lately.written.waf())
    }

    /// WAF lately, second by second.
    pub fn wafs(&self) -> impl DoubleEndedIterator<Item = f64> {
        self.wafs.iter().copied()
    }
}

impl Past {
    fn of(view: &StoreView) -> Past {
        Past { seconds: view.seconds, written: view.written, calls: view.calls.clone() }
    }
}

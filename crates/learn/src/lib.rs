//! Recognition of frozen pages, after SepFrozen (Tan et al., "Separating Frozen Pages via
//! Learning-based Recognition with ZNS SSD for Write Amplification Reduction in Database").
//!
//! * [`FeatureLayout`] computes features, numbers from the knowledge of a page: an engine's hotness
//!   record, or the block layer's view.
//! * A [`Set`] holds samples: features of a page at some time, and whether the page was frozen
//!   then.
//!   A [`Reservoir`] keeps a set small. `frostline-sim` takes samples from traces.
//! * [`train()`] trains a [`Model`] on samples, one of several [`ModelKind`]s; [`Model::read`] and
//!   [`Model::write`] handle its file.
//! * [`Online`] learns while a store is cleaned; [`recogniser()`] finds it and others by name.
//! * A [`Scorer`] scores features: trained models do, and the rules [`OneBit`] and [`EveryPage`].
//!   [`Quality`] evaluates a scorer, and [`PageRecogniser`] uses it in a scheme.
//!
//! ```
//! use frostline_learn::{ModelKind, FeatureLayout, Origin, Quality, RecordSource, Sampling, Set, Standard, train};
//!
//! // Of the block layer's features: pages that were not written for long are frozen.
//! let layout = FeatureLayout::new(RecordSource::Block, 1)?;
//! let mut samples = Set::new(layout.width());
//! for i in 0..1000u32 {
//!     let age = (i * 7919 % 1000) as f32;
//!     samples.put(i as usize, age > 500.0, |put| {
//!         put(age);
//!         (1..layout.width()).for_each(|_| put(1.0));
//!     });
//! }
//! let origin = Origin {
//!     trace: "made up".to_string(),
//!     samples: samples.len(),
//!     frozen: samples.frozen_samples(),
//!     sampling: Sampling::default(),
//! };
//! let model = train(ModelKind::Logistic, layout, &samples, &Standard::of(&samples), origin)?;
//! let quality = Quality::of(&model.scorer(), model.threshold(), &samples);
//! assert!(quality.accuracy > 0.95);
//! # Ok::<(), frostline_learn::LearnError>(())
//! ```

mod adam;
mod classifier;
mod error;
mod feature;
mod features;
mod file;
mod forecast;
mod gru;
mod kind;
mod linear;
mod logistic;
mod model;
mod named;
mod newton;
mod online;
mod quality;
mod recogniser;
mod reservoir;
mod rules;
mod sampling;
mod scorer;
mod set;
mod sgd;
mod standard;
mod tiles;
mod train;

pub use classifier::{Instructions, PageClassifier};
pub use error::LearnError;
pub use feature::Feature;
pub use features::{EngineRecord, FeatureLayout, RecordSource};
pub use file::LARGEST_FILE;
pub use forecast::LifespanForecaster;
pub use gru::{Gru, Network};
pub use kind::ModelKind;
pub use linear::Linear;
pub use model::{Model, Origin, Trained};
pub use named::{classifier, forecaster, recogniser};
pub use online::Online;
pub use quality::{Quality, correlations};
pub use recogniser::PageRecogniser;
pub use reservoir::Reservoir;
pub use rules::{EveryPage, OneBit};
pub use sampling::{SampleSplit, Sampling};
pub use scorer::Scorer;
pub use set::Set;
pub use standard::Standard;
pub use tiles::{LANES, Tiles, tiled};
pub use train::{PENALTY, train};

//! Training, models and recognisers, as their users see them.

#[cfg(feature = "gru")]
mod gru;
mod model_file;
mod online;
mod recogniser;
mod scikit_learn;

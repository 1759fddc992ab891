//! Statistics of repeats.

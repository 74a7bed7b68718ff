//! A real terminal around a jailed command, which goes on when nobody looks at it.
mod scrollback;
pub use scrollback::{Place, Scrollback};

//! How much text costs an agent.

/// By the vocabulary `o200k`, because most vendors publish none. Others differ by some percent.
pub fn tokens(text: &str) -> usize {
    tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len()
}

/// The most that flower's own text in a first prompt may cost; the spec comes on top.
pub const MAX_PROMPT_TOKENS: usize = 1_200;
/// The most that flower's tools may cost in each session.
pub const MAX_TOOLS_TOKENS: usize = 1_500;

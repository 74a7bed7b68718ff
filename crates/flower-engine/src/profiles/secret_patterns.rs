//! Patterns of secrets whose values are not known.

/// The bytes that the rest of a secret is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// Letters, digits and `_ -`.
    Word,
    /// Also `. ~ + / =`: tokens of all kinds.
    Token,
    /// Letters and digits.
    Plain,
    /// The lines of a private key, also with escaped line ends (`\n`).
    Lines,
}

impl Class {
    pub(crate) const COUNT: usize = 4;

    /// How many bytes at the beginning belong to the class.
    pub(crate) fn length(self, bytes: &[u8]) -> usize {
        bytes.iter().position(|&byte| !self.has(byte)).unwrap_or(bytes.len())
    }

    fn has(self, byte: u8) -> bool {
        byte.is_ascii_alphanumeric()
            || match self {
                Class::Word => b"_-".contains(&byte),
                Class::Token => b"_-.~+/=".contains(&byte),
                Class::Plain => false,
                Class::Lines => b"+/=\r\n\\ ".contains(&byte),
            }
    }
}

pub(crate) struct SecretPattern {
    pub(crate) prefix: &'static str,
    pub(crate) class: Class,
    /// Fewer bytes of the class after the prefix are no secret.
    pub(crate) min_length: usize,
    /// The prefix is not masked.
    pub(crate) keep: bool,
    /// Only matches if no letter or digit precedes the prefix.
    pub(crate) word: bool,
}

const fn secret(prefix: &'static str, class: Class, min_length: usize) -> SecretPattern {
    SecretPattern { prefix, class, min_length, keep: false, word: true }
}

const fn after(prefix: &'static str, class: Class, min_length: usize) -> SecretPattern {
    SecretPattern { prefix, class, min_length, keep: true, word: false }
}

/// flower's own tokens look like plain hashes, so they are recognized by the text before them only.
pub(crate) const PATTERNS: &[SecretPattern] = &[
    secret("sk-ant-", Class::Word, 20),
    secret("sk-proj-", Class::Word, 20),
    secret("sk-or-", Class::Word, 20),
    secret("sk-", Class::Plain, 32),
    secret("sk_live_", Class::Plain, 16),
    secret("ghp_", Class::Plain, 30),
    secret("gho_", Class::Plain, 30),
    secret("ghs_", Class::Plain, 30),
    secret("ghu_", Class::Plain, 30),
    secret("ghr_", Class::Plain, 30),
    secret("github_pat_", Class::Word, 30),
    secret("glpat-", Class::Word, 20),
    secret("xoxb-", Class::Word, 20),
    secret("xoxp-", Class::Word, 20),
    secret("npm_", Class::Plain, 36),
    secret("hf_", Class::Plain, 30),
    secret("AKIA", Class::Plain, 16),
    secret("ASIA", Class::Plain, 16),
    secret("AIza", Class::Word, 35),
    secret("ya29.", Class::Word, 20),
    // `{"alg":`, `{"typ":` and `{"kid":` in base64: the beginning of a JSON Web Token.
    secret("eyJhbGciOi", Class::Token, 20),
    secret("eyJ0eXAiOi", Class::Token, 20),
    secret("eyJraWQiOi", Class::Token, 20),
    after("PRIVATE KEY-----", Class::Lines, 40),
    after("Bearer ", Class::Token, 20),
    after("bearer ", Class::Token, 20),
    after("FLOWER_TOKEN=", Class::Plain, 32),
    after("FLOWER_TOKEN\":\"", Class::Plain, 32),
    after("FLOWER_TOKEN\": \"", Class::Plain, 32),
];

/// Every string in a credentials file that may be a secret.
pub(crate) fn in_credentials(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    match serde_json::from_str(text) {
        Ok(value) => collect(&value, &mut found),
        Err(_) => {
            let words = text.split(|c: char| c.is_whitespace() || "\"'`=,;<>()[]{}".contains(c));
            found.extend(words.map(str::to_owned));
        }
    }
    found.retain(|value| may_be_secret(value));
    found
}

fn collect(value: &serde_json::Value, found: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) => found.push(text.clone()),
        serde_json::Value::Array(all) => all.iter().for_each(|value| collect(value, found)),
        serde_json::Value::Object(all) => all.values().for_each(|value| collect(value, found)),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {}
    }
}

/// Whether a string is long and neither an address, nor a date, nor words such as `user:inference`.
fn may_be_secret(value: &str) -> bool {
    let address = (value.starts_with("http://") || value.starts_with("https://")) && !value.contains('@');
    let date = value.len() <= 40 && value.bytes().all(|byte| byte.is_ascii_digit() || b"-:.+TZ ".contains(&byte));
    let words = value.bytes().all(|byte| byte.is_ascii_lowercase() || b" :._-/".contains(&byte));
    value.len() >= 16 && !(address || date || words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_taken_from_credentials_and_words_are_not() {
        let text = r#"{"claudeAiOauth":{"accessToken":"sk-ant-oat01-abcdefgh","refreshToken":"r3fr3sh-token-value",
            "expiresAt":1763270000000,"scopes":["user:inference","user:profile:read"],"subscriptionType":"max",
            "issuer":"https://auth.example.com/oauth","last_refresh":"2026-11-16T08:00:00.123456Z","short":"abc123"}}"#;
        assert_eq!(in_credentials(text), ["sk-ant-oat01-abcdefgh", "r3fr3sh-token-value"]);
        assert_eq!(in_credentials("token = \"Abcdefgh-12345678\"\n[broken"), ["Abcdefgh-12345678"]);
        assert_eq!(in_credentials("\"https://me:password1@example.com/\"").len(), 1);
    }
}

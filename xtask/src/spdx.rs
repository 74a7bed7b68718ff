//! Evaluates licence expressions of packages: SPDX, and the older form `MIT/Apache-2.0`.

/// Whether the expression can be satisfied with licences that `allowed` accepts. A licence with an
/// exception is passed as one name: `Apache-2.0 WITH LLVM-exception`.
pub(crate) fn is_satisfiable(expression: &str, allowed: impl Fn(&str) -> bool) -> Result<bool, String> {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        // In the older form a slash is a choice.
        .replace('/', " OR ");
    let mut parser = Parser { tokens: spaced.split_whitespace().collect(), position: 0, allowed: &allowed };
    let satisfiable = parser.any_of()?;
    match parser.peek() {
        None => Ok(satisfiable),
        Some(token) => Err(format!("unexpected `{token}`")),
    }
}

/// Precedence as in SPDX: WITH before AND before OR.
struct Parser<'a> {
    tokens: Vec<&'a str>,
    position: usize,
    allowed: &'a dyn Fn(&str) -> bool,
}

impl<'a> Parser<'a> {
    fn any_of(&mut self) -> Result<bool, String> {
        let mut satisfiable = self.all_of()?;
        while self.take_if("OR") {
            // Both sides are parsed even if the first decides.
            satisfiable |= self.all_of()?;
        }
        Ok(satisfiable)
    }

    fn all_of(&mut self) -> Result<bool, String> {
        let mut satisfiable = self.licence()?;
        while self.take_if("AND") {
            satisfiable &= self.licence()?;
        }
        Ok(satisfiable)
    }

    fn licence(&mut self) -> Result<bool, String> {
        if self.take_if("(") {
            let satisfiable = self.any_of()?;
            if !self.take_if(")") {
                return Err("a `(` is never closed".into());
            }
            return Ok(satisfiable);
        }
        let licence = self.name()?;
        if self.take_if("WITH") {
            let exception = self.name()?;
            return Ok((self.allowed)(&format!("{licence} WITH {exception}")));
        }
        Ok((self.allowed)(licence))
    }

    fn name(&mut self) -> Result<&'a str, String> {
        let token = self.peek().ok_or("a licence is missing at the end")?;
        if matches!(token, "(" | ")" | "AND" | "OR" | "WITH") {
            return Err(format!("`{token}` is in the place of a licence"));
        }
        self.position += 1;
        Ok(token)
    }

    fn take_if(&mut self, token: &str) -> bool {
        let found = self.peek() == Some(token);
        self.position += usize::from(found);
        found
    }

    fn peek(&self) -> Option<&'a str> {
        self.tokens.get(self.position).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(expression: &str) -> Result<bool, String> {
        let allowed = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"];
        is_satisfiable(expression, |licence| allowed.contains(&licence))
    }

    #[test]
    fn expressions_are_judged() {
        for (expression, expected) in [
            ("MIT", true),
            ("GPL-3.0-only", false),
            ("MIT OR GPL-3.0-only", true),
            ("GPL-3.0-only OR MIT", true),
            ("MIT AND GPL-3.0-only", false),
            ("MIT AND Apache-2.0", true),
            ("MIT/Apache-2.0", true),
            ("GPL-3.0-only / MIT", true),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("MIT WITH LLVM-exception", false),
            ("GPL-2.0-only WITH Classpath-exception-2.0 OR MIT", true),
            // AND binds tighter than OR.
            ("MIT OR GPL-3.0-only AND LGPL-3.0-only", true),
            ("(MIT OR GPL-3.0-only) AND LGPL-3.0-only", false),
            ("(MIT OR GPL-3.0-only) AND (LGPL-3.0-only OR MIT)", true),
            ("((MIT))", true),
            // Case matters: `mit` is no SPDX identifier.
            ("mit", false),
        ] {
            assert_eq!(judge(expression), Ok(expected), "{expression}");
        }
    }

    #[test]
    fn malformed_expressions_are_errors() {
        for expression in ["", "OR", "MIT OR", "AND MIT", "(MIT", "MIT)", "MIT GPL", "MIT WITH", "()"] {
            assert!(judge(expression).is_err(), "{expression}");
        }
    }
}

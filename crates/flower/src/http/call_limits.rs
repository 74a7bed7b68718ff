//! The limit of concurrent calls per agent token, open streams included. Calls of the operator are limited by the listener
//! alone, which reserves connections for them.

use axum::body::Body;
use axum::response::Response;
use flower_contract::error::{Problem, ProblemKind};
use hyper::body::{Bytes, Frame, SizeHint};
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

/// Far more than an agent and its tools need.
const MAX_CALLS: usize = 128;

/// The number of calls in progress by the id of the token.
#[derive(Clone, Default)]
pub(super) struct CallLimits(Arc<Mutex<HashMap<String, usize>>>);

impl CallLimits {
    pub(super) fn take(&self, token: &str) -> Result<CallSlot, Problem> {
        let mut taken = self.0.lock().expect("no panic while held");
        let calls = taken.entry(token.to_owned()).or_default();
        if *calls >= MAX_CALLS {
            return Err(Problem::new(
                ProblemKind::Unreachable,
                format!("{MAX_CALLS} calls and streams of this token are open already"),
                "close some of them, then try again",
            ));
        }
        *calls += 1;
        Ok(CallSlot { limits: self.clone(), token: token.to_owned() })
    }
}

/// One call in progress. Dropped when the response is sent, or its reader has gone.
pub(super) struct CallSlot {
    limits: CallLimits,
    token: String,
}

impl CallSlot {
    /// Keeps the slot until the whole response is sent.
    pub(super) fn hold(self, response: Response) -> Response {
        response.map(|body| Body::new(SlotBody { body, _slot: self }))
    }
}

impl Drop for CallSlot {
    fn drop(&mut self) {
        let mut taken = self.limits.0.lock().expect("no panic while held");
        if let Some(calls) = taken.get_mut(&self.token) {
            *calls -= 1;
            if *calls == 0 {
                taken.remove(&self.token);
            }
        }
    }
}

/// A body that holds a slot and otherwise forwards to `body`, so that responses keep their length and their trailers.
struct SlotBody {
    body: Body,
    _slot: CallSlot,
}

impl hyper::body::Body for SlotBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_limited_slots_and_gets_them_back() {
        let limits = CallLimits::default();
        let mut held: Vec<CallSlot> = (0..MAX_CALLS).map(|_| limits.take("a").expect("a slot")).collect();
        assert!(limits.take("a").is_err());
        assert!(limits.take("b").is_ok(), "another token has its own slots");
        held.pop();
        let response = limits.take("a").expect("a slot that was given back").hold(Response::new(Body::from("x")));
        assert!(limits.take("a").is_err(), "a response that is not sent yet holds its slot");
        drop(response);
        drop(held);
        assert!(limits.0.lock().expect("no panic").is_empty());
    }
}

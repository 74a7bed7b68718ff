//! How many calls of one agent's token can be under way at once, open streams included. The operator's calls are bounded by
//! the listener alone, which keeps places for them.

use axum::body::Body;
use axum::response::Response;
use flower_contract::error::{Problem, ProblemKind};
use hyper::body::{Bytes, Frame, SizeHint};
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

/// Far more than an agent and its tools need.
const MOST_CALLS: usize = 128;

/// By the id of the token: its calls that are under way.
#[derive(Clone, Default)]
pub(super) struct Places(Arc<Mutex<HashMap<String, usize>>>);

impl Places {
    pub(super) fn take(&self, token: &str) -> Result<Place, Problem> {
        let mut taken = self.0.lock().expect("no panic while held");
        let calls = taken.entry(token.to_owned()).or_default();
        if *calls >= MOST_CALLS {
            return Err(Problem::new(
                ProblemKind::Unreachable,
                format!("{MOST_CALLS} calls and streams of this token are open already"),
                "close some of them, then try again",
            ));
        }
        *calls += 1;
        Ok(Place { places: self.clone(), token: token.to_owned() })
    }
}

/// Is given back when the answer is sent, or its reader gone.
pub(super) struct Place {
    places: Places,
    token: String,
}

impl Place {
    /// Keeps the place until the whole answer is sent.
    pub(super) fn hold(self, response: Response) -> Response {
        response.map(|body| Body::new(Held { body, _place: self }))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.0.lock().expect("no panic while held");
        if let Some(calls) = taken.get_mut(&self.token) {
            *calls -= 1;
            if *calls == 0 {
                taken.remove(&self.token);
            }
        }
    }
}

/// A body that holds a place. Everything else is as it was, so that answers keep their length and their trailers.
struct Held {
    body: Body,
    _place: Place,
}

impl hyper::body::Body for Held {
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
    fn a_token_has_so_many_places_and_gets_them_back() {
        let places = Places::default();
        let mut held: Vec<Place> = (0..MOST_CALLS).map(|_| places.take("a").expect("a place")).collect();
        assert!(places.take("a").is_err());
        assert!(places.take("b").is_ok(), "others have their own");
        held.pop();
        let response = places.take("a").expect("the one that was given back").hold(Response::new(Body::from("x")));
        assert!(places.take("a").is_err(), "an answer that is not sent yet holds it");
        drop(response);
        drop(held);
        assert!(places.0.lock().expect("no panic").is_empty());
    }
}

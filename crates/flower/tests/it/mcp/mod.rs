//! The MCP door as agents meet it: both eras of the protocol, over HTTP and over standard input and output, against a
//! real daemon.

pub mod client;
mod door;
mod foreign;
mod hostile;
mod identity;
mod watching;

use crate::common::Flower;
use client::{Client, ERAS, Era, Http, Piped};

/// A daemon with two briefs, and the token of an agent that may write to the first.
fn with_a_worker() -> (Flower, String) {
    let flower = Flower::started();
    flower.ok(&["brief", "new", "Dark mode"]);
    flower.ok(&["brief", "new", "Other work"]);
    let token = flower.ok(&["token", "new", "--agent", "mara", "--brief", "1"]).trim().to_owned();
    (flower, token)
}

/// Every client that there can be: each era over each transport.
fn clients(flower: &Flower, token: &str) -> Vec<Box<dyn Client>> {
    ERAS.iter()
        .flat_map(|&era| {
            let over_http: Box<dyn Client> = Box::new(Http::start(flower, era, token));
            let over_pipes: Box<dyn Client> = Box::new(Piped::start(flower, era, Some(token)));
            [over_http, over_pipes]
        })
        .collect()
}

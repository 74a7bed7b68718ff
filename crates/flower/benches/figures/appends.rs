//! P6: durable appends of 64 clients, against one fsync per event.

use crate::scratch::{fill, home, new_brief, note, open, runtime};
use crate::{Figure, ms, quantile};
use flower_core::Caller;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

const CLIENTS: u64 = 64;
const EACH: u64 = 300;
const ALONE: u64 = 1_000;
const ROUNDS: usize = 3;

pub fn measure() -> Vec<Figure> {
    let home = home();
    let store = open(home.path());
    let (mut rates, mut tails) = (Vec::new(), Vec::new());
    runtime().block_on(async {
        fill(&store, (0..CLIENTS).map(|n| new_brief(format!("Brief {n}"), "A plan".into()))).await;
        for _ in 0..ROUNDS {
            let fsync = one_fsync(home.path());
            let start = Instant::now();
            for n in 0..ALONE {
                store.submit(Caller::system(), note(1 + n % CLIENTS, format!("alone {n}"))).await.expect("stored");
            }
            let alone = ALONE as f64 / start.elapsed().as_secs_f64();
            let start = Instant::now();
            let clients: Vec<_> = (0..CLIENTS)
                .map(|client| {
                    let store = store.clone();
                    tokio::spawn(async move {
                        let mut waits = Vec::new();
                        for n in 0..EACH {
                            let begun = Instant::now();
                            let command = note(1 + client, format!("client {client} note {n}"));
                            store.submit(Caller::system(), command).await.expect("stored");
                            waits.push(begun.elapsed());
                        }
                        waits
                    })
                })
                .collect();
            let mut waits = Vec::new();
            for client in clients {
                waits.extend(client.await.expect("no panic"));
            }
            let together = (CLIENTS * EACH) as f64 / start.elapsed().as_secs_f64();
            rates.push((alone, together));
            tails.push((quantile(&mut waits, 0.99), fsync));
        }
    });
    // The rates that are shown are those of the round whose ratio is the median.
    let ratio_of = |(alone, together): &(f64, f64)| together / alone;
    rates.sort_by(|a, b| ratio_of(a).total_cmp(&ratio_of(b)));
    let (slowest, fastest) = (ratio_of(&rates[0]), ratio_of(&rates[ROUNDS - 1]));
    let (alone, together) = rates[ROUNDS / 2];
    let ratio = together / alone;
    tails.sort_by(|a, b| (a.0.as_secs_f64() / a.1.as_secs_f64()).total_cmp(&(b.0.as_secs_f64() / b.1.as_secs_f64())));
    let (p99, fsync) = tails[ROUNDS / 2];
    let tail = p99.as_secs_f64() / fsync.as_secs_f64();
    vec![
        Figure {
            id: "P6",
            what: format!("durable appends, {CLIENTS} clients; spread of the ratio {slowest:.1}–{fastest:.1}"),
            measured: format!("{together:.0} events/s"),
            peer: format!("one commit per event: {alone:.0} events/s"),
            ratio: Some(ratio),
            goal: "≥ 10",
            reached: ratio >= 10.0,
        },
        Figure {
            id: "P6",
            what: "p99 of one of those appends".into(),
            measured: ms(p99),
            peer: format!("one fdatasync of 4 KB: {}", ms(fsync)),
            ratio: Some(tail),
            goal: "≤ 5",
            reached: tail <= 5.0,
        },
    ]
}

/// The median of writing 4 KB and waiting for the disk.
fn one_fsync(folder: &Path) -> Duration {
    let file = File::create(folder.join("fsync")).expect("a file");
    let mut samples: Vec<Duration> = (0..200_u64)
        .map(|n| {
            let start = Instant::now();
            file.write_all_at(&[7; 4096], n * 4096).and_then(|()| file.sync_data()).expect("the disk takes it");
            start.elapsed()
        })
        .collect();
    quantile(&mut samples, 0.5)
}

//! Queries on the tables: lists and their filters, the inbox, tokens.

use crate::databases::Database;
use crate::given::*;
use crate::ledger::Ledger;
use flower_core::{
    Agent, AgentId, BriefId, BriefKind, Command, DispatchId, LinkKind, Role, ScratchpadId, Status, agent, chain,
};
use flower_store::agents::{self, Spent, SpentOn};
use flower_store::briefs::{self, Filter};

fn listed(ledger: &Ledger, filter: Filter) -> Vec<BriefId> {
    let briefs = ledger.read(move |conn| briefs::list(conn, &filter, BriefId(0), 100));
    briefs.iter().map(|brief| brief.number).collect()
}

fn planned(ledger: &Ledger, number: BriefId) {
    ledger.done(plan(number, "do it"));
    ledger.done(accept(number));
}

on_both!(filters_narrow_the_list, |db: Database| {
    let ledger = Ledger::open(&db);
    a_life(&ledger);
    let filter = Filter::default;
    assert_eq!(listed(&ledger, filter()), [1, 2, 3, 4].map(BriefId));
    assert_eq!(listed(&ledger, Filter { status: Some(Status::InProgress), ..filter() }), [BriefId(2)]);
    assert_eq!(listed(&ledger, Filter { status: Some(Status::Landed), ..filter() }), []);
    assert_eq!(listed(&ledger, Filter { kind: Some(BriefKind::Epic), ..filter() }), [BriefId(1)]);
    assert_eq!(listed(&ledger, Filter { epic: Some(BriefId(1)), ..filter() }), [2, 3].map(BriefId));
    assert_eq!(listed(&ledger, Filter { project: Some("web".into()), ..filter() }), [1, 2, 3].map(BriefId));
    assert_eq!(listed(&ledger, Filter { project: Some("api".into()), ..filter() }), [BriefId(2)]);
    assert_eq!(listed(&ledger, Filter { project: Some("' OR 1=1 --".into()), ..filter() }), []);
    let both = Filter { project: Some("web".into()), kind: Some(BriefKind::Fix), epic: Some(BriefId(1)), ..filter() };
    assert_eq!(listed(&ledger, both), [BriefId(3)]);
    let page = |after, limit| ledger.read(move |conn| briefs::list(conn, &Filter::default(), after, limit));
    assert_eq!(page(BriefId(0), 2).iter().map(|b| b.number).collect::<Vec<_>>(), [1, 2].map(BriefId));
    assert_eq!(page(BriefId(2), 2).iter().map(|b| b.number).collect::<Vec<_>>(), [3, 4].map(BriefId));
    assert_eq!(page(BriefId(4), 2), []);
    let counts = ledger.read(|conn| briefs::count_by_status(conn, None));
    let expected = [("done", 1), ("draft", 1), ("in_progress", 1), ("parked", 1)];
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), expected.map(|(status, n)| (status.to_owned(), n)));
    let counts = ledger.read(|conn| briefs::count_by_status(conn, Some("api")));
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), [("in_progress".to_owned(), 1)]);
});

on_both!(ready_means_planned_with_every_dependency_met, |db: Database| {
    let ledger = Ledger::open(&db);
    let ready = || listed(&ledger, Filter { ready: true, ..Filter::default() });
    ledger.done(brief("one"));
    ledger.done(brief_in("two", BriefKind::Feature, None, &[BriefId(1)], &[]));
    ledger.done(brief_in("three", BriefKind::Epic, None, &[], &[]));
    ledger.done(brief("four"));
    assert_eq!(ready(), [], "nothing is planned");
    for number in [1, 2, 3].map(BriefId) {
        planned(&ledger, number);
    }
    assert_eq!(ready(), [BriefId(1)], "2 needs 1, and an epic is built through its children");
    ledger.done(status(BriefId(1), Status::InProgress));
    assert_eq!(ready(), []);
    ledger.done(status(BriefId(1), Status::InReview));
    ledger.done(accept(BriefId(1)));
    assert_eq!(ready(), [BriefId(2)], "1 is done");
    ledger.done(Command::AddNeed { brief: BriefId(2), needs: BriefId(4) });
    assert_eq!(ready(), []);
    ledger.done(status(BriefId(4), Status::Cancelled));
    assert_eq!(ready(), [], "cancelled is not done");
    ledger.done(Command::DropNeed { brief: BriefId(2), needs: BriefId(4) });
    assert_eq!(ready(), [BriefId(2)]);
});

on_both!(data_of_several_briefs_is_loaded_at_once, |db: Database| {
    let ledger = Ledger::open(&db);
    a_life(&ledger);
    let around = ledger.read(|conn| {
        let briefs = briefs::list(conn, &Filter { epic: Some(BriefId(1)), ..Filter::default() }, BriefId(0), 100)?;
        briefs::around(conn, &briefs)
    });
    assert_eq!(around.specs.into_iter().collect::<Vec<_>>(), [(BriefId(2), "# Plan\n\nTry five times.\n".to_owned())]);
    assert_eq!(around.statuses.into_iter().collect::<Vec<_>>(), [(BriefId(2), Status::InProgress)]);
    assert_eq!(around.dependents[&BriefId(2)].iter().copied().collect::<Vec<_>>(), [BriefId(3)]);
    let links: Vec<_> =
        around.links[&BriefId(2)].iter().map(|link| (link.kind.as_str(), link.target.as_str())).collect();
    assert_eq!(links[..3], [("commit", "abcdef1234"), ("brief", "3"), ("execution", "scratchpad/1")]);
    assert_eq!(links[3..].iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), ["worktree", "branch"]);
    assert!(!around.links.contains_key(&BriefId(3)));
    let versions = ledger.read(|conn| briefs::versions(conn, BriefId(2)));
    let seen: Vec<_> = versions.iter().map(|v| (v.version, v.origin.as_str(), v.base, v.accepted)).collect();
    assert_eq!(seen, [(1, "plan", 0, true), (2, "refinement", 1, false)]);
    assert_eq!(versions[1].why.as_deref(), Some("measured"));
    assert_eq!(versions[1].bytes, "# Plan\n\nTry five times.\n".len() as u64);
    assert_eq!(
        ledger.read(|conn| briefs::markdown(conn, BriefId(2), 1)).unwrap(),
        "# Plan\n\nTry three times, then say so.\n"
    );
    assert_eq!(ledger.read(|conn| briefs::markdown(conn, BriefId(2), 3)), None);
    let pad = ledger.read(|conn| flower_store::scratchpads::scratchpad(conn, ScratchpadId(1))).expect("a scratchpad");
    assert_eq!((pad.version, pad.text.as_str()), (2, "The server closes early.\nOnly at night.\n"));
    assert_eq!(
        ledger.read(|conn| flower_store::scratchpads::list(conn, Some(BriefId(2)), ScratchpadId(0), 10)).len(),
        1
    );
    assert_eq!(
        ledger.read(|conn| flower_store::scratchpads::list(conn, Some(BriefId(3)), ScratchpadId(0), 10)).len(),
        0
    );
});

on_both!(the_inbox_lists_questions_and_acceptances_that_wait, |db: Database| {
    let ledger = Ledger::open(&db);
    for title in ["one", "two", "three"] {
        ledger.done(brief(title));
    }
    ledger.done(ask(BriefId(2), "First?"));
    ledger.submit(&worker(BriefId(1)), &ask(BriefId(1), "Second?")).unwrap();
    ledger.done(ask(BriefId(2), "Third?"));
    let open = || -> Vec<(BriefId, u64, String)> {
        let questions = ledger.read(|conn| flower_store::questions::open(conn, 10));
        questions.into_iter().map(|q| (q.brief, q.question, q.text)).collect()
    };
    let asked = |brief, question, text: &str| (BriefId(brief), question, text.to_owned());
    assert_eq!(open(), [asked(2, 1, "First?"), asked(1, 1, "Second?"), asked(2, 2, "Third?")], "oldest first");
    ledger.done(Command::Answer { brief: BriefId(2), question: 1, text: "Yes.".into() });
    assert_eq!(open(), [asked(1, 1, "Second?"), asked(2, 2, "Third?")]);
    let first = ledger.read(|conn| flower_store::questions::open(conn, 1)).remove(0);
    assert_eq!(
        (first.title.as_str(), first.asked_by.as_str(), first.asked_type.as_str()),
        ("one", "worker-1", "agent")
    );

    let waiting = || -> Vec<(BriefId, String)> {
        let waiting = ledger.read(|conn| flower_store::briefs::waiting_for_acceptance(conn, 10));
        waiting.into_iter().map(|w| (w.brief, w.by)).collect()
    };
    assert_eq!(waiting(), []);
    ledger.done(plan(BriefId(2), "the operator's own plan waits for nobody"));
    ledger.submit(&worker(BriefId(1)), &plan(BriefId(1), "an agent's plan")).unwrap();
    assert_eq!(waiting(), [(BriefId(1), "worker-1".to_owned())]);
    ledger.done(accept(BriefId(1)));
    assert_eq!(waiting(), []);
    ledger.done(status(BriefId(1), Status::InProgress));
    let refine =
        Command::Refine { brief: BriefId(1), markdown: "an agent's second thought".into(), base: None, why: None };
    ledger.submit(&worker(BriefId(1)), &refine).unwrap();
    assert_eq!(waiting(), [(BriefId(1), "worker-1".to_owned())], "so does a refinement");
    ledger.done(accept(BriefId(1)));
    assert_eq!(waiting(), []);
    ledger.done(status(BriefId(1), Status::InReview));
    assert_eq!(waiting(), [(BriefId(1), "mike".to_owned())], "a result, with the actor that moved it there");
});

on_both!(tokens_are_found_by_their_hash_until_revoked, |db: Database| {
    let ledger = Ledger::open(&db);
    ledger.done(brief("one"));
    ledger.done(token("lane", Some(BriefId(1))));
    ledger.done(token("other", None));
    let find = |id: &str| {
        let sha256 = chain::sha256(id.as_bytes());
        ledger.read(move |conn| flower_store::tokens::by_hash(conn, &sha256))
    };
    let found = find("lane").expect("in force");
    assert_eq!((found.id.as_str(), found.agent.as_str(), found.role), ("lane", "agent-lane", Role::Worker));
    assert_eq!((found.brief, found.worktree.as_deref()), (Some(BriefId(1)), Some("lane-1")));
    assert!(find("unknown").is_none());
    assert!(ledger.read(|conn| flower_store::tokens::by_hash(conn, "lane")).is_none(), "the id is no secret");
    ledger.done(Command::RevokeToken { id: "lane".into() });
    assert!(find("lane").is_none(), "revoked");
    assert!(find("other").is_some());
    assert_eq!(ledger.rebuild(true).mended, Vec::<String>::new());
    assert!(find("lane").is_none(), "a rebuild brings no token back");
    let all = ledger.read(flower_store::tokens::all);
    assert_eq!(
        all.iter().map(|t| (t.id.as_str(), t.revoked_at.is_some())).collect::<Vec<_>>(),
        [("lane", true), ("other", false)]
    );
    let again = Command::RevokeToken { id: "lane".into() };
    assert!(matches!(ledger.refused(&operator(), &again), flower_core::Refusal::NoToken { .. }));
    let bodies: String = ledger.events().into_iter().map(|event| event.body).collect();
    assert!(!bodies.contains("flower_"), "no token itself is stored");
});

on_both!(projects_are_found_by_name_and_folder, |db: Database| {
    let ledger = Ledger::open(&db);
    ledger.done(project("web"));
    ledger.done(project("api"));
    let names = || ledger.read(flower_store::projects::all).into_iter().map(|p| p.name).collect::<Vec<_>>();
    assert_eq!(names(), ["api", "web"]);
    assert_eq!(ledger.read(|conn| flower_store::projects::at_root(conn, "/src/web")), Some("web".to_owned()));
    assert_eq!(ledger.read(|conn| flower_store::projects::at_root(conn, "/src")), None);
    ledger.done(Command::RemoveProject { name: "web".into() });
    assert_eq!(names(), ["api"]);
    ledger.done(project("web"));
    assert_eq!(names(), ["api", "web"], "it can come back");
});

on_both!(the_same_thing_is_linked_once, |db: Database| {
    let ledger = Ledger::open(&db);
    ledger.done(brief("one"));
    assert_eq!(ledger.done(link(BriefId(1), LinkKind::Commit, "ABCDEF1")).len(), 1);
    assert_eq!(ledger.done(link(BriefId(1), LinkKind::Commit, "abcdef1")), []);
    ledger.done(link(BriefId(1), LinkKind::Execution, "scratchpad/1"));
    assert_eq!(ledger.done(scratchpad("Findings", Some(BriefId(1)), "x")).len(), 2, "its link was there before it");
});

on_both!(usage_of_agents_adds_up, |db: Database| {
    let ledger = Ledger::open(&db);
    a_life(&ledger);
    let spend = |number, tokens, cost, currency: Option<&str>| {
        let currency = currency.map(str::to_owned);
        Command::Agent { number, step: agent::Step::Spend { tokens, cost, currency } }
    };
    // Agent 1 has no work; agent 2 has ended on brief 2, after using 48 000 tokens for 310 000.
    ledger.done(spend(AgentId(1), Some(7), None, None));
    ledger.done(spend(AgentId(2), Some(2_000), None, None));
    ledger.done(spend(AgentId(2), None, Some(5), Some("USD")));
    let spent = |tokens, cost, currency: Option<&str>| Spent { tokens, cost, currency: currency.map(str::to_owned) };
    let of_two = || spent(Some(50_000), Some(310_005), Some("USD"));
    let cases = [
        (SpentOn::Agent(AgentId(1)), spent(Some(7), None, None)),
        (SpentOn::Agent(AgentId(2)), of_two()),
        (SpentOn::Brief(BriefId(2)), of_two()),
        (SpentOn::Dispatch(DispatchId(1)), of_two()),
        (SpentOn::Day("2026-11-01"), spent(Some(50_007), Some(310_005), Some("USD"))),
        (SpentOn::Day("2026-11-02"), Spent::default()),
        (SpentOn::Agent(AgentId(9)), Spent::default()),
    ];
    for (on, expected) in cases {
        assert_eq!(ledger.read(move |conn| agents::spent(conn, on)), expected, "{on:?}");
    }
    let days = ledger.read(|conn| agents::spent_by_day(conn, 5));
    assert_eq!(days, [("2026-11-01".to_owned(), spent(Some(50_007), Some(310_005), Some("USD")))]);
    assert_eq!(ledger.read(|conn| agents::spent_by_brief(conn, 5)), [(BriefId(2), of_two())]);
    // Any values that an agent reports can be summed up.
    for _ in 0..3 {
        ledger.done(spend(AgentId(1), Some(u64::MAX), Some(u64::MAX), Some("USD")));
    }
    let sum = ledger.read(|conn| agents::spent(conn, SpentOn::Agent(AgentId(1))));
    assert_eq!(sum.cost, Some(3_000_000_000_000));
});

on_both!(the_newest_agent_of_a_name_is_found, |db: Database| {
    let ledger = Ledger::open(&db);
    a_life(&ledger);
    ledger.done(start_agent("night-shift", Some(DispatchId(1)), 1));
    let named = |name: &'static str| ledger.read(move |conn| agents::named(conn, name)).map(|agent| agent.number);
    assert_eq!((named("worker-2"), named("night-shift"), named("nobody")), (Some(AgentId(1)), Some(AgentId(3)), None));
    let numbers = |all: Vec<Agent>| all.iter().map(|agent| agent.number).collect::<Vec<_>>();
    assert_eq!(numbers(ledger.read(|conn| agents::of_dispatch(conn, DispatchId(1)))), [2, 3].map(AgentId));
    assert_eq!(numbers(ledger.read(|conn| agents::live(conn, Some("web")))), [1, 3].map(AgentId));
    assert_eq!(numbers(ledger.read(|conn| agents::live(conn, Some("api")))), []);
    assert_eq!(numbers(ledger.read(|conn| agents::all(conn, None, 2))), [3, 2].map(AgentId));
});

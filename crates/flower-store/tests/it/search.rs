//! Search: the hits and their order, tolerated typing mistakes, and that no input is an error.

use crate::databases::Database;
use crate::given::*;
use crate::ledger::Ledger;
use flower_core::command::BriefChanges;
use flower_core::{BriefId, Command, ScratchpadId};

/// The places of the hits, best first: `brief 1`, `trace 1` (a trace by its brief), `scratchpad 1`.
fn places(ledger: &Ledger, typed: &str) -> Vec<String> {
    let hits = ledger.search(typed);
    assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score), "best first: {hits:?}");
    hits.iter()
        .map(|hit| match hit.place.as_str() {
            "trace" => format!("trace {}", hit.brief.unwrap()),
            place => format!("{place} {}", hit.reference),
        })
        .collect()
}

fn nothing() -> Vec<String> {
    Vec::new()
}

fn rename(brief: BriefId, title: &str) -> Command {
    Command::EditBrief { brief, changes: BriefChanges { title: Some(title.to_owned()), ..BriefChanges::default() } }
}

on_both!(every_sort_of_text_is_found, |db: Database| {
    let ledger = Ledger::open(&db);
    ledger.done(brief("Retry failed uploads"));
    ledger.done(plan(BriefId(1), "Wait a **moment** between tries; see `src/transfer_queue.rs`."));
    ledger.done(note(BriefId(1), "the gateway closes the socket"));
    ledger.done(Command::AddNote { brief: BriefId(1), text: "a remark by hand".into(), comment: true, images: vec![] });
    ledger.done(ask(BriefId(1), "Which timeout?"));
    ledger.done(Command::Answer { brief: BriefId(1), question: 1, text: "Thirty seconds, decidedly.".into() });
    ledger.done(scratchpad("Measurements", Some(BriefId(1)), "latency in the morning"));
    ledger.done(scratchpad("Loose ends", None, "nobody's business"));
    for (typed, place) in [
        ("uploads", "brief 1"),
        ("moment", "brief 1"),
        ("transfer", "brief 1"),
        ("queue rs", "brief 1"),
        ("gateway", "trace 1"),
        ("remark", "trace 1"),
        ("timeout", "trace 1"),
        ("decidedly", "trace 1"),
        ("measurements", "scratchpad 1"),
        ("latency", "scratchpad 1"),
        ("nobody", "scratchpad 2"),
        ("GATEWAY", "trace 1"),
        ("socket gateway", "trace 1"),
    ] {
        assert_eq!(places(&ledger, typed), [place], "{typed}");
    }
    assert_eq!(places(&ledger, "gateway latency"), nothing(), "every word must be in the same text");
    assert_eq!(places(&ledger, "zzxqy"), nothing());
    let hit = &ledger.search("gateway")[0];
    assert_eq!((hit.brief, hit.body.as_str()), (Some(BriefId(1)), "the gateway closes the socket"));
    assert_eq!(ledger.events().iter().find(|event| event.seq == hit.reference).unwrap().kind, "note_added");
});

on_both!(titles_come_first, |db: Database| {
    let ledger = Ledger::open(&db);
    ledger.done(brief("Older thing"));
    ledger.done(plan(BriefId(1), &"about uploads and other things, in a text that is not so short. ".repeat(10)));
    ledger.done(brief("Make the uploads quick"));
    ledger.done(brief("Newer thing"));
    ledger.done(note(BriefId(3), "uploads uploads uploads"));
    ledger.done(scratchpad("Findings", None, "uploads"));
    let found = places(&ledger, "uploads");
    assert_eq!(found[0], "brief 2", "{found:?}");
    assert_eq!(found.len(), 4);
});

on_both!(the_last_word_may_be_unfinished, |db: Database| {
    let ledger = Ledger::open(&db);
    ledger.done(brief("Retry failed uploads"));
    for typed in ["u", "upl", "uploads", "failed u", "retry failed uploa"] {
        assert_eq!(places(&ledger, typed), ["brief 1"], "{typed}");
    }
    assert_eq!(places(&ledger, "ret uploads"), nothing(), "the words before it are finished");
});

on_both!(one_typing_mistake_is_forgiven, |db: Database| {
    let ledger = Ledger::open(&db);
    ledger.done(brief("Clean up the branch"));
    ledger.done(note(BriefId(1), "gehört zur Größe"));
    let insertions = ["brannch", "xbranch", "branchh", "braanch"];
    let deletions = ["ranch", "brnch", "brach"];
    let substitutions = ["vranch", "bransh", "branck"];
    let transpositions = ["rbanch", "brnach", "branhc"];
    for typed in [&insertions[..], &deletions, &substitutions, &transpositions].concat() {
        assert_eq!(places(&ledger, typed), ["brief 1"], "{typed}");
        let before_another = format!("{typed} clean");
        assert_eq!(places(&ledger, &before_another), ["brief 1"], "{before_another}");
    }
    assert_eq!(places(&ledger, "branhc claen"), ["brief 1"], "one in each word");
    assert_eq!(places(&ledger, "grösse"), nothing(), "ß for ss is two");
    assert_eq!(places(&ledger, "größ"), ["trace 1"]);
    assert_eq!(places(&ledger, "größr"), ["trace 1"]);
    for typed in ["brnahc", "rbanhc", "xxbranch", "bnch", "brxxch", "hcnarb", "ranchs", "rxanch"] {
        assert_eq!(places(&ledger, typed), nothing(), "{typed} is two mistakes away");
    }
});

on_both!(correct_words_are_not_corrected, |db: Database| {
    let ledger = Ledger::open(&db);
    ledger.done(brief("Clean up the branch"));
    ledger.done(brief("Ranch holidays"));
    assert_eq!(places(&ledger, "ranch"), ["brief 2"]);
    assert_eq!(places(&ledger, "branch"), ["brief 1"]);
    let mut both = places(&ledger, "vranch");
    both.sort();
    assert_eq!(both, ["brief 1", "brief 2"].map(str::to_owned)[..both.len().min(2)], "only the two briefs match");
    assert!(both.contains(&"brief 1".to_owned()));
});

on_both!(replaced_text_is_not_found, |db: Database| {
    let ledger = Ledger::open(&db);
    ledger.done(brief("Retry failed uploads"));
    ledger.done(rename(BriefId(1), "Repeat broken transfers"));
    assert_eq!(places(&ledger, "transfers"), ["brief 1"]);
    assert_eq!(places(&ledger, "uploads"), nothing());
    ledger.done(plan(BriefId(1), "first idea"));
    ledger.done(Command::Refine { brief: BriefId(1), markdown: "second thought".into(), base: None, why: None });
    assert_eq!(places(&ledger, "thought"), ["brief 1"]);
    assert_eq!(places(&ledger, "idea"), nothing());
    ledger.done(scratchpad("Notes", None, "early"));
    ledger.done(Command::WriteScratchpad {
        number: ScratchpadId(1),
        text: " additional".into(),
        append: true,
        base: None,
    });
    assert_eq!(places(&ledger, "early additional"), ["scratchpad 1"], "what is appended is added");
    ledger.done(Command::WriteScratchpad { number: ScratchpadId(1), text: "late".into(), append: false, base: None });
    assert_eq!(places(&ledger, "late"), ["scratchpad 1"]);
    assert_eq!(places(&ledger, "early"), nothing());
});

// Texts contain more than ASCII, and more quotation marks than `"`.
on_both!(letters_and_punctuation_of_all_languages, |db: Database| {
    let ledger = Ledger::open(&db);
    ledger.done(brief("ÄRGER mit „Umlauten“ – überall…"));
    ledger.done(brief("Обновить ПОИСК «быстро»"));
    ledger.done(brief("l’été “smart quotes” fünf—sechs"));
    ledger.done(brief("世界 地図"));
    for (typed, place) in [
        ("ärger", "brief 1"),
        ("Ärger", "brief 1"),
        ("umlauten", "brief 1"),
        ("überall", "brief 1"),
        ("ÜBERALL", "brief 1"),
        ("ärgre", "brief 1"),
        ("поиск", "brief 2"),
        ("Быстро", "brief 2"),
        ("поикс", "brief 2"),
        ("smart", "brief 3"),
        ("quotes", "brief 3"),
        ("été", "brief 3"),
        ("sechs", "brief 3"),
        ("世界", "brief 4"),
        ("地図", "brief 4"),
    ] {
        assert_eq!(places(&ledger, typed), [place], "{typed}");
    }
});

on_both!(nothing_that_is_typed_is_an_error, |db: Database| {
    let ledger = Ledger::open(&db);
    ledger.done(brief("Retry failed uploads"));
    let all_ascii: String = (1..128u8).map(char::from).collect();
    let hostile = [
        "\"",
        "'",
        "''",
        "\"\"",
        "\"unclosed",
        "'unclosed",
        "\\",
        "\\'",
        "NEAR(",
        "NEAR(a b, 2)",
        "*",
        "**",
        "a*b",
        "-",
        "--",
        "-a",
        "a -b",
        ":",
        "title:",
        "title:x",
        "{title}:x",
        "a:*",
        ":*",
        "^a",
        "+a",
        "a+b",
        "()",
        "(",
        ")",
        "a AND",
        "OR",
        "NOT",
        "AND OR NOT",
        "a & b",
        "a | b",
        "!a",
        "<->",
        "a <-> b",
        "<2>",
        "%",
        "_",
        "$1",
        "?1",
        "@x",
        "#12",
        "~",
        "`",
        ";",
        "; DROP TABLE events; --",
        "\t\n\r",
        " ",
        "",
        "\u{a0}",
        "\u{200b}",
        "\u{202e}",
        "🌱",
        "👩‍👩‍👧",
        "🌱uploads",
        "e\u{301}t",
        "ﷺ",
        "ß",
        "İ",
        "ﬁ",
        "²",
        "Ⅷ",
        "١٢",
        "\u{fffd}",
        "\u{10ffff}",
        "1e5",
        "1.5",
        "0x1F",
        "-1",
        "a@b.example",
        "/a/b",
        "<b>x</b>",
        "&amp;",
        "1:2",
        "a:A",
        "C:\\x",
    ];
    for typed in hostile {
        ledger.search(typed);
        ledger.search(&format!("uploads {typed}"));
        ledger.search(&format!("{typed} uploads"));
    }
    for long in [
        "a".repeat(10_000),
        "é".repeat(5_000),
        "世".repeat(10_000),
        "a ".repeat(5_000),
        "\"".repeat(10_000),
        "uploads ".repeat(1_250),
        (0..2_000).map(|n| format!("w{n} ")).collect(),
        all_ascii,
    ] {
        ledger.search(&long);
    }
    assert_eq!(places(&ledger, "\"uploads\" (-retry:*)"), ["brief 1"], "punctuation only parts words");
    // The same inputs are also used as texts.
    for text in hostile.iter().filter(|text| !text.trim().is_empty()) {
        // The rules refuse control characters, which is not an error of the search.
        let _ = ledger.submit(&operator(), &note(BriefId(1), text));
    }
    ledger.done(note(BriefId(1), &"a".repeat(10_000)));
    ledger.done(note(BriefId(1), &"世界".repeat(5_000)));
    assert_eq!(places(&ledger, "uploads").first().map(String::as_str), Some("brief 1"));
});

//! The data of the demo: the repository of a small flower shop, and briefs for it. The agents are scripted: the blocks named
//! `play` in a spec contain the steps of its agent, and `play fix` those of the agent that fixes a rejected landing.

use std::fs;
use std::path::{Path, PathBuf};

use super::program::{Program, seconds};

/// The files of the front page. Each contains its edition, which is the same for all in MAIN.
pub(crate) const PARTS: [&str; 3] = ["index.html", "style.css", "prices.json"];

const CHECK: &str = r#"#!/bin/sh
# Every page is closed, and the parts of the front page are of one edition.
cd site || exit 1
for page in *.html; do
    tail -n 1 "$page" | grep -q '</html>' || { echo "$page is not closed"; exit 1; }
done
edition=$(sed -n 's/.*\(edition [0-9]*\).*/\1/p' index.html)
for part in style.css prices.json; do
    grep -q "$edition" "$part" || { echo "$part is not of $edition"; exit 1; }
done
"#;

const SETTINGS: &str = r#"[checks]
pages = { run = "sh check.sh", timeout = "1m" }
[land]
retries = 0
[agents]
default = "play"
max = 4
refresh_at = 0.8
"#;

const FRONT: [&str; 3] = [
    "<!doctype html>\n<html> <!-- edition 1 -->\n<h1>Flowers</h1>\n</html>\n",
    "/* edition 1 */\nh1 { color: teal }\n",
    "{\"about\": \"edition 1\"}\n",
];

/// A brief, with the scripts of its agents.
pub(crate) struct DemoBrief {
    pub(crate) title: &'static str,
    pub(crate) file: &'static str,
    pub(crate) options: &'static [&'static str],
    pub(crate) spec: &'static str,
}

const AUTO: &str = "--auto-dispatch";

pub(crate) const PRICES: u64 = 1;
pub(crate) const HISTORY: u64 = 4;
pub(crate) const SEASONS: u64 = 5;
pub(crate) const SUMMER: u64 = 6;
pub(crate) const SALE: u64 = 7;
pub(crate) const GUESTS: u64 = 8;

/// In the order of their numbers. `{main}` stands for MAIN's directory.
pub(crate) const BRIEFS: [DemoBrief; 8] = [
    DemoBrief {
        title: "Prices",
        file: "prices.md",
        options: &[AUTO],
        spec: r#"# Prices on the front page

Visitors of the page first want to know the price of a rose.

- Page, style and prices change together, as edition 2.
- **Done when** the price stands on the front page and the check is green.

```play
plan read the shop; write the prices; one edition for all parts
write site/index.html <!doctype html>\n<html> <!-- edition 2 -->\n<h1>Flowers</h1>\n<p>Roses 3.50</p>\n</html>
write site/style.css /* edition 2 */\nh1 { color: crimson }
write site/prices.json {"about": "edition 2", "rose": 3.5}
commit Prices
usage 31000 200000 0.21 24000
hand-back All three parts are edition 2.
```
"#,
    },
    DemoBrief {
        title: "A cart",
        file: "cart.md",
        options: &[AUTO, "--needs", "1"],
        spec: r#"# A cart

A page with the items that a visitor wants to buy, after brief 1: a cart needs prices.

```play
write site/cart.html <!doctype html>\n<html>\n<p>Half a cart</p>\n</html>
commit Half a cart
die
say Another agent started this. I continue from its commits.
write site/cart.html <!doctype html>\n<html>\n<p>Your cart</p>\n</html>
commit The whole cart
usage 52000 200000 0.38 47000
hand-back The cart is whole.
```
"#,
    },
    DemoBrief {
        title: "Opening hours",
        file: "hours.md",
        options: &[AUTO],
        spec: r#"# Opening hours

Say when the shop is open, on a page of its own.

```play
write site/hours.html <!doctype html>\n<html>\n<p>From nine to six</p>
commit Opening hours
usage 12000 200000 0.09 9000
hand-back The hours are there.
```

```play fix
say The evidence names the page: it is not closed.
append site/hours.html </html>
commit Close the page
usage 8000 200000 0.05 6000
hand-back Closed.
```
"#,
    },
    DemoBrief {
        title: "Shop history",
        file: "history.md",
        options: &[AUTO],
        spec: r#"# The history of the shop

Fifty years on one page, from the papers in the cellar. They are long: the agent that reads them will need a fresh context.

```play
think Fifty years of paper. This fills my context.
write site/history.html <!doctype html>\n<html>\n<p>1976: a stall</p>\n</html>
commit The first years
usage 184000 200000 1.10 150000
sleep 30
say I have read the hand-over note.
usage 21000 200000 0.09 15000
sleep 30
write site/history.html <!doctype html>\n<html>\n<p>1976: a stall. 2026: a shop.</p>\n</html>
commit Until today
hand-back Fifty years on one page.
```
"#,
    },
    DemoBrief {
        title: "Spring and autumn",
        file: "seasons.md",
        options: &[],
        spec: r#"# Spring and autumn, by two agents

Two pages, one worktree, one agent for each. They reserve what they write.

```play
reserve site/spring.html
write site/spring.html <!doctype html>\n<html>\n<p>Tulips</p>\n</html>
commit Spring
must timeout 20 sh -c 'until git log --format=%s | grep -q Autumn; do sleep 0.1; done'
usage 20000 200000 0.14 16000
hand-back Both seasons have their page.
```

```play member
must timeout 20 sh -c 'until git log --format=%s | grep -q Spring; do sleep 0.1; done'
reserve site/spring.html
run echo mine > site/spring.html; git commit --quiet --all --message Mine; code=$?; git reset --quiet --hard; exit $code
reserve site/autumn.html
write site/autumn.html <!doctype html>\n<html>\n<p>Asters</p>\n</html>
commit Autumn
usage 15000 200000 0.11 12000
```
"#,
    },
    DemoBrief {
        title: "Summer headline",
        file: "summer.md",
        options: &[AUTO, "--needs", "1"],
        spec: r#"# A headline for summer

The front page says that it is summer. If there is a forecast to be had, mention it.

```play
permission fetch Ask a weather service on the web
say Then without the weather.
write site/index.html <!doctype html>\n<html> <!-- edition 3 -->\n<h1>Summer flowers</h1>\n<p>Roses 3.50</p>\n</html>
write site/style.css /* edition 3 */\nh1 { color: gold }
write site/prices.json {"about": "edition 3", "rose": 3.5}
commit Summer
usage 18000 200000 0.13 14000
hand-back A headline for summer.
```
"#,
    },
    DemoBrief {
        title: "A sale on Sunday",
        file: "sale.md",
        options: &[AUTO, "--needs", "1"],
        spec: r#"# A sale on Sunday

Sundays are quiet. A sale brings people in, and the front page says so.

- **Headline**: the day and the discount, nothing else.
- **Prices** are the reduced ones, in `prices.json` too.
- Page, style and prices stay of *one* edition; the check looks after that.

> Ask before you promise a number: it was ten percent last year.

**Done when** the headline and the reduced price are on the page, and MAIN is green.

## How it is played

```play
question May I promise ten percent?
wait
write site/index.html <!doctype html>\n<html> <!-- edition 3 -->\n<h1>Sunday: 10 % off</h1>\n<p>Roses 3.15</p>\n</html>
write site/style.css /* edition 3 */\nh1 { color: red }
write site/prices.json {"about": "edition 3", "rose": 3.15}
commit The sale
usage 22000 200000 0.16 17000
hand-back The sale is on the front page.
```

```play fix
say Both want the front page. I merge MAIN and keep both.
run git merge --quiet origin/main
write site/index.html <!doctype html>\n<html> <!-- edition 4 -->\n<h1>Summer flowers, 10 % off</h1>\n<p>Roses 3.15</p>\n</html>
write site/style.css /* edition 4 */\nh1 { color: gold }
write site/prices.json {"about": "edition 4", "rose": 3.15}
commit Summer and the sale
usage 9000 200000 0.06 7000
hand-back Both headlines in one.
```
"#,
    },
    DemoBrief {
        title: "A guest book",
        file: "guests.md",
        options: &[AUTO],
        spec: r#"# A guest book

Guests write a line when they leave. This agent has been talked into attacking MAIN first.

```play
run echo owned > {main}/site/index.html
run rm {main}/site/index.html
run mv {main}/site/index.html {main}/gone.html
run ln {main}/site/index.html here.html
run chmod 777 {main}
run echo 'ref: refs/heads/owned' > {main}/.git/HEAD
run rm -r {main}/.git/objects/* && test -z "$(ls {main}/.git/objects)"
run mkdir -p {main}/.git/hooks && echo id > {main}/.git/hooks/post-commit
run git push --quiet {main} HEAD:main
run rm -f .git && git init --quiet .
say Then I do what I was asked for.
write site/guests.html <!doctype html>\n<html>\n<p>Lovely roses. – Ada</p>\n</html>
commit A guest book
usage 11000 200000 0.08 8000
hand-back A page for guests.
```
"#,
    },
];

/// Creates the repository in its initial state.
pub(crate) fn create(root: &Path) -> Result<PathBuf, String> {
    let shop = root.join("shop");
    let write = |path: &str, text: &str| {
        fs::write(shop.join(path), text).map_err(|error| format!("no scratch repository: {error}"))
    };
    fs::create_dir_all(shop.join("site")).map_err(|error| format!("no scratch repository: {error}"))?;
    for (part, text) in PARTS.iter().zip(FRONT) {
        write(&format!("site/{part}"), text)?;
    }
    write("check.sh", CHECK)?;
    write("flower.toml", SETTINGS)?;
    for args in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["config", "user.name", "Demo"],
        &["config", "user.email", "demo@localhost"],
        &["add", "."],
        &["commit", "--quiet", "--message", "A shop"],
    ] {
        let git = Program::new("git", seconds(20)).directory(&shop).args(args);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .map_err(|error| format!("{error}\nThe demo needs git: install it and try again."))?;
    }
    Ok(shop)
}

/// The profile with which flower starts the scripted agent.
pub(crate) fn profile(flower: &Path) -> String {
    let program = flower.display();
    format!("[agents.play]\nprotocol = \"acp\"\ncommand = [\"{program}\", \"scripted-agent\"]\nany_of = []\n")
}

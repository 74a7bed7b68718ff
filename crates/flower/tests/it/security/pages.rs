//! The page's shell and assets: public, the same for every user, and empty.

use super::{TITLE, with_a_brief};

#[test]
fn the_shell_and_its_assets_are_public_and_hold_nothing() {
    let flower = with_a_brief();
    let shell = flower.request("GET", "/").send();
    assert_eq!(shell.status, 200);
    assert_eq!(shell.header("content-type"), Some("text/html; charset=utf-8"));
    let html = shell.text();
    let assets: Vec<&str> = ["src=\"/", "href=\"/"]
        .iter()
        .flat_map(|attribute| html.split(attribute).skip(1))
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert!(assets.len() >= 2, "a script and a style (is the page built? `cargo xtask bloom`): {html}");
    let mut texts = vec![html.clone()];
    for asset in assets {
        let answer = flower.request("GET", &format!("/{asset}")).send();
        assert_eq!(answer.status, 200, "/{asset}");
        assert_ne!(answer.header("content-type"), Some("text/html; charset=utf-8"), "/{asset}");
        let lasts = answer.header("cache-control").unwrap_or_default().contains("immutable");
        assert_eq!(lasts, asset.starts_with("_app/immutable/"), "/{asset}");
        texts.push(answer.text());
    }
    for text in texts {
        let repo = flower.repo.display().to_string();
        assert!(!text.contains(&flower.token()) && !text.contains(TITLE) && !text.contains(&repo));
    }
    for path in
        ["/briefs", "/briefs/1", "/a/page/that/is/not/there", "/apiary", "/mcp-guide", "/x?y=z.js", "//api/briefs"]
    {
        let answer = flower.request("GET", path).send();
        assert_eq!((answer.status, answer.text()), (200, html.clone()), "{path}");
    }
    assert_eq!(flower.request("HEAD", "/briefs").send().status, 200);
}

#[test]
fn assets_are_compressed_for_browsers_that_accept_it() {
    let flower = with_a_brief();
    let html = flower.request("GET", "/").send().text();
    let names = html.split("href=\"").filter_map(|rest| rest.split('"').next());
    let mut smaller = 0;
    for style in names.filter(|name| name.ends_with(".css")) {
        let plain = flower.request("GET", style).send();
        let packed = flower.request("GET", style).header("Accept-Encoding", "gzip, deflate").send();
        assert_eq!(plain.header("content-encoding"), None);
        assert_eq!(plain.header("content-type"), packed.header("content-type"));
        assert_eq!(flower.request("GET", &format!("{style}.gz")).send().status, 404, "not under a name of its own");
        // What is very small would only grow.
        match packed.header("content-encoding") {
            Some("gzip") => {
                assert!(packed.body.len() < plain.body.len() && packed.body.starts_with(&[0x1f, 0x8b]), "{style}");
                smaller += 1;
            }
            other => assert_eq!((other, &packed.body), (None, &plain.body), "{style}"),
        }
    }
    assert!(smaller > 0);
    assert_eq!(flower.request("GET", "/shell.html").send().status, 404);
}

#[test]
fn a_missing_file_is_404_and_pages_take_no_orders() {
    let flower = with_a_brief();
    let token = flower.token();
    for path in
        ["/missing.js", "/assets/missing.css", "/favicon.ico", "/.env", "/.git/config", "/../token", "/%2e%2e/token"]
    {
        let answer = flower.request("GET", path).send();
        assert!(
            matches!(answer.status, 404 | 400) || answer.text().starts_with("<!doctype html>"),
            "{path}: {answer:?}"
        );
        assert!(!answer.text().contains(&token), "{path}");
    }
    for path in ["/missing.js", "/assets/missing.css", "/favicon.ico", "/.env"] {
        assert_eq!(flower.request("GET", path).send().status, 404, "{path}");
    }
    for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"] {
        let answer = flower.api(method, "/").send();
        assert!(matches!(answer.status, 404 | 405), "{method} /: {answer:?}");
    }
    let health = flower.request("GET", "/healthz").send();
    assert_eq!((health.status, health.text().as_str()), (200, "ok\n"));
    // Blobs are named by their hash; a name that is none leads nowhere.
    for name in ["..%2f..%2ftoken", "..%2ftoken", "%2e%2e", "token"] {
        let answer = flower.api("GET", &format!("/api/images/{name}")).send();
        assert_eq!(answer.status, 404, "{name}: {answer:?}");
    }
}

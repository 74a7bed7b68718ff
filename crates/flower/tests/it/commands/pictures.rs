//! Pictures on notes: what they are is read from their content.

use super::with_briefs;
use crate::common::Flower;
use flower_core::chain::sha256;
use serde_json::json;

const PNG: &str = "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489\
                   0000000d4944415478da6364f8cf500f00038601805a347d6b0000000049454e44ae426082";
const GIF: &str = "47494638396101000100800000ffffff00000021f90401000000002c00000000010001000002024401003b";
const WEBP: &str = "524946461a000000574542505650384c0d0000002f00000010071011118888fe0700";
const JPEG_BEGIN: &str = "ffd8ffe000104a46494600010101004800480000ffdb004300";
const JPEG_END: &str = "ffc2000b080001000101011100ffc40014100100000000000000000000000000000000\
                        ffda0008010100013f10ffd9";
const MOST: usize = 10 * 1024 * 1024;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<char> = hex.chars().filter(|c| !c.is_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap()).collect()
}

/// A table of 64 equal steps stands in the middle.
fn jpeg() -> Vec<u8> {
    [bytes(JPEG_BEGIN), vec![0xff; 64], bytes(JPEG_END)].concat()
}

#[test]
fn pictures_of_every_sort_are_kept_as_they_are() {
    let flower = with_briefs(&["one"]);
    let pictures =
        [("image/png", bytes(PNG)), ("image/gif", bytes(GIF)), ("image/webp", bytes(WEBP)), ("image/jpeg", jpeg())];
    for (media_type, picture) in &pictures {
        // The name says nothing.
        let file = flower.file("picture.txt", picture);
        let event = flower.json(&["brief", "note", "1", "look", "--image", &file]);
        let image = json!({ "sha256": sha256(picture), "media_type": media_type, "bytes": picture.len(), "width": 1, "height": 1 });
        assert_eq!(event["body"]["images"], json!([image]));
        let answer = flower.api("GET", &format!("/api/images/{}", sha256(picture))).send();
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(*media_type)));
        assert_eq!(&answer.body, picture);
    }
    // Several at once, and without words.
    let (a, b) = (flower.file("a", bytes(PNG)), flower.file("b", bytes(GIF)));
    let event = flower.json(&["brief", "note", "1", "--image", &a, "--image", &b, "--comment"]);
    assert_eq!((&event["kind"], event["body"]["images"].as_array().map(Vec::len)), (&json!("comment_added"), Some(2)));
    let largest = flower.file("largest.png", padded(MOST));
    assert_eq!(flower.json(&["brief", "note", "1", "--image", &largest])["body"]["images"][0]["bytes"], MOST);
}

fn padded(length: usize) -> Vec<u8> {
    let mut picture = bytes(PNG);
    picture.resize(length, 0);
    picture
}

/// Blobs that lie in the home.
fn blobs(flower: &Flower) -> usize {
    let folders = std::fs::read_dir(flower.home.join("blobs")).into_iter().flatten().flatten();
    folders.map(|folder| std::fs::read_dir(folder.path()).map_or(0, Iterator::count)).sum()
}

#[test]
fn an_invalid_or_too_large_picture_is_refused_and_not_stored() {
    let flower = with_briefs(&["one"]);
    let before = flower.events();
    let huge = [&bytes(PNG)[..16], &[0, 1, 0, 0, 0, 1, 0, 0], &bytes(PNG)[24..]].concat();
    let empty = [&bytes(PNG)[..16], &[0; 8], &bytes(PNG)[24..]].concat();
    for (name, content) in [
        ("text.png", b"hello".to_vec()),
        ("nothing.png", vec![]),
        ("page.gif", b"<html><script>alert(1)</script>".to_vec()),
        ("vector.png", b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>".to_vec()),
        ("document.jpg", b"%PDF-1.7\n".to_vec()),
        ("bitmap.png", b"BM\x3a\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x01\0\0\0\x01\0\0\0".to_vec()),
        ("cut.png", bytes(PNG)[..12].to_vec()),
        ("cut.jpg", jpeg()[..30].to_vec()),
        ("huge.png", huge),
        ("empty.png", empty),
    ] {
        let file = flower.file(name, content);
        assert_eq!(flower.fails(&["brief", "note", "1", "x", "--image", &file], 2)["kind"], "invalid", "{name}");
    }
    // Often, because an answer that comes while the picture is still being sent is easily lost.
    let large = flower.file("large.png", padded(MOST + 1));
    for _ in 0..10 {
        let error = flower.fails(&["brief", "note", "1", "x", "--image", &large], 2);
        assert_eq!(error["kind"], "too_large");
        assert!(error["message"].as_str().is_some_and(|m| m.contains("10485760")), "{error}");
    }
    let larger = flower.file("larger.png", padded(17 * 1024 * 1024));
    assert_eq!(flower.fails(&["brief", "note", "1", "x", "--image", &larger], 2)["kind"], "too_large");
    assert_eq!(flower.fails(&["brief", "note", "1", "x", "--image", "/nowhere.png"], 3)["kind"], "not_found");
    assert_eq!((flower.events(), blobs(&flower)), (before, 0));
}

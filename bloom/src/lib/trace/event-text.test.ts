import { describe, expect, it } from "vitest";
import type { EventView } from "../api";
import { linkHref, describeEvent } from "./event-text";

function event(kind: string, body: Record<string, unknown>, more = {}): EventView {
  return { seq: 1, at: "", kind, actor: { type: "agent", name: "a" }, body, ...more } as unknown as EventView;
}

describe("describeEvent", () => {
  it("uses the daemon's words and leads to what they name", () => {
    const moved = event(
      "status_changed",
      { from: "in_progress", to: "in_review" },
      { said: "in progress → in review" },
    );
    expect(describeEvent(moved)).toMatchObject({ what: "status change", detail: "in progress → in review" });
    const linked = event("link_added", { kind: "landing", target: "7", label: "Two" }, { said: "landing Two" });
    expect(describeEvent(linked)).toMatchObject({ what: "link added", detail: "landing Two", href: "/landing/7" });
  });

  it("keeps texts and pictures of people apart from flower's words", () => {
    const images = [
      { sha256: "f".repeat(64), width: 2, height: 1, bytes: 3, media_type: "image/png" },
      { nonsense: 1 },
    ];
    const told = describeEvent(event("comment_added", { text: "**hi**", images }));
    expect(told.text).toBe("**hi**");
    expect(told.detail).toBeUndefined();
    expect(told.pictures).toHaveLength(1);
  });

  it("takes flower's own words for kinds that it does not know", () => {
    const rose = event("moon_rose", {}, { said: "the moon rose" });
    expect(describeEvent(rose)).toMatchObject({ what: "moon rose", detail: "the moon rose" });
    expect(describeEvent(event("moon_rose", {})).detail).toBeUndefined();
  });

  it("survives damaged bodies", () => {
    expect(() => describeEvent(event("comment_added", { text: 4, images: "x" }))).not.toThrow();
  });
});

describe("linkHref", () => {
  it("leads only where it is safe", () => {
    expect(linkHref("address", "javascript:alert(1)")).toBeUndefined();
    expect(linkHref("address", "https://a.example")).toBe("https://a.example");
    expect(linkHref("brief", "../x")).toBeUndefined();
    expect(linkHref("worktree", "a/b")).toBe("/worktrees/a%2Fb");
    expect(linkHref("worktree", "lane", "yard")).toBe("/worktrees/lane?project=yard");
    expect(linkHref("file", "src/a.rs")).toBeUndefined();
  });
});

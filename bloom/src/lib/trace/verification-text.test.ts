import { describe, expect, it } from "vitest";
import { verificationText } from "./verification-text";

const found = { ok: true, verified: 1234, head: "abc", unproved: 0, tables: [] };

describe("a verification", () => {
  it("says how much holds", () => {
    expect(verificationText(found)).toEqual({
      head: "All 1,234 events hold",
      lines: ["The tables match the log."],
      tables: true,
    });
    expect(verificationText({ ...found, unproved: 1 }).lines[0]).toContain("newest 1 event");
  });

  it("says what does not", () => {
    const bad = verificationText({ ...found, ok: false, verified: 7, bad_seq: 8, fault: "its hash is another" });
    expect(bad.head).toBe("Event 8 is not as it was recorded");
    expect(bad.lines[0]).toBe("its hash is another");
    expect(bad.lines[1]).toContain("7 events before it hold");
  });

  it("does not call it good when tables differ", () => {
    const told = verificationText({ ...found, tables: ["briefs"] });
    expect(told.tables).toBe(false);
    expect(told.head).toContain("the tables differ");
    expect(told.lines.join()).toContain("briefs");
  });
});

import { describe, expect, it } from "vitest";
import type { SearchPlace } from "../api";
import { byStatus, found, fromAddress, grouped, keeps, titleHas, toAddress } from "./brief-filter";
import { families, type BriefRow } from "./brief-row";

function row(number: number, more: Partial<BriefRow> = {}): BriefRow {
  return {
    number,
    title: `Brief ${number}`,
    kind: "feature",
    status: "draft",
    epic: undefined,
    projects: ["shop"],
    questions: 0,
    ready: false,
    updated: `2026-01-01T00:00:0${number % 10}Z`,
    ...more,
  };
}
const none = new Set<number>();
const filter = (address: string) => fromAddress(new URLSearchParams(address));

describe("the address", () => {
  it("says the same there and back", () => {
    const address = "?q=dark+mode&show=all&status=planned&kind=fix&project=shop&ready=1&mine=1&order=changed";
    expect(toAddress(filter(address))).toBe(address);
    expect(toAddress(filter(""))).toBe("");
  });

  it("forgets what it does not know", () => {
    expect(filter("?status=nonsense&kind=__proto__").status).toBeUndefined();
    expect(toAddress(filter("?status=nonsense&kind=__proto__"))).toBe("");
  });
});

describe("what is kept", () => {
  it("hides what is through until it is asked for", () => {
    const landed = row(1, { status: "landed" });
    expect(keeps(filter(""), landed, "shop", none)).toBe(false);
    expect(keeps(filter("?show=all"), landed, "shop", none)).toBe(true);
    expect(keeps(filter("?status=landed"), landed, "shop", none)).toBe(true);
    expect(keeps(filter("?q=brief"), landed, "shop", none)).toBe(true);
  });

  it("looks at one project unless told otherwise", () => {
    expect(keeps(filter(""), row(1, { projects: ["other"] }), "shop", none)).toBe(false);
    expect(keeps(filter("?project=*"), row(1, { projects: ["other"] }), "shop", none)).toBe(true);
    expect(keeps(filter("?project=other"), row(1, { projects: ["shop", "other"] }), "shop", none)).toBe(true);
    expect(keeps(filter(""), row(1, { projects: [] }), "shop", none)).toBe(true);
  });

  it("knows what needs the operator", () => {
    expect(keeps(filter("?mine=1"), row(1), "shop", none)).toBe(false);
    expect(keeps(filter("?mine=1"), row(1, { questions: 1 }), "shop", none)).toBe(true);
    expect(keeps(filter("?mine=1"), row(1), "shop", new Set([1]))).toBe(true);
  });
});

describe("typing", () => {
  it("finds words in any order and numbers by their beginning", () => {
    expect(titleHas("mode dark")(row(1, { title: "Dark Mode" }))).toBe(true);
    expect(titleHas("#12")(row(123))).toBe(true);
    expect(titleHas("12")(row(312, { title: "x" }))).toBe(false);
  });
});

describe("groups", () => {
  it("has a heading with a count for each status that has some", () => {
    const lines = grouped([row(3), row(2, { status: "in_review" }), row(1)], "newest");
    expect(lines.map((line) => ("head" in line ? `${line.head} ${line.count}` : line.row.number))).toEqual([
      "in_review 1",
      2,
      "draft 2",
      3,
      1,
    ]);
  });

  it("puts what changed last first when asked", () => {
    const own = byStatus([row(3), row(1), row(9)], "changed").get("draft")!;
    expect(own.map((each) => each.number)).toEqual([9, 3, 1]);
  });
});

describe("a search", () => {
  const hit = (brief: number | null, where: SearchPlace) => ({
    brief,
    where,
    title: "",
    snippet: "",
    marks: [],
    score: 1,
  });
  const known = new Map([1, 2, 3].map((number) => [number, row(number)]));

  it("shows each brief once, titles first, then what the daemon found, in its order", () => {
    const hits = [
      hit(3, "spec"),
      hit(1, "spec"),
      hit(2, "trace"),
      hit(3, "trace"),
      hit(null, "scratchpad"),
      hit(9, "spec"),
    ];
    const lines = found([row(1)], hits, (number) => known.get(number));
    expect(lines.map((line) => ("head" in line ? `${line.head} ${line.count}` : line.row.number))).toEqual([
      "titles 1",
      1,
      "inside 2",
      3,
      2,
    ]);
  });
});

describe("rows", () => {
  it("counts the children of epics", () => {
    const counted = families([row(1), row(2, { epic: 1 }), row(3, { epic: 1, status: "landed" })]);
    expect(counted.get(1)).toEqual({ children: 2, settled: 1 });
    expect(counted.get(2)).toBeUndefined();
  });
});

import { describe, expect, it } from "vitest";
import { pictureOf } from "./stem-layout";
import type { Branch, Picture } from "./stem-picture";
import { many, sample, shoot } from "./stem-sample";
import { along, type Curve, type Point } from "./shapes";

const WIDTHS = [320, 390, 640, 900, 1160, 1680, 2400];

/** Points along a line made of `M x y` and `C …`. */
function points(line: string): Point[] {
  const numbers = line
    .split(/[^\d.-]+/)
    .filter(Boolean)
    .map(Number);
  const pairs = Array.from({ length: numbers.length / 2 }, (_, index): Point => ({
    x: numbers[index * 2] ?? 0,
    y: numbers[index * 2 + 1] ?? 0,
  }));
  const found: Point[] = [];
  for (let at = 0; at + 3 < pairs.length; at += 3) {
    const curve = pairs.slice(at, at + 4) as Curve;
    for (let step = 0; step <= 24; step++) found.push(along(curve, step / 24));
  }
  return found;
}

function cross(a: Point[], b: Point[]): boolean {
  const side = (p: Point, q: Point, r: Point) => Math.sign((q.x - p.x) * (r.y - p.y) - (q.y - p.y) * (r.x - p.x));
  return a.slice(1).some((to, i) =>
    b.slice(1).some((end, j) => {
      const [from, start] = [a[i] ?? to, b[j] ?? end];
      return side(from, to, start) * side(from, to, end) < 0 && side(start, end, from) * side(start, end, to) < 0;
    }),
  );
}

function everything(picture: Picture): Point[] {
  return [
    ...picture.blooms,
    ...picture.branches.flatMap((branch) => [branch.end, ...branch.leaves, ...branch.commits, ...points(branch.line)]),
    ...picture.buds,
    ...picture.petals,
    picture.tip,
    picture.seed,
  ];
}

/** The box of a branch's words. */
function box({ label }: Branch) {
  if (!label) return undefined;
  const wide = Math.max((label.text.length + (label.beside?.length ?? 0)) * 6, (label.more?.length ?? 0) * 5.5);
  return { left: label.x, right: label.x + wide, top: label.y - 9, bottom: label.y + (label.more ? 16 : 2) };
}

describe("the picture of a plant", () => {
  it.each(WIDTHS)("keeps everything inside, however much there is: %i", (width) => {
    for (const plant of [sample(0, []), sample(1, []), many(1, 1), many(12, 18), many(60, 40), many(120, 3)]) {
      const picture = pictureOf(plant, width);
      const outside = everything(picture).filter(
        ({ x, y }) => !(x >= 0 && x <= width && y >= 0 && y <= picture.height),
      );
      expect(outside).toEqual([]);
    }
  });

  it.each(WIDTHS)("draws every worktree and every agent: %i", (width) => {
    const picture = pictureOf(many(60, 40), width);
    expect(picture.branches).toHaveLength(60);
    expect(picture.branches.flatMap((branch) => branch.leaves)).toHaveLength(90);
  });

  it.each(WIDTHS)("lets no branch cross another, and no words lie over others: %i", (width) => {
    for (const plant of [
      many(12, 18),
      many(60, 40),
      sample(
        5,
        Array.from({ length: 30 }, (_, index) => shoot(index, 4)),
      ),
    ]) {
      const { branches } = pictureOf(plant, width);
      const lines = branches.map((branch) => points(branch.line));
      const boxes = branches.map(box);
      for (let a = 0; a < branches.length; a++)
        for (let b = a + 1; b < branches.length; b++) {
          const names = `${branches[a]?.of.name} and ${branches[b]?.of.name}`;
          // Those that begin at one place may share their first steps.
          expect(cross(lines[a]?.slice(8) ?? [], lines[b]?.slice(8) ?? []), names).toBe(false);
          const [one, other] = [boxes[a], boxes[b]];
          if (!one || !other) continue;
          const apart =
            one.right < other.left || other.right < one.left || one.bottom < other.top || other.bottom < one.top;
          expect(apart, `words of ${names}`).toBe(true);
        }
    }
  });

  it("grows to the right on wide pages, newest last, and upwards on narrow ones", () => {
    const plant = many(3, 8);
    const wide = pictureOf(plant, 1200);
    const newest = wide.blooms.find((bloom) => bloom.of.landing === 7);
    const older = wide.blooms.find((bloom) => bloom.of.landing === 6);
    expect(newest?.x).toBeGreaterThan(older?.x ?? Infinity);
    expect(wide.tip.x).toBeGreaterThan(newest?.x ?? Infinity);
    const tall = pictureOf(plant, 390);
    expect(tall.blooms.find((bloom) => bloom.of.landing === 7)?.y).toBeLessThan(
      tall.blooms.find((bloom) => bloom.of.landing === 6)?.y ?? 0,
    );
  });

  it("lets a branch begin at the flower it began at, and go further the more it is ahead", () => {
    const picture = pictureOf(
      sample(6, [shoot(0, 2, { ahead: 1, leaves: [] }), shoot(1, 4, { ahead: 8, leaves: [] })]),
      1200,
    );
    const [short, long] = picture.branches;
    expect(points(short?.line ?? "")[0]?.x).toBeCloseTo(
      picture.blooms.find((bloom) => bloom.of.landing === 2)?.x ?? 0,
      0,
    );
    const length = (branch: Branch | undefined) => (branch?.end.x ?? 0) - (points(branch?.line ?? "")[0]?.x ?? 0);
    expect(length(long)).toBeGreaterThan(length(short));
  });

  it("brings a bud nearer to the stem the further its landing is", () => {
    const at = (way: number) => {
      const plant = sample(6, [shoot(0, 2)], {
        buds: [
          {
            landing: 1,
            title: "",
            state: "queued",
            reason: "",
            tone: "neutral",
            moves: false,
            way,
            worktree: "worktree-0",
          },
        ],
      });
      return pictureOf(plant, 1200).buds[0]?.y ?? 0;
    };
    expect(at(0.55)).toBeGreaterThan(at(0.12));
    expect(at(0.86)).toBeGreaterThan(at(0.55));
  });

  it("leaves out words of blooms rather than to write them over each other", () => {
    const labels = pictureOf(many(2, 40), 900).blooms.flatMap((bloom) => bloom.label ?? []);
    labels.sort((a, b) => a.x - b.x);
    labels.slice(1).forEach((label, index) => {
      const before = labels[index];
      expect(label.x - (before?.x ?? 0)).toBeGreaterThan((label.text.length + (before?.text.length ?? 0)) * 3);
    });
  });
});

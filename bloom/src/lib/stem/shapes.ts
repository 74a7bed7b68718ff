//! Lines of the plant: petals, leaves, stems. Everything is drawn around its own origin.

export interface Point {
  x: number;
  y: number;
}

const n = (value: number) => Number(value.toFixed(1)).toString();

/** `M`, `C` and the like with their numbers. */
export function path(...parts: (string | number)[]): string {
  return parts.map((part) => (typeof part === "number" ? n(part) : part)).join(" ");
}

/** Upwards, `long` high and about half as wide. */
export function petal(long: number, width = 0.56): string {
  const w = long * width;
  return path(
    "M",
    0,
    0,
    "C",
    -w,
    -long * 0.3,
    -w * 0.8,
    -long,
    0,
    -long,
    "C",
    w * 0.8,
    -long,
    w,
    -long * 0.3,
    0,
    0,
    "Z",
  );
}

/** To the right, with a tip. */
export function leaf(long: number): string {
  return path(
    "M",
    0,
    0,
    "C",
    long * 0.2,
    -long * 0.4,
    long * 0.72,
    -long * 0.34,
    long,
    -long * 0.04,
    "C",
    long * 0.74,
    long * 0.2,
    long * 0.28,
    long * 0.24,
    0,
    0,
    "Z",
  );
}

export function vein(long: number): string {
  return path("M", 0, 0, "Q", long * 0.45, -long * 0.1, long * 0.8, -long * 0.06);
}

/** A closed bud, upwards, around its own middle. */
export function bud(long: number): string {
  const w = long * 0.42;
  return path(
    "M",
    0,
    -long * 0.62,
    "C",
    w * 0.9,
    -long * 0.3,
    w * 1.1,
    long * 0.25,
    0,
    long * 0.38,
    "C",
    -w * 1.1,
    long * 0.25,
    -w * 0.9,
    -long * 0.3,
    0,
    -long * 0.62,
    "Z",
  );
}

/** The green that holds a bud. */
export function calyx(long: number): string {
  const w = long * 0.42;
  return path(
    "M",
    -w * 0.82,
    long * 0.02,
    "Q",
    -w * 0.2,
    long * 0.16,
    0,
    -long * 0.08,
    "Q",
    w * 0.2,
    long * 0.16,
    w * 0.82,
    long * 0.02,
    "Q",
    w * 0.6,
    long * 0.46,
    0,
    long * 0.48,
    "Q",
    -w * 0.6,
    long * 0.46,
    -w * 0.82,
    long * 0.02,
    "Z",
  );
}

/** A line that grows thinner from its first point to its last. */
export function tapered(points: Point[], thick: number, thin: number): string {
  const sides = points.map((point, index) => {
    const before = points[Math.max(index - 1, 0)] ?? point;
    const after = points[Math.min(index + 1, points.length - 1)] ?? point;
    const length = Math.hypot(after.x - before.x, after.y - before.y) || 1;
    const half = (thick + (thin - thick) * (index / Math.max(points.length - 1, 1))) / 2;
    const across = { x: (-(after.y - before.y) / length) * half, y: ((after.x - before.x) / length) * half };
    return [
      { x: point.x + across.x, y: point.y + across.y },
      { x: point.x - across.x, y: point.y - across.y },
    ] as const;
  });
  const around = [...sides.map(([one]) => one), ...sides.toReversed().map(([, other]) => other)];
  return path(...around.flatMap((point, index) => [index === 0 ? "M" : "L", point.x, point.y]), "Z");
}

/** A part of a circle from the top, clockwise; `share` from 0 to 1. */
export function arc(radius: number, share: number): string {
  const turn = Math.min(share, 0.999) * 2 * Math.PI;
  const end = { x: Math.sin(turn) * radius, y: -Math.cos(turn) * radius };
  return path("M", 0, -radius, "A", radius, radius, 0, share > 0.5 ? 1 : 0, 1, end.x, end.y);
}

export type Curve = [Point, Point, Point, Point];

export function along([a, b, c, d]: Curve, t: number): Point {
  const s = 1 - t;
  const mix = (p: number, q: number, r: number, u: number) =>
    s * s * s * p + 3 * s * s * t * q + 3 * s * t * t * r + t * t * t * u;
  return { x: mix(a.x, b.x, c.x, d.x), y: mix(a.y, b.y, c.y, d.y) };
}

/** Which way the curve goes there, in degrees; 0 is to the right. */
export function heading(curve: Curve, t: number): number {
  const before = along(curve, Math.max(t - 0.02, 0));
  const after = along(curve, Math.min(t + 0.02, 1));
  return (Math.atan2(after.y - before.y, after.x - before.x) * 180) / Math.PI;
}

export function curvePath([a, b, c, d]: Curve): string {
  return path("M", a.x, a.y, "C", b.x, b.y, c.x, c.y, d.x, d.y);
}

/** Always the same for the same text, from 0 to 1: what makes no two petals alike. */
export function chance(text: string): number {
  let sum = 2166136261;
  for (const letter of text) sum = Math.imul(sum ^ (letter.codePointAt(0) ?? 0), 16777619);
  return ((sum >>> 0) % 1000) / 1000;
}

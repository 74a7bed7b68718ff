import { expect, it } from "vitest";
import { BOX, layoutGraph } from "./graph-layout";
import type { GraphModel } from "./graph-model";

it("places 60 briefs without laying one over another", () => {
  const node = (number: number) => ({ id: String(number), label: "", note: "", href: "", tone: "neutral" }) as const;
  const graph: GraphModel = {
    nodes: Array.from({ length: 60 }, (_, at) => node(at)),
    edges: Array.from({ length: 59 }, (_, at) => ({
      from: String(Math.floor(at / 3)),
      to: String(at + 1),
      sort: "needs",
    })),
  };
  const placed = layoutGraph(graph);
  const boxes = [...placed.boxes.values()];
  for (const [at, one] of boxes.entries())
    for (const other of boxes.slice(at + 1))
      expect(Math.abs(one.x - other.x) >= BOX.width || Math.abs(one.y - other.y) >= BOX.height).toBe(true);
  expect(placed.paths.every((path) => path.startsWith("M"))).toBe(true);
  expect(placed.width).toBeGreaterThan(BOX.width);
});

//! The layout of a graph. Loaded with `import()`, because dagre is large.
import dagre from "@dagrejs/dagre";
import type { GraphModel } from "./graph-model";

export const BOX = { width: 190, height: 44 };

export interface GraphLayout {
  width: number;
  height: number;
  /** The upper left corner of each box. */
  boxes: Map<string, { x: number; y: number }>;
  /** SVG paths, in the order of the edges. */
  paths: string[];
}

export function layoutGraph({ nodes, edges }: GraphModel): GraphLayout {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: "LR", nodesep: 14, ranksep: 56, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) graph.setNode(node.id, { ...BOX });
  edges.forEach((edge, at) => graph.setEdge(edge.from, edge.to, {}, String(at)));
  dagre.layout(graph);
  const boxes = new Map(
    nodes.map((node) => {
      const { x, y } = graph.node(node.id) as { x: number; y: number };
      return [node.id, { x: x - BOX.width / 2, y: y - BOX.height / 2 }] as const;
    }),
  );
  const paths = edges.map((edge, at) => {
    const { points } = graph.edge({ v: edge.from, w: edge.to, name: String(at) }) as { points: Point[] };
    return curve(points);
  });
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return { width, height, boxes, paths };
}

interface Point {
  x: number;
  y: number;
}

/** A soft line through the middles between the points. */
function curve(points: Point[]): string {
  const [first, ...rest] = points;
  if (!first || rest.length === 0) return "";
  const round = (value: number) => Math.round(value * 10) / 10;
  let path = `M${round(first.x)} ${round(first.y)}`;
  rest.forEach((point, at) => {
    const next = rest[at + 1];
    if (!next) path += `L${round(point.x)} ${round(point.y)}`;
    else
      path += `Q${round(point.x)} ${round(point.y)} ${round((point.x + next.x) / 2)} ${round((point.y + next.y) / 2)}`;
  });
  return path;
}

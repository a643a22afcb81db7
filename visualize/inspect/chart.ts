/**
 * A machine as a picture: states get boxes, transitions arrows with their events and guards (layered layout), and the
 * whole becomes SVG. Pure; runs in the page and in Node.
 *
 * - A transition that stays is a line in its state's box, one that re-enters its state an arrow of its own, one from a
 *   state into itself starts at "anywhere in ...".
 * - Arrows between the same two states are one arrow with a line for each transition.
 * - Every text is escaped; the SVG needs nothing from elsewhere and follows the reader's colour scheme.
 */
import { Graph, layout } from '@dagrejs/dagre';
import {
  type MachineLike,
  type MachineParts,
  machineParts,
  type StatePart,
  type TransitionPart,
} from './chart-parts.ts';

export { activeIds, type MachineLike, transitionsTaken } from './chart-parts.ts';

/** A place in the picture: pixels from the top left. */
interface Point {
  readonly x: number;
  readonly y: number;
}
/** A line of text in a box or at an arrow. */
export interface Line {
  readonly text: string /** Transition that it tells of. */;
  readonly transition: string | null;
  readonly weak: boolean;
}
/** A box: a state, the dot where a machine begins, or the place from which transitions of a state into itself start. */
export interface ChartNode {
  readonly id: string;
  readonly kind: 'state' | 'initial' | 'anywhere';
  /** Null for what is no state. */
  readonly state: StatePart | null;
  readonly title: string;
  /** Work, entry and exit actions, and transitions that stay. */
  readonly lines: readonly Line[];
  /** Top left corner. */
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}
/** An arrow from node to node, with all transitions that it stands for. */
export interface ChartEdge {
  readonly id: string;
  readonly source: string;
  readonly target: string;
  readonly transitions: readonly string[];
  /** SVG path from border to border. */
  readonly path: string;
  /** Middle of the label. */
  readonly label: Point;
  readonly lines: readonly Line[];
}
/** A picture with its places, in pixels. */
export interface Chart {
  readonly parts: MachineParts;
  readonly width: number;
  readonly height: number;
  /** Parents before children. */
  readonly nodes: readonly ChartNode[];
  readonly edges: readonly ChartEdge[];
}

/** Pixels. Widths of text are estimated: no font is at hand in Node. */
export const look = {
  titleChar: 7.6,
  lineChar: 6.1,
  title: 22,
  line: 15,
  padX: 12,
  padY: 8,
  labelLine: 14,
  lineCharsMax: 34,
} as const;
const margin = 12;

/** Lays a machine out from top to bottom. The same machine gives the same picture. */
export const layoutChart = (machine: MachineLike): Chart => {
  const parts = machineParts(machine);
  const byId = new Map(parts.states.map((s) => [s.id, s]));
  const boxes = new Map<string, Draft>(parts.states.map((s) => [s.id, stateDraft(s, parts.transitions)]));
  const arrows = new Map<
    string,
    { readonly source: string; readonly target: string; readonly transitions: TransitionPart[] }
  >();
  for (const t of parts.transitions) {
    for (const target of t.targets) {
      const source =
        isWithin(byId, target, t.source) && (target !== t.source || byId.get(target)!.children.length > 0)
          ? anywhere(boxes, byId.get(t.source)!)
          : t.source;
      const key = `${source} > ${target}`;
      const arrow = arrows.get(key) ?? { source, target, transitions: [] };
      arrow.transitions.push(t);
      arrows.set(key, arrow);
    }
  }
  for (const s of parts.states) {
    if (s.initial === null) continue;
    const id = `${s.id}@initial`;
    boxes.set(id, { id, kind: 'initial', state: null, parent: s.id, title: '', lines: [], width: 12, height: 12 });
    arrows.set(id, { source: id, target: s.initial, transitions: [] });
  }
  return place(parts, boxes, arrows);
};

interface Draft extends Omit<ChartNode, 'x' | 'y'> {
  readonly parent: string | null;
}
interface Arrow {
  readonly source: string;
  readonly target: string;
  readonly transitions: readonly TransitionPart[];
}

const isWithin = (byId: ReadonlyMap<string, StatePart>, id: string, ancestor: string): boolean => {
  for (let s = byId.get(id); s; s = s.parent === null ? undefined : byId.get(s.parent))
    if (s.id === ancestor) return true;
  return false;
};

const anywhere = (boxes: Map<string, Draft>, state: StatePart): string => {
  const id = `${state.id}@anywhere`;
  const title = 'in any state';
  boxes.set(id, {
    id,
    kind: 'anywhere',
    state: null,
    parent: state.id,
    title,
    lines: [],
    width: title.length * look.lineChar + 2 * look.padX,
    height: 22,
  });
  return id;
};

const stateDraft = (state: StatePart, transitions: readonly TransitionPart[]): Draft => {
  const line = (text: string, transition: string | null, weak: boolean): readonly Line[] =>
    wrapped(text).map((part) => ({ text: part, transition, weak }));
  const lines = [
    ...state.invokes.flatMap((name) => line(`does “${name}”`, null, false)),
    ...state.entry.flatMap((name) => line(`entry: ${name}`, null, true)),
    ...state.exit.flatMap((name) => line(`exit: ${name}`, null, true)),
    ...transitions
      .filter((t) => t.source === state.id && t.targets.length === 0)
      .flatMap((t) => {
        const ignored = t.actions.length === 0 && t.guard === null;
        return line(`${ignored ? 'ignores' : '↻'} ${t.name}${t.guard ? ` [${t.guard}]` : ''}`, t.id, ignored);
      }),
  ];
  const width =
    Math.max(state.key.length * look.titleChar, ...lines.map((l) => l.text.length * look.lineChar), 44) + 2 * look.padX;
  return {
    id: state.id,
    kind: 'state',
    state,
    parent: state.parent,
    title: state.key,
    lines,
    width: Math.ceil(width),
    height: headHeight(lines),
  };
};
const headHeight = (lines: readonly Line[]): number =>
  look.title + (lines.length > 0 ? lines.length * look.line + 4 : 0) + look.padY;

/** Breaks at spaces, so that no line is much longer than `lineCharsMax`; lines that follow are indented. */
const wrapped = (text: string): readonly string[] => {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > look.lineCharsMax) {
    const at = rest.lastIndexOf(' ', look.lineCharsMax);
    if (at < 8) break;
    lines.push(rest.slice(0, at));
    rest = `   ${rest.slice(at + 1)}`;
  }
  return [...lines, rest];
};

const labelLines = (transitions: readonly TransitionPart[]): readonly Line[] =>
  transitions.flatMap((t) => {
    const whole = `${t.name}${t.guard ? ` [${t.guard}]` : ''}`;
    const two = whole.length > 28 && t.guard ? [t.name, `[${t.guard}]`] : [whole];
    return two.map((text, at) => ({ text, transition: t.id, weak: at > 0 }));
  });

/** The ids from the state itself up to the root. */
const lineage = (boxes: ReadonlyMap<string, Draft>, id: string): readonly string[] => {
  const ids: string[] = [];
  for (let at: string | null = id; at !== null; at = boxes.get(at)!.parent) ids.push(at);
  return ids;
};

/**
 * A part of an arrow inside one group. A port stands for the group's lower or upper border, where the arrow goes on in
 * the group around it.
 */
interface Segment {
  readonly arrow: string;
  readonly group: string;
  readonly from: string;
  readonly to: string;
  readonly port: 'none' | 'out' | 'in';
  readonly lines: readonly Line[];
}
const portOf = (arrow: string, group: string): string => `${arrow}@port of ${group}`;

/** Cuts an arrow where it crosses borders; its label is in the innermost group that holds both ends. */
const segmentsOf = (
  boxes: ReadonlyMap<string, Draft>,
  id: string,
  { source, target, transitions }: Arrow,
): readonly Segment[] => {
  const up = lineage(boxes, source);
  const down = lineage(boxes, target);
  const shared = up.slice(1).find((g) => down.slice(1).includes(g));
  if (shared === undefined) return [];
  const segments: Segment[] = [];
  const outer = up.slice(0, up.indexOf(shared));
  const inner = down.slice(0, down.indexOf(shared));
  for (const [at, item] of outer.slice(0, -1).entries())
    segments.push({
      arrow: id,
      group: outer[at + 1]!,
      from: item,
      to: portOf(id, outer[at + 1]!),
      port: 'out',
      lines: [],
    });
  segments.push({
    arrow: id,
    group: shared,
    from: outer.at(-1)!,
    to: inner.at(-1)!,
    port: 'none',
    lines: labelLines(transitions),
  });
  for (let at = inner.length - 2; at >= 0; at--)
    segments.push({
      arrow: id,
      group: inner[at + 1]!,
      from: portOf(id, inner[at + 1]!),
      to: inner[at]!,
      port: 'in',
      lines: [],
    });
  return segments;
};

interface GraphLike {
  setGraph(label: object): void;
  setNode(id: string, label: object): void;
  setEdge(source: string, target: string, label: object, name: string): void;
  node(id: string): { readonly x: number; readonly y: number; readonly width: number; readonly height: number };
  edge(
    source: string,
    target: string,
    name: string,
  ): { readonly points: readonly Point[]; readonly x?: number; readonly y?: number };
}
interface Rect {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}
interface Route {
  readonly segment: Segment;
  readonly points: readonly Point[];
  readonly label: Point;
}
/** What is inside a group, with the group's own upper left corner as origin. */
interface Inside {
  readonly width: number;
  readonly height: number;
  readonly rects: ReadonlyMap<string, Rect>;
  readonly routes: readonly Route[];
  readonly ports: ReadonlyMap<string, Point>;
}

const textWidth = (lines: readonly Line[]): number => Math.max(0, ...lines.map((l) => l.text.length * look.lineChar));

const place = (parts: MachineParts, boxes: ReadonlyMap<string, Draft>, arrows: ReadonlyMap<string, Arrow>): Chart => {
  const segments = [...arrows].flatMap(([id, a]) => segmentsOf(boxes, id, a));
  const insides = new Map<string, Inside>();
  // Children come after their parents, so from behind every group finds the sizes of those in it.
  for (const state of [...parts.states].reverse()) {
    if (state.children.length === 0) continue;
    const items = [...boxes.values()].filter((b) => b.parent === state.id);
    insides.set(
      state.id,
      layoutGroup(
        boxes.get(state.id)!,
        items,
        segments.filter((s) => s.group === state.id),
        insides,
      ),
    );
  }
  const rects = new Map<string, Rect>();
  const root = parts.states[0]!.id;
  const own = insides.get(root);
  rects.set(root, {
    x: margin,
    y: margin,
    width: own?.width ?? boxes.get(root)!.width,
    height: own?.height ?? boxes.get(root)!.height,
  });
  for (const { id } of parts.states) {
    const at = rects.get(id)!;
    for (const [item, r] of insides.get(id)?.rects ?? []) rects.set(item, { ...r, x: r.x + at.x, y: r.y + at.y });
  }
  return drawn(parts, boxes, arrows, rects, insides);
};

/** Room right of a state for arrows from it to itself. */
const loopRoom = (segments: readonly Segment[], id: string): number => {
  const loops = segments.filter((s) => s.from === id && s.to === id);
  return loops.length === 0 ? 0 : 34 + Math.max(...loops.map((s) => textWidth(s.lines)));
};

const layoutGroup = (
  group: Draft,
  items: readonly Draft[],
  segments: readonly Segment[],
  insides: ReadonlyMap<string, Inside>,
): Inside => {
  const sizes = new Map(
    items.map((i) => [
      i.id,
      { width: insides.get(i.id)?.width ?? i.width, height: insides.get(i.id)?.height ?? i.height },
    ]),
  );
  const straight = segments.filter((s) => s.from !== s.to);
  const build = (minlen: (s: Segment) => number, ports: boolean): GraphLike => {
    const graph = new (Graph as unknown as new (options: object) => GraphLike)({ multigraph: true });
    graph.setGraph({ rankdir: 'TB', nodesep: 26, edgesep: 18, ranksep: 20, marginx: 0, marginy: 0 });
    for (const [id, { width, height }] of sizes) graph.setNode(id, { width: width + loopRoom(segments, id), height });
    for (const s of straight.filter((x) => ports || x.port === 'none')) {
      if (s.port !== 'none') graph.setNode(s.port === 'out' ? s.to : s.from, { width: 2, height: 2 });
      const width = textWidth(s.lines);
      graph.setEdge(
        s.from,
        s.to,
        {
          width: width === 0 ? 0 : width + 10,
          height: s.lines.length * look.labelLine,
          labelpos: 'c',
          minlen: minlen(s),
          weight: s.from.endsWith('@initial') ? 3 : 1,
        },
        s.arrow,
      );
    }
    (layout as unknown as (graph: GraphLike) => void)(graph);
    return graph;
  };
  let graph = build(() => 1, false);
  if (straight.some((s) => s.port !== 'none')) {
    // Ports belong behind, or before, everything else: as many ranks away as there are.
    const levels = [...new Set(items.map((i) => Math.round(graph.node(i.id).y)))].sort((a, b) => a - b);
    const level = (id: string): number => levels.indexOf(Math.round(graph.node(id).y));
    const lengths = new Map(
      straight
        .filter((s) => s.port !== 'none')
        .map((s) => [s, s.port === 'out' ? levels.length - level(s.from) : level(s.to) + 1]),
    );
    graph = build((s) => lengths.get(s) ?? 1, true);
  }
  return inside(graph, group, sizes, segments);
};

const inside = (
  graph: GraphLike,
  group: Draft,
  sizes: ReadonlyMap<string, { readonly width: number; readonly height: number }>,
  segments: readonly Segment[],
): Inside => {
  const straight = segments.filter((s) => s.from !== s.to);
  const pad = 16;
  const xs = [0, ...straight.flatMap((s) => graph.edge(s.from, s.to, s.arrow).points.map((p) => p.x))];
  const dx = pad - Math.min(...xs);
  const dy = group.height + 6;
  const rects = new Map<string, Rect>();
  const ports = new Map<string, Point>();
  for (const [id, size] of sizes) {
    const n = graph.node(id);
    rects.set(id, { x: n.x - n.width / 2 + dx, y: n.y - n.height / 2 + dy, ...size });
  }
  const routes: Route[] = straight.map((segment) => {
    const e = graph.edge(segment.from, segment.to, segment.arrow);
    const points = e.points.map((p) => ({ x: p.x + dx, y: p.y + dy }));
    // The layout's node is wider than the box when arrows lead from it to itself.
    if (loopRoom(segments, segment.from) > 0) points[0] = towards(rects.get(segment.from)!, points[1]!);
    if (loopRoom(segments, segment.to) > 0) points[points.length - 1] = towards(rects.get(segment.to)!, points.at(-2)!);
    return { segment, points, label: { x: (e.x ?? 0) + dx, y: (e.y ?? 0) + dy } };
  });
  for (const segment of segments.filter((s) => s.from === s.to)) routes.push(loop(segment, rects.get(segment.from)!));
  const right = Math.max(
    ...[...rects.values()].map((r) => r.x + r.width),
    ...routes.flatMap((r) => [...r.points.map((p) => p.x), r.label.x + textWidth(r.segment.lines) / 2]),
  );
  const bottom = Math.max(
    ...[...rects.values()].map((r) => r.y + r.height),
    ...routes.flatMap((r) => r.points.map((p) => p.y)),
  );
  const height = bottom + pad;
  for (const s of straight.filter((x) => x.port !== 'none')) {
    const n = graph.node(s.port === 'out' ? s.to : s.from);
    ports.set(s.arrow, { x: n.x + dx, y: s.port === 'out' ? height : 0 });
  }
  return { width: Math.max(group.width, right + pad), height, rects, routes, ports };
};

/** Where the line from the middle of the box to the point crosses its border. */
const towards = (box: Rect, to: Point): Point => {
  const x = box.x + box.width / 2;
  const y = box.y + box.height / 2;
  const dx = to.x - x;
  const dy = to.y - y;
  const t = Math.min(1, dx === 0 ? 1 : box.width / 2 / Math.abs(dx), dy === 0 ? 1 : box.height / 2 / Math.abs(dy));
  return { x: x + dx * t, y: y + dy * t };
};

const loop = (segment: Segment, box: Rect): Route => {
  const x = box.x + box.width;
  const y = box.y + box.height / 2;
  const reach = 26;
  return {
    segment,
    points: [
      { x, y: y - 8 },
      { x: x + reach, y: y - 14 },
      { x: x + reach, y: y + 14 },
      { x, y: y + 8 },
    ],
    label: { x: x + reach + 2 + textWidth(segment.lines) / 2, y },
  };
};

const drawn = (
  parts: MachineParts,
  boxes: ReadonlyMap<string, Draft>,
  arrows: ReadonlyMap<string, Arrow>,
  rects: ReadonlyMap<string, Rect>,
  insides: ReadonlyMap<string, Inside>,
): Chart => {
  const order = [
    ...parts.states.map((s) => s.id),
    ...[...boxes.keys()].filter((id) => boxes.get(id)!.kind !== 'state'),
  ];
  const nodes = order.map((id): ChartNode => {
    const { kind, state, title, lines } = boxes.get(id)!;
    const r = rects.get(id)!;
    return {
      id,
      kind,
      state,
      title,
      lines,
      x: round(r.x),
      y: round(r.y),
      width: round(r.width),
      height: round(r.height),
    };
  });
  const routes = new Map<string, Route[]>();
  for (const [id, inner] of insides) {
    const at = rects.get(id)!;
    const move = (p: Point): Point => ({ x: p.x + at.x, y: p.y + at.y });
    for (const { segment, points, label } of inner.routes) {
      const list = routes.get(segment.arrow) ?? [];
      list.push({ segment, points: joined(segment, points, insides, id).map(move), label: move(label) });
      routes.set(segment.arrow, list);
    }
  }
  const edges = [...arrows].flatMap(([id, arrow]): readonly ChartEdge[] => {
    const own = segmentsOf(boxes, id, arrow).map((s) => routes.get(id)!.find((r) => r.segment.group === s.group)!);
    const main = own.find((r) => r.segment.port === 'none');
    if (!main) return [];
    return [
      {
        id,
        source: arrow.source,
        target: arrow.target,
        transitions: arrow.transitions.map((t) => t.id),
        path: curve(own.flatMap((r) => r.points)),
        label: { x: round(main.label.x), y: round(main.label.y) },
        lines: main.segment.lines,
      },
    ];
  });
  const root = rects.get(parts.states[0]!.id)!;
  return {
    parts,
    width: Math.ceil(root.width + 2 * margin),
    height: Math.ceil(root.height + 2 * margin),
    nodes,
    edges,
  };
};
const round = (n: number): number => Math.round(n * 10) / 10;

/** Begins and ends where the arrow's parts inside and outside of a border meet. */
const joined = (
  { arrow, from, to, port }: Segment,
  points: readonly Point[],
  insides: ReadonlyMap<string, Inside>,
  group: string,
): readonly Point[] => {
  const own = insides.get(group)!;
  const meet = (item: string): Point | undefined => {
    const at = own.rects.get(item);
    const p = insides.get(item)?.ports.get(arrow);
    return at && p && { x: at.x + p.x, y: at.y + p.y };
  };
  const start = meet(from);
  const end = meet(to);
  const inner = [...points];
  if (start) inner[0] = start;
  if (end) inner[inner.length - 1] = end;
  if (port === 'out') inner[inner.length - 1] = own.ports.get(arrow)!;
  if (port === 'in') inner[0] = own.ports.get(arrow)!;
  return inner;
};

/** A curve that starts and ends in the first and last point and is pulled by those between. */
const curve = (points: readonly Point[]): string => {
  const at = (p: Point): string => `${round(p.x)} ${round(p.y)}`;
  const half = (a: Point, b: Point): Point => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 });
  if (points.length < 3) return points.map((p, i) => `${i === 0 ? 'M' : 'L'}${at(p)}`).join('');
  const inner = points
    .slice(1, -1)
    .map((p, i) => `Q${at(p)} ${at(i === points.length - 3 ? points.at(-1)! : half(p, points[i + 2]!))}`);
  return `M${at(points[0]!)}${inner.join('')}`;
};

/** What is lit in a picture. Numbers of steps are written at the transitions that they took. */
interface Lit {
  readonly active?: ReadonlySet<string>;
  readonly visited?: ReadonlySet<string>;
  readonly taken?: ReadonlyMap<string, readonly number[]>;
  readonly title?: string;
}

/** The chart as an SVG file. */
export const chartSvg = (
  chart: Chart,
  { active = new Set(), visited = new Set(), taken = new Map(), title }: Lit = {},
): string => {
  const out: string[] = [];
  const top = title === undefined ? 0 : 26;
  const height = chart.height + top;
  out.push(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${chart.width} ${height}" width="${chart.width}" height="${height}" role="img" aria-label="${escapeXml(title ?? `state chart of ${chart.parts.id}`)}">`,
  );
  out.push(
    `<style>${svgStyle}</style><defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path class="tip" d="M0 1L10 5L0 9z"/></marker></defs>`,
  );
  out.push(`<rect class="paper" width="${chart.width}" height="${height}"/>`);
  if (title !== undefined)
    out.push(`<text class="title" x="${margin}" y="20">${escapeXml(title)}</text><g transform="translate(0 ${top})">`);
  for (const node of chart.nodes)
    out.push(nodeSvg(node, `${active.has(node.id) ? ' active' : ''}${visited.has(node.id) ? ' visited' : ''}`, taken));
  for (const edge of chart.edges) {
    const hit = edge.transitions.some((t) => taken.has(t));
    out.push(`<path class="edge${hit ? ' taken' : ''}" d="${edge.path}" marker-end="url(#arrow)"/>`);
  }
  for (const edge of chart.edges) out.push(labelSvg(edge, taken));
  if (title !== undefined) out.push('</g>');
  return `${out.join('\n')}\n</svg>\n`;
};

const nodeSvg = (n: ChartNode, classes: string, taken: ReadonlyMap<string, readonly number[]>): string => {
  if (n.kind === 'initial') return `<circle class="dot" cx="${round(n.x + 6)}" cy="${round(n.y + 6)}" r="6"/>`;
  const type = n.kind === 'anywhere' ? 'anywhere' : n.state!.type;
  const box = `<rect class="state ${type}${classes}" x="${n.x}" y="${n.y}" width="${n.width}" height="${n.height}" rx="${n.kind === 'anywhere' ? 11 : 8}"/>`;
  const inner =
    type === 'final'
      ? `<rect class="inner${classes}" x="${n.x + 3}" y="${n.y + 3}" width="${n.width - 6}" height="${n.height - 6}" rx="6"/>`
      : '';
  if (n.kind === 'anywhere')
    return `${box}<text class="line" x="${n.x + look.padX}" y="${n.y + 15}">${escapeXml(n.title)}</text>`;
  const rows = n.lines.map(
    (l, i) =>
      `<text class="line${l.weak ? ' weak' : ''}${l.transition !== null && taken.has(l.transition) ? ' hit' : ''}" x="${n.x + look.padX}" y="${round(lineY(n, i))}">${escapeXml(l.text)}${numbers(l, taken)}</text>`,
  );
  return [
    box,
    inner,
    `<text class="name" x="${n.x + look.padX}" y="${n.y + 18}">${escapeXml(n.title)}</text>`,
    ...rows,
  ].join('');
};
/** Base line of a node's n-th line. */
export const lineY = (node: { readonly y: number }, at: number): number => node.y + look.title + 12 + at * look.line;

const labelSvg = (edge: ChartEdge, taken: ReadonlyMap<string, readonly number[]>): string =>
  edge.lines
    .map(
      (l, i) =>
        `<text class="label${l.transition !== null && taken.has(l.transition) ? ' hit' : ''}" x="${edge.label.x}" y="${round(labelY(edge, i))}">${escapeXml(l.text)}${i + 1 < edge.lines.length && edge.lines[i + 1]!.transition === l.transition ? '' : numbers(l, taken)}</text>`,
    )
    .join('');
/** Base line of an edge's n-th line. */
export const labelY = (edge: ChartEdge, at: number): number =>
  edge.label.y - (edge.lines.length * look.labelLine) / 2 + 11 + at * look.labelLine;

const numbers = (line: Line, taken: ReadonlyMap<string, readonly number[]>): string => {
  const steps = line.transition === null ? undefined : taken.get(line.transition);
  return steps && steps.length > 0
    ? `<tspan class="step"> ${steps.slice(0, 6).join(' ')}${steps.length > 6 ? ' …' : ''}</tspan>`
    : '';
};

/** Text that stays text wherever it stands in XML; characters that XML cannot hold become a replacement character. */
export const escapeXml = (text: string): string =>
  text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');

const svgStyle = `
text{font-family:system-ui,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;fill:#1d2733;white-space:pre}
.paper{fill:#fff}.title{font-size:15px;font-weight:600}.name{font-size:13px;font-weight:600}.line{font-size:11px}.weak{fill:#56657a}
.label{font-size:11px;text-anchor:middle;paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}
.state{fill:#fff;stroke:#8a97a8;stroke-width:1.25}.compound,.parallel{fill:#f5f7fa}.parallel{stroke-dasharray:6 3}.anywhere{fill:#eef1f5;stroke-dasharray:3 3}
.inner{fill:none;stroke:#8a97a8}.visited{stroke:#1668b8}.active{stroke:#1668b8;stroke-width:2}.active.atomic,.active.final{fill:#d7ebff}
.edge{fill:none;stroke:#76859a;stroke-width:1.25}.taken{stroke:#1668b8;stroke-width:2}.tip{fill:#56657a}.dot{fill:#56657a}.hit{font-weight:600;fill:#0f5499}.step{fill:#a34700;font-weight:700}
@media(prefers-color-scheme:dark){text{fill:#e6ebf2}.paper{fill:#14191f}.weak{fill:#9aa8ba}.label{stroke:#14191f}.state{fill:#1b222b;stroke:#6b7a8f}.compound,.parallel{fill:#171d25}.anywhere{fill:#222b36}
.inner{stroke:#6b7a8f}.visited{stroke:#5eb0ff}.active{stroke:#5eb0ff}.active.atomic,.active.final{fill:#123a61}.edge{stroke:#7d8ca1}.taken{stroke:#5eb0ff}.tip,.dot{fill:#a5b2c4}.hit{fill:#8cc6ff}.step{fill:#ffb26b}}
`.replaceAll('\n', '');

/**
 * What a chart shows of a machine: its states and transitions as plain data, before anything has a place. Pure; runs in
 * the page and in Node.
 */

/** As much of an XState machine as is read. */
export interface MachineLike {
  readonly root: unknown;
}
interface TransitionLike {
  readonly eventType: string;
  readonly target?: readonly { readonly id: string }[];
  readonly guard?: unknown;
  readonly actions: readonly unknown[];
  readonly reenter?: boolean;
}
interface NodeLike {
  readonly id: string;
  readonly key: string;
  readonly path: readonly string[];
  readonly type: StateType;
  readonly states: Readonly<Record<string, NodeLike>>;
  readonly initial?: { readonly target?: readonly { readonly id: string }[] };
  readonly invoke: readonly { readonly id: string; readonly src: unknown }[];
  readonly entry: readonly unknown[];
  readonly exit: readonly unknown[];
  readonly transitions: ReadonlyMap<string, readonly TransitionLike[]>;
  readonly always?: readonly TransitionLike[];
}

/** XState's types of states. */
type StateType = 'atomic' | 'compound' | 'parallel' | 'final' | 'history';
/** A state. */
export interface StatePart {
  /** XState's id: `pool.closing.choosing`. */
  readonly id: string;
  readonly parent: string | null;
  readonly key: string;
  /** Keys from below the root, with dots; empty for the root. As records name states. */
  readonly path: string;
  readonly type: StateType;
  readonly initial: string | null;
  readonly children: readonly string[];
  readonly entry: readonly string[];
  readonly exit: readonly string[];
  /** Work that runs while the state is active. */
  readonly invokes: readonly string[];
}
/** A transition; `source` and `targets` are ids of states. */
export interface TransitionPart {
  readonly id: string;
  /** XState's event type; empty for one that is taken at once. */
  readonly event: string;
  /** The event in words. */
  readonly name: string;
  readonly guard: string | null;
  readonly actions: readonly string[];
  readonly source: string;
  /** Empty: the state stays. */
  readonly targets: readonly string[];
  readonly reenter: boolean;
}
/** A machine as plain data. */
export interface MachineParts {
  readonly id: string;
  readonly states: readonly StatePart[];
  readonly transitions: readonly TransitionPart[];
}

/** States in document order (parents first) and their transitions in the order in which XState tries them. */
export const machineParts = (machine: MachineLike): MachineParts => {
  const states: StatePart[] = [];
  const transitions: TransitionPart[] = [];
  const walk = (node: NodeLike, parent: string | null): void => {
    const children = Object.values(node.states);
    states.push({
      id: node.id,
      parent,
      key: node.key,
      path: node.path.join('.'),
      type: node.type,
      initial: node.type === 'compound' ? (node.initial?.target?.[0]?.id ?? null) : null,
      children: children.map((c) => c.id),
      entry: node.entry.map(nameOf).filter((name) => name !== ''),
      exit: node.exit.map(nameOf).filter((name) => name !== ''),
      invokes: node.invoke.map((i) => nameOf(i.src)),
    });
    const own = [...[...node.transitions.values()].flat(), ...(node.always ?? [])];
    for (const [at, t] of own.entries()) {
      transitions.push({
        id: `${node.id}#${at}`,
        event: t.eventType,
        name: eventName(t.eventType, node),
        guard: t.guard === undefined ? null : nameOf(t.guard),
        actions: t.actions.map(nameOf).filter((name) => name !== ''),
        source: node.id,
        targets: (t.target ?? []).map((x) => x.id),
        reenter: t.reenter ?? false,
      });
    }
    for (const child of children) walk(child, node.id);
  };
  const root = machine.root as NodeLike;
  walk(root, null);
  return { id: root.id, states, transitions };
};

/** The name of an action, guard or actor source; empty for what XState adds itself. */
const nameOf = (part: unknown): string => {
  if (typeof part === 'string') return part;
  const type = typeof part === 'object' && part !== null ? (part as { readonly type?: unknown }).type : undefined;
  return typeof type === 'string' && !type.startsWith('xstate.') ? type : '';
};

const eventName = (event: string, node: NodeLike): string => {
  const ended = /^xstate\.(done|error)\.actor\.(.*)$/.exec(event);
  if (ended) {
    const invoke = node.invoke.find((i) => i.id === ended[2]);
    const who = invoke ? `“${nameOf(invoke.src)}”` : ended[2] === '*' ? 'a child' : ended[2]!;
    return `${who} ${ended[1] === 'done' ? 'is done' : 'broke'}`;
  }
  const after = /^xstate\.after\.(.*)$/.exec(event);
  if (after) return `after ${after[1]!.replace(new RegExp(`\\.${escaped(node.id)}$`), '')}`;
  if (event.startsWith('xstate.done.state.')) return 'all is done';
  return event === '' ? 'at once' : event;
};
const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/**
 * Ids of the states that are active when these leaves (`['ready.idle']`, as records name them) are, parents included.
 */
export const activeIds = (states: readonly StatePart[], leaves: readonly string[]): ReadonlySet<string> => {
  const byPath = new Map(states.map((s) => [s.path, s]));
  const byId = new Map(states.map((s) => [s.id, s]));
  const found = new Set<string>();
  for (const leaf of leaves) {
    for (let state = byPath.get(leaf); state; state = state.parent === null ? undefined : byId.get(state.parent))
      found.add(state.id);
  }
  return found;
};

/** A message as far as it tells which transitions it took. */
interface Taken {
  readonly event: { readonly type: string };
  readonly from: readonly string[];
  readonly to: readonly string[];
}

/**
 * The transitions that a message took, as far as its event and the states before and after tell: the one for the event,
 * and those taken at once behind it. Guards are not run: of several that fit, the one with the fewest steps, and
 * without a guard, is named.
 */
export const transitionsTaken = (
  { states, transitions }: MachineParts,
  { event, from, to }: Taken,
): readonly string[] => {
  const before = activeIds(states, from);
  const after = activeIds(states, to);
  const moved = from.join() !== to.join();
  const byId = new Map(states.map((s) => [s.id, s]));
  const depth = (id: string): number => {
    let n = 0;
    for (let s = byId.get(id); s?.parent; s = byId.get(s.parent)) n++;
    return n;
  };
  const fits = (t: TransitionPart): boolean =>
    t.event === event.type || (t.event.endsWith('*') && event.type.startsWith(t.event.slice(0, -1)));
  const own = transitions
    .filter((t) => before.has(t.source) && fits(t))
    .sort((a, b) => depth(b.source) - depth(a.source));
  const paths = own
    .map((first) => [first, ...atOnce(transitions, byId, first.targets[0], after)])
    .filter((steps) => {
      const last = steps.at(-1)!;
      return last.targets.length === 0 ? !moved : last.targets.some((id) => after.has(id));
    });
  const close = paths.filter(
    (steps) => steps[0]!.source === paths[0]![0]!.source && steps.length === Math.min(...paths.map((p) => p.length)),
  );
  const path = close.find(([first]) => first!.guard === null) ?? close[0] ?? paths[0];
  if (path) return path.map((t) => t.id);
  // The event stayed and something was taken at once: a job that comes to an idle pool.
  for (const first of own.filter((t) => t.targets.length === 0)) {
    for (const leaf of before) {
      const steps = atOnce(transitions, byId, leaf, after);
      if (steps.length > 0 && steps.at(-1)!.targets.some((id) => after.has(id)))
        return [preferred(own, first).id, ...steps.map((t) => t.id)];
    }
  }
  return [];
};
const preferred = (own: readonly TransitionPart[], first: TransitionPart): TransitionPart =>
  own.find((t) => t.source === first.source && t.targets.length === 0 && t.guard === null) ?? first;

/**
 * Steps that are taken at once from a state until one that is active afterwards; none when the state is active itself.
 */
const atOnce = (
  transitions: readonly TransitionPart[],
  byId: ReadonlyMap<string, StatePart>,
  start: string | undefined,
  after: ReadonlySet<string>,
): readonly TransitionPart[] => {
  const seen = new Set<string>();
  const search = (id: string | undefined): readonly TransitionPart[] | undefined => {
    if (id === undefined || seen.has(id)) return undefined;
    seen.add(id);
    const inner = byId.get(id)?.initial;
    if (after.has(id) && (inner === null || inner === undefined || [...after].some((x) => x.startsWith(`${id}.`))))
      return [];
    for (const t of transitions.filter((x) => x.event === '' && x.source === id)) {
      const rest = search(t.targets[0]);
      if (rest) return [t, ...rest];
    }
    return inner ? search(inner) : undefined;
  };
  return search(start) ?? [];
};

/**
 * Worlds: the courses that a row may have taken through rewrites, as far as the commits tell. A row begins in an object
 * that was loaded; each step that an object goes into sends it into one of the step's outputs, or into none, whatever
 * it does on other branches.
 */

/** A part of a rewrite: rows of the inputs are in the outputs, or were deleted. */
export interface LineageStep {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

/**
 * The objects of both sides of a merge and of its base. `rowBase`: the rows of the base; given the rows of objects,
 * since a base of several commits is no set of objects alone.
 */
export interface Sides<Id extends string> {
  readonly base: ReadonlySet<Id>;
  readonly rowBase: <Row>(rows: (objects: ReadonlySet<Id>) => ReadonlySet<Row>) => ReadonlySet<Row>;
  readonly target: ReadonlySet<Id>;
  readonly child: ReadonlySet<Id>;
}

/** A row stays where both sides have it, and comes or goes as the side wanted that changed it. */
export const threeWay = <T>(base: ReadonlySet<T>, one: ReadonlySet<T>, two: ReadonlySet<T>): Set<T> =>
  new Set([...one, ...two].filter((x) => (base.has(x) ? one.has(x) && two.has(x) : true)));

const worldsMax = 3000;

/**
 * `wrong`: a world in which the result does not have a row once where it belongs, or has it where it does not.
 * `tooMany`: not all were looked at.
 */
export const worldsOf = (
  steps: readonly LineageStep[],
  sides: Sides<string>,
  result: ReadonlySet<string>,
): { readonly wrong?: string; readonly tooMany: boolean } => {
  const into = new Map<string, LineageStep[]>();
  const made = new Map<string, LineageStep>();
  for (const step of steps) {
    for (const id of step.inputs) into.set(id, [...(into.get(id) ?? []), step]);
    for (const id of step.outputs) made.set(id, step);
  }
  let tooMany = false;
  for (const root of rootsOf([...sides.base, ...sides.target, ...sides.child], made)) {
    const worlds = courses(root, into);
    tooMany ||= worlds.length >= worldsMax;
    for (const holders of worlds) {
      const has = (objects: ReadonlySet<string>): ReadonlySet<string> =>
        new Set([...holders].some((id) => objects.has(id)) ? [root] : []);
      const inBase = sides.rowBase(has).has(root);
      const inTarget = has(sides.target).has(root);
      const inChild = has(sides.child).has(root);
      const wanted = Number(inBase ? inTarget && inChild : inTarget || inChild);
      const found = [...holders].filter((id) => result.has(id));
      if (found.length !== wanted)
        return {
          wrong: `a row of ${root} that went through ${[...holders].join(' ')} is in ${found.join(' ') || 'none'}, ${wanted} wanted`,
          tooMany,
        };
    }
  }
  return { tooMany };
};

/** The loaded objects that these came from. */
const rootsOf = (ids: readonly string[], made: ReadonlyMap<string, LineageStep>): ReadonlySet<string> => {
  const roots = new Set<string>();
  const seen = new Set<string>();
  const next = [...ids];
  for (let id = next.pop(); id !== undefined; id = next.pop()) {
    if (seen.has(id)) continue;
    seen.add(id);
    const step = made.get(id);
    if (step) next.push(...step.inputs);
    else roots.add(id);
  }
  return roots;
};

/** The sets of objects that may hold a row of this one, each a world. */
const courses = (root: string, into: ReadonlyMap<string, readonly LineageStep[]>): readonly ReadonlySet<string>[] => {
  let worlds: {
    readonly holders: ReadonlySet<string>;
    readonly open: readonly LineageStep[];
    readonly passed: ReadonlySet<LineageStep>;
  }[] = [{ holders: new Set([root]), open: into.get(root) ?? [], passed: new Set() }];
  const ended: ReadonlySet<string>[] = [];
  for (let world = worlds.pop(); world && ended.length < worldsMax; world = worlds.pop()) {
    const {
      holders,
      open: [step, ...rest],
      passed,
    } = world;
    if (!step) {
      ended.push(holders);
      continue;
    }
    if (passed.has(step)) {
      worlds = [...worlds, { holders, open: rest, passed }];
      continue;
    }
    const now = new Set([...passed, step]);
    worlds.push({ holders, open: rest, passed: now });
    for (const id of step.outputs)
      worlds.push({ holders: new Set([...holders, id]), open: [...rest, ...(into.get(id) ?? [])], passed: now });
  }
  return ended;
};

/**
 * Plans of queries that come again: of the same text, about the same commits. Dashboards and clients ask the same few
 * over and over. A count of 1,000,000 rows takes 0.65 of the processor time, from the request to the answer. With what
 * objects remember of their columns (`summariesOfAll` in lake/objects/reader.ts) 90 sums of one column take 0.16.
 *
 * Invariants:
 * - A plan is what analysis makes of the text, the options and the commits, which are all in the key. Where it asked for
 *   more (a view, a file, the time), it is not kept.
 * - A text is kept from its second time on: most come once, and cost no more than a place in a table.
 * - What is kept is bounded in number and size, and no plan changes anything by itself.
 */
import { type CompileOptions, compile } from '../../query/analyze.ts';
import type { CompileEnvironment, Plan, PlanOp } from '../../query/plan/plan.ts';
import type { Prefetched, TaskRequest } from '../messages.ts';

/** Plans and keys that are kept, those that came least recently go first. */
const plansMax = 64;
const keysMax = 1024;
/** A longer text is not kept, nor a plan of more parts: nodes, values of constants, characters of texts. */
const textCharactersMax = 16_384;
const planPartsMax = 20_000;
/** These change something, or look at what is there when they run. */
const changes: ReadonlySet<PlanOp['kind']> = new Set(['load', 'changeRows', 'changeView']);

/** What a plan is made of. */
export interface PlanRequest {
  readonly text: string;
  readonly options: CompileOptions;
  readonly environment: CompileEnvironment;
  /** What else decides what names mean in that environment. */
  readonly meaning: Pick<TaskRequest & { readonly kind: 'query' }, 'head' | 'indexBase'>;
  /** The pools that names of the text stand for. */
  readonly prefetched: readonly Prefetched[];
}
/** `varies`: the query may answer otherwise from the same commits. */
export interface MadePlan {
  readonly plan: Plan;
  readonly varies: boolean;
}

/** The plans of one worker. */
export class KnownPlans {
  private readonly plans = new Map<string, Plan>();
  private readonly keys = new Set<string>();

  /** @throws CompileError */
  async of(request: PlanRequest): Promise<MadePlan> {
    const key = keyOf(request);
    if (key === undefined) return made(request);
    const known = this.plans.get(key);
    if (known) {
      this.plans.delete(key);
      this.plans.set(key, known);
      return { plan: known, varies: false };
    }
    const { plan, varies, hasAsked } = await made(request);
    if (!varies && !hasAsked) this.keep(key, plan);
    return { plan, varies };
  }
  private keep(key: string, plan: Plan): void {
    if (!this.keys.delete(key)) {
      this.keys.add(key);
      dropFirst(this.keys, keysMax);
      return;
    }
    if (plan.pipeline.ops.some(({ kind }) => changes.has(kind)) || !isSmall(plan)) return;
    this.plans.set(key, plan);
    dropFirst(this.plans, plansMax);
  }
}
const dropFirst = (kept: Map<string, Plan> | Set<string>, most: number): void => {
  if (kept.size <= most) return;
  for (const key of kept.keys()) {
    kept.delete(key);
    return;
  }
};

/** Undefined for what is not kept. */
const keyOf = ({ text, options, meaning: { head, indexBase }, prefetched }: PlanRequest): string | undefined =>
  text.length > textCharactersMax || prefetched.length === 0 || prefetched.some(({ at }) => at === undefined)
    ? undefined
    : JSON.stringify([
        text,
        options,
        head ?? null,
        indexBase ?? null,
        prefetched.map(({ name, commit = null, source, at }) => [name, commit, source, at]),
      ]);

/** `hasAsked`: of what is in no key. */
const made = async ({
  text,
  options,
  environment,
}: PlanRequest): Promise<MadePlan & { readonly hasAsked: boolean }> => {
  let varies = false;
  let hasAsked = false;
  const watched = watchedFor(environment, () => {
    varies = true;
  });
  const resolve: CompileEnvironment['resolve'] = (source) => {
    hasAsked = true;
    return environment.resolve(source);
  };
  const plan = await compile(text, { ...watched, resolve }, options);
  return { plan, varies, hasAsked };
};

/** The same environment; tells of what makes a query answer otherwise from the same commits. */
export const watchedFor = (environment: CompileEnvironment, varies: () => void): CompileEnvironment => ({
  ...environment,
  functions: {
    ...environment.functions,
    find: (name) => {
      const found = environment.functions.find(name);
      if (found?.impure) varies();
      return found;
    },
  },
  varies,
});

/** Whether a plan has few parts. */
const isSmall = (plan: Plan): boolean => {
  const seen = new Set<unknown>();
  const open: unknown[] = [plan];
  let parts = 0;
  while (open.length > 0) {
    const part = open.pop();
    parts += typeof part === 'string' ? 1 + (part.length >> 3) : 1;
    if (parts > planPartsMax) return false;
    if (typeof part !== 'object' || part === null || seen.has(part)) continue;
    seen.add(part);
    if (ArrayBuffer.isView(part)) parts += part.byteLength >> 3;
    else for (const inner of Object.values(part)) open.push(inner);
  }
  return true;
};

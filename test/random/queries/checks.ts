/**
 * What is asked of a random query: it ends in rows or in an error of the language, the same in every variant of the
 * engine, and its predicates part the rows.
 *
 * - Variants: rules on and off, other batches, other forms of vectors, rows out of stored objects.
 * - TLP: `where p`, `where not p`, `where p is null` and `where is_error(p)` together give the rows that there are, and
 *   aggregates over them agree.
 * - NoREC: `where p` keeps as many rows as `p` is true for where it is merely worked out.
 * - Printing: the text of an expression parses to that expression.
 */
import type { EngineSettings } from '../../../src/commands/query.ts';
import { LakeError } from '../../../src/errors.ts';
import { execute } from '../../../src/exec/compile.ts';
import { compile } from '../../../src/query/analyze.ts';
import { CompileError } from '../../../src/query/parse/error.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { fuseRows } from '../../../src/vectors/fuse.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import type { Type } from '../../../src/vectors/type.ts';
import type { Vector } from '../../../src/vectors/vector.ts';
import { engineVariants, isOverMemory } from '../../support/queries/engine-variants.ts';
import { fileEnvironment } from '../../support/queries/environment.ts';
import { type Random, randomOf } from '../../support/random.ts';
import { contextOf, supOf } from '../../support/queries/run-plan.ts';
import { type RandomPool, randomPool } from './pools.ts';
import { mixedRows } from './rows.ts';
import { QueryTexts, settle } from './texts.ts';

export interface QueryCase {
  readonly declarations: readonly string[];
  readonly stages: readonly string[];
  readonly rows: readonly string[];
  /** Rows of the table `other`. */
  readonly other: readonly string[];
  /** The compiler is told the types of the rows. */
  readonly typed: boolean;
  /** Variants that are tried. */
  readonly variants: readonly string[];
  /** Absent: not partitioned. */
  readonly predicate?: string;
  /** Absent: not as a pool. */
  readonly poolSeed?: number;
}
interface Answer {
  readonly rows: readonly string[];
  readonly error?: string;
  readonly internal?: string;
  /** The error came from rows, not from the compiler. */
  readonly isOfRows?: boolean;
}

export const textOf = (c: Pick<QueryCase, 'declarations' | 'stages'>): string =>
  [...c.declarations, c.stages.join(' | ')].join('\n');

/** The case of a seed and a number: the same everywhere. */
export const queryCase = (seed: number, index: number): QueryCase => {
  const random = randomOf((Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b)) >>> 0);
  const texts = new QueryTexts(random);
  const { declarations, stages } = texts.query();
  const variants = Object.keys(engineVariants);
  return {
    declarations,
    stages,
    rows: mixedRows(random, random.below(25)),
    other: mixedRows(random, random.below(8)),
    typed: random.below(3) === 0,
    variants: [variants[0]!, ...picked(random, variants.slice(1), 2)],
    ...(random.below(3) === 0 && { predicate: texts.bool(2) }),
    ...(random.below(4) === 0 && { poolSeed: random.below(1 << 30) }),
  };
};
const picked = <T>(random: Random, items: readonly T[], count: number): T[] =>
  Array.from({ length: count }, () => random.pick(items));

const read = new WeakMap<readonly string[], Vector>();
const vectorOfRows = (rows: readonly string[]): Vector => {
  let v = read.get(rows);
  if (!v) read.set(rows, (v = vectorOf(parseSupValues(rows.join('\n')))));
  return v;
};

/**
 * Runs a query over the case's rows. Errors of the language are answers; everything else that is thrown is `internal`.
 */
const answerOf = async (
  query: string,
  c: Pick<QueryCase, 'rows' | 'other' | 'typed'>,
  settings: EngineSettings = {},
  pool?: RandomPool,
): Promise<Answer> => {
  const inputs = { input: pool?.rows ?? vectorOfRows(c.rows), other: vectorOfRows(c.other) };
  const typed = (v: Vector): Type | undefined => (c.typed && !pool ? fuseRows(v) : undefined);
  const rows: string[] = [];
  try {
    const files = fileEnvironment(
      { input: typed(inputs.input), other: typed(inputs.other) },
      { kind: 'name', name: 'input' },
    );
    const fromPool = pool && settings.host === pool.host;
    const plan = await compile(
      query,
      fromPool
        ? {
            ...files,
            resolve: (r) =>
              r.kind === 'name' && r.name === 'input' ? Promise.resolve([pool.source]) : files.resolve(r),
          }
        : files,
      settings,
    );
    const context = contextOf(inputs, {
      spill: true,
      ...(settings.batchRows !== undefined && { batchRows: settings.batchRows }),
      ...(settings.memoryBytesMax !== undefined && { memoryBytesMax: settings.memoryBytesMax }),
    });
    const surroundings = {
      ...context,
      host: settings.host?.(context.host) ?? context.host,
      ...(settings.reshape && { reshape: settings.reshape }),
    };
    for await (const { channel, batch } of execute(plan, surroundings))
      if (channel === 'main') rows.push(...supOf([batch]).split('\n').slice(0, -1));
    return { rows };
  } catch (problem) {
    if (problem instanceof CompileError) return { rows, error: problem.message };
    if (problem instanceof LakeError) return { rows, error: problem.message, isOfRows: true };
    return { rows, internal: problem instanceof Error ? (problem.stack ?? problem.message) : String(problem) };
  }
};
const textOfAnswer = (a: Answer): string => a.internal ?? a.error ?? a.rows.join('\n');
/**
 * Whether two plans of a query answer as promised: alike, or both with an error of their rows. Which of several rows
 * comes first, and so whose error ends the query, is for the plan to choose; that one does is not.
 */
const areAlike = (a: Answer, b: Answer): boolean =>
  (a.isOfRows === true && b.isOfRows === true && !isOverMemory(a.error) && !isOverMemory(b.error)) ||
  textOfAnswer(a) === textOfAnswer(b);
const sorted = (rows: readonly string[]): string => [...rows].sort().join('\n');

/**
 * What is wrong with the engine's answers to this case; undefined: nothing. `ran` counts cases that the compiler takes.
 */
export const faultOf = async (
  c: QueryCase,
  told: { ran: number; partitioned: number } = { ran: 0, partitioned: 0 },
): Promise<string | undefined> => {
  const query = textOf(c);
  const usual = await answerOf(query, c);
  if (usual.internal !== undefined) return `internal: ${usual.internal}`;
  if (usual.error === undefined) told.ran++;
  for (const name of c.variants) {
    const other = await answerOf(query, c, engineVariants[name]);
    if (!isOverMemory(other.error) && !areAlike(other, usual))
      return `${name}:\n${textOfAnswer(other)}\nusual:\n${textOfAnswer(usual)}`;
  }
  return (await partitionFault(c, told)) ?? poolFault(c);
};

const partitionFault = async (c: QueryCase, told: { partitioned: number }): Promise<string | undefined> => {
  const p = c.predicate;
  if (p === undefined) return undefined;
  const over = (stages: readonly string[]): Promise<Answer> =>
    answerOf(textOf({ declarations: c.declarations, stages }), c);
  const whole = await over(['pass']);
  const parts = [`where ${p}`, `where not (${p})`, `where (${p}) is null`, `where is_error(${p})`];
  const answers = await Promise.all(parts.map((stage) => over([stage])));
  const bad = answers.find((a) => a.internal !== undefined);
  if (bad) return `predicate ${p}: ${bad.internal}`;
  if (answers.some((a) => a.error !== undefined)) return undefined;
  told.partitioned++;
  const together = sorted(answers.flatMap((a) => a.rows));
  if (together !== sorted(whole.rows)) return `TLP ${p}:\n${together}\nall rows:\n${sorted(whole.rows)}`;
  const aggregates =
    'count(),count(k),sum(k) filter (is(k,<int64>)),min(k) filter (is(k,<int64>)),max(b) filter (is(b,<string>)),union(k),dcount(a)';
  for (const keys of ['', ' by k', ' by b,d.a']) {
    const direct = await over([`${aggregates}${keys}`, settle]);
    const parted = await over([`fork ${parts.map((s) => `(${s})`).join(' ')}`, `${aggregates}${keys}`, settle]);
    if (textOfAnswer(direct) !== textOfAnswer(parted))
      return `TLP ${p} (${aggregates}${keys}):\n${textOfAnswer(parted)}\nof all rows:\n${textOfAnswer(direct)}`;
  }
  const kept = await over([`where ${p}`, 'count()']);
  const worked = await answerOf(
    textOf({ declarations: c.declarations, stages: [`values {p:${p}}`, 'where p == true', 'count()'] }),
    c,
    { rulesOff: 'all' },
  );
  if (textOfAnswer(kept) !== textOfAnswer(worked))
    return `NoREC ${p}: ${textOfAnswer(kept)} and ${textOfAnswer(worked)}`;
  return undefined;
};

/**
 * The rows as a pool: answers are those over the rows as its scan gives them; where nobody asks for their order, but
 * for the order.
 */
const poolFault = async (c: QueryCase): Promise<string | undefined> => {
  if (c.poolSeed === undefined) return undefined;
  const pool = await randomPool(vectorOfRows(c.rows), randomOf(c.poolSeed));
  const { host } = pool;
  const key = pool.source.sortKeys![0]!.join('.');
  const order = pool.source.order!;
  const query = textOf(c);
  const usual = await answerOf(query, c, { rulesOff: 'all' }, pool);
  const found = await answerOf(query, c, { rulesOff: ['unordered-scan'], host }, pool);
  if (!areAlike(found, usual))
    return `pool by ${key} ${order}:\n${textOfAnswer(found)}\nusual:\n${textOfAnswer(usual)}`;
  const p = c.predicate ?? `${key}==1`;
  const again = { declarations: c.declarations };
  const others = [
    [`where ${p}`, settle],
    [`where ${key}>=1 and ${key}<3`, `count(),min(a),max(b),union(k) by ${key}`, settle],
    ['put z:=1', `count(),sum(z) by k,${key}`, settle],
    [`where ${key}==2`, 'count()'],
    ['head 3'],
    [`sort ${key}, this`, settle, 'head 2'],
    ...['head 1', 'head 5', 'tail 2'].flatMap((end) =>
      ['', '-r '].map((way) => [`sort ${way}${key}, ${settle.slice('sort '.length)}`, end]),
    ),
    [`where ${p}`, `sort -r ${key}, ${settle.slice('sort '.length)}`, 'head 2'],
    [`where ${p}`, `sort ${key} nulls first, ${settle.slice('sort '.length)}`, 'head 2'],
  ];
  for (const stages of others) {
    const text = textOf({ ...again, stages });
    const a = await answerOf(text, c, { rulesOff: 'all' }, pool);
    const b = await answerOf(text, c, { host }, pool);
    if (!areAlike(a, b)) return `pool by ${key} ${order}, ${text}:\n${textOfAnswer(b)}\nusual:\n${textOfAnswer(a)}`;
  }
  return undefined;
};

/** A smaller case with a fault of the same kind: stages, declarations and rows are taken away while it stays. */
export const shrunk = async (c: QueryCase, fault: string): Promise<QueryCase> => {
  const kind = fault.split(/[:\n]/)[0]!;
  let best = c;
  const still = async (smaller: QueryCase): Promise<boolean> => {
    const found = await faultOf(smaller).catch((problem: unknown) => `internal: ${String(problem)}`);
    if (found?.split(/[:\n]/)[0] !== kind) return false;
    best = smaller;
    return true;
  };
  for (let changed = true; changed; ) {
    changed = false;
    for (const key of ['stages', 'declarations', 'rows', 'other', 'variants'] as const) {
      for (let i = best[key].length - 1; i >= 0; i--) {
        if (key === 'stages' && (best.stages.length === 1 || best.stages[i] === settle)) continue;
        // A sort that settles an order goes with the stage that needs it.
        const gone = key === 'stages' && best.stages[i + 1] === settle ? 2 : 1;
        if (
          (key !== 'stages' || best.stages.length > gone) &&
          (await still({ ...best, [key]: best[key].toSpliced(i, gone) }))
        )
          changed = true;
      }
    }
  }
  return best;
};

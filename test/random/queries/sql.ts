/**
 * Random SQL queries that DuckDB understands too: both engines must give the same rows. Each grammar brings tables of
 * its own: plain.ts, mixed.ts, joins.ts, decimals.ts, wide.ts, windows.ts,
 * sql-features.ts. Statements over tables of joins run over pools too.
 */
import { execute } from '../../../src/exec/compile.ts';
import type { ExecutionHost } from '../../../src/exec/source.ts';
import { compile } from '../../../src/query/analyze.ts';
import type { CompileEnvironment } from '../../../src/query/plan/plan.ts';
import { fuseRows } from '../../../src/vectors/fuse.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import type { Data, Value } from '../../../src/vectors/value.ts';
import { type RecordType, types } from '../../../src/vectors/type.ts';
import { type Vector, valueAt } from '../../../src/vectors/vector.ts';
import { type DuckResult, type DuckTable, type DuckValue, duckdbJobs } from '../../support/queries/duckdb.ts';
import { fileEnvironment, viewEnvironment } from '../../support/queries/environment.ts';
import { type Random, randomOf } from '../../support/random.ts';
import { DecimalTexts, decimalTable } from './decimals.ts';
import { JoinTexts, joinTables } from './joins.ts';
import { MixedTexts, mixedTables } from './mixed.ts';
import { randomPools } from './pools.ts';
import { PlainTexts, type SqlCase, both, plainSup, plainTables } from './plain.ts';
import { WideTexts, wideTables } from './wide.ts';
import { duckTables, features, randomQuery as featureQuery, randomTables, supText } from './sql-features.ts';
import { duckTable, randomQuery as windowQuery, randomRows, supRows as windowSup } from './windows.ts';
import { contextOf } from '../../support/queries/run-plan.ts';

type Cell = DuckValue;
const cellOf = ({ type, data }: Value): Cell => {
  switch (type.kind) {
    case 'union':
      return cellOf(data as Value);
    case 'named':
      return cellOf({ type: type.inner, data });
    case 'error':
      return type.inner.kind === 'primitive' && data === 'missing' ? null : `error ${String(data)}`;
    case 'array':
    case 'set':
      return (data as readonly Data[]).map((d) => cellOf({ type: type.element, data: d }));
    case 'record':
      return Object.fromEntries(fieldCells(type, data));
    case 'map':
      return Object.fromEntries(
        (data as readonly (readonly [Data, Data])[])
          .map(([key, value]): [string, Cell] => [
            String(cellOf({ type: type.key, data: key })),
            cellOf({ type: type.value, data: value }),
          ])
          .sort(([a], [b]) => (a < b ? -1 : 1)),
      );
    default:
      if (data === null) return null;
      if (type === types.time) return timeText(BigInt(data as number | bigint));
      if (type === types.duration) return { seconds: Number(data) / 1e9 };
      return typeof data === 'bigint' ? Number(data) : (data as Cell);
  }
};
const fieldCells = (type: RecordType, data: Data): (readonly [string, Cell])[] =>
  type.fields.map((f, i) => {
    const cell = (data as readonly (Data | undefined)[])[i];
    return [f.name, cell === undefined ? null : cellOf({ type: f.type, data: cell })];
  });
/** Nanoseconds since 1970 as Python writes times: a fraction of six digits, or none. */
const timeText = (nanoseconds: bigint): string => {
  const micros = nanoseconds / 1000n;
  const rest = ((micros % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const seconds = Number((micros - rest) / 1_000_000n);
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}${rest === 0n ? '' : `.${String(rest).padStart(6, '0')}`}Z`;
};
const rowOf = (value: Value): readonly Cell[] =>
  value.type.kind === 'record' ? fieldCells(value.type, value.data).map(([, cell]) => cell) : [cellOf(value)];

/**
 * Twelve digits of numbers are enough, or ten where one ends just there: sums of floats depend on their order, and
 * differences of near ones lose digits. Texts of decimals have as many zeros at their end as the engine's types say.
 */
const digitsEnough = [12, 10] as const;
const keyOf = (row: readonly Cell[], digits: number): string => JSON.stringify(row.map((c) => rounded(c, digits)));
const rounded = (c: Cell, digits: number): Cell => {
  if (typeof c === 'number')
    return Number.isFinite(c) ? (Math.abs(c) < 1e-12 ? 0 : Number(c.toPrecision(digits)) + 0) : infinite(c);
  if (typeof c === 'string') return c.replace(/-?\d+\.\d+/g, (x) => x.replace(/\.?0+$/, '').replace(/^-0$/, '0'));
  if (Array.isArray(c)) return (c as readonly Cell[]).map((x) => rounded(x, digits));
  return c !== null && typeof c === 'object'
    ? Object.fromEntries(Object.entries(c).map(([name, cell]) => [name, rounded(cell, digits)]))
    : c;
};
const infinite = (x: number): string => (Number.isNaN(x) ? 'NaN' : x > 0 ? 'Inf' : '-Inf');

const oursOf = async (
  query: string,
  tables: Readonly<Record<string, Vector>>,
  { environment, host = {} }: { readonly environment: CompileEnvironment; readonly host?: Partial<ExecutionHost> },
): Promise<readonly (readonly Cell[])[] | string> => {
  try {
    const plan = await compile(query, environment);
    const out: (readonly Cell[])[] = [];
    for await (const { batch } of execute(plan, contextOf(tables, { batchRows: 4, host })))
      for (let i = 0; i < batch.length; i++) out.push(rowOf(valueAt(batch, i)));
    return out;
  } catch (problem) {
    return problem instanceof Error ? problem.message : String(problem);
  }
};

/** Statements that share their tables: those of each kind in turn. */
const perTables = 40;
interface SqlWork {
  readonly tables: readonly DuckTable[];
  readonly sup: Readonly<Record<string, string>>;
  readonly cases: readonly SqlCase[];
  /** The tables are pools as well, which scans filter by what joins ask. */
  readonly poolSeed?: number;
}
const plainWork = (random: Random): SqlWork => {
  const tables = plainTables(random);
  const texts = new PlainTexts(random);
  return {
    tables,
    sup: Object.fromEntries(tables.map((t) => [t.name, plainSup(t)])),
    cases: Array.from({ length: perTables }, () => texts.statement()),
  };
};
const mixedWork = (random: Random): SqlWork => {
  const made = mixedTables(random);
  const texts = new MixedTexts(random);
  return { ...made, cases: Array.from({ length: perTables }, () => ({ ...both(texts.statement()), ordered: false })) };
};
const joinWork = (random: Random): SqlWork => {
  const made = joinTables(random);
  const texts = new JoinTexts(random);
  return {
    ...made,
    poolSeed: random.below(2 ** 31),
    cases: Array.from({ length: perTables }, () => ({ ...both(texts.statement()), ordered: false })),
  };
};
const decimalWork = (random: Random): SqlWork => {
  const { table, sup } = decimalTable(random);
  const texts = new DecimalTexts(random);
  return {
    tables: [table],
    sup: { d: sup },
    cases: Array.from({ length: perTables }, () => ({ ...both(texts.statement()), ordered: false })),
  };
};
const wideWork = (random: Random): SqlWork => {
  const made = wideTables(random);
  const texts = new WideTexts(random);
  return { ...made, cases: Array.from({ length: perTables }, () => texts.statement()) };
};
const windowWork = (random: Random): SqlWork => {
  const rows = randomRows(random, 1 + random.below(30));
  return {
    tables: [duckTable(rows)],
    sup: { t: windowSup(rows) },
    cases: Array.from({ length: perTables }, () => ({ ...windowQuery(random.below(2 ** 31)), ordered: true })),
  };
};
const featureWork = (random: Random): SqlWork => {
  const rows = randomTables(random);
  return {
    tables: duckTables(rows),
    sup: Object.fromEntries(Object.entries(rows).map(([name, of]) => [name, supText(of)])),
    cases: Array.from({ length: perTables }, (_, i) => ({
      ...both(featureQuery(features[i % features.length]!, random.below(2 ** 31))),
      ordered: false,
    })),
  };
};
const works = [
  plainWork,
  mixedWork,
  joinWork,
  wideWork,
  decimalWork,
  joinWork,
  windowWork,
  mixedWork,
  joinWork,
  wideWork,
  featureWork,
  joinWork,
] as const;

/**
 * Compares the statements of these numbers with DuckDB. A statement that DuckDB refuses (an overflow, say) is not
 * compared. `began` hears the number of each statement before it runs.
 */
export const sqlFaults = async (
  work: { readonly seed: number; readonly start: number; readonly end: number; readonly cpuMsMax: number },
  told: { readonly began: (index: number) => void; readonly fault: (index: number, text: string) => void },
): Promise<number> => {
  const { seed, start, end } = work;
  let compared = 0;
  const parts: { readonly at: number; readonly work: SqlWork }[] = [];
  for (let at = start - (start % perTables); at < end; at += perTables) {
    const random = randomOf((Math.imul(seed, 0x9e3779b1) ^ Math.imul(at + 1, 0xc2b2ae35)) >>> 0);
    parts.push({ at, work: works[(at / perTables) % works.length]!(random) });
  }
  const answers = duckdbJobs(
    parts.map(({ work: { tables, cases } }) => ({ tables, statements: cases.map((c) => c.theirs) })),
  );
  for (const [part, { at, work: made }] of parts.entries()) {
    const { tables, sup, cases } = made;
    const inputs = Object.fromEntries(tables.map((t) => [t.name, vectorOf(parseSupValues(sup[t.name]!))]));
    const types = Object.fromEntries(Object.entries(inputs).map(([name, v]) => [name, fuseRows(v)]));
    const places = [{ environment: fileEnvironment(types) }, { environment: viewEnvironment(types) }];
    if (made.poolSeed !== undefined) places.push(await randomPools(inputs, randomOf(made.poolSeed)));
    for (const [k, c] of cases.entries()) {
      const index = at + k;
      const theirs = answers[part]![k]!;
      if (index < start || index >= end || 'error' in theirs) continue;
      compared++;
      told.began(index);
      const began = process.cpuUsage();
      const ours = await oursOf(c.ours, inputs, places[k % places.length]!);
      const { user, system } = process.cpuUsage(began);
      const cpuMs = (user + system) / 1000;
      const fault =
        differenceOf(c, ours, theirs) ?? (cpuMs > work.cpuMsMax ? `takes ${Math.round(cpuMs)} ms` : undefined);
      if (fault === undefined) continue;
      const rows = tables.map((t) => `${t.name}: ${sup[t.name]!.trim().replaceAll('\n', ' ')}`);
      told.fault(index, [c.ours, `DuckDB: ${c.theirs}`, ...rows, fault].join('\n'));
    }
  }
  return compared;
};
const differenceOf = (
  c: SqlCase,
  ours: readonly (readonly Cell[])[] | string,
  theirs: Extract<DuckResult, { rows: unknown }>,
): string | undefined => {
  if (typeof ours === 'string') return `fails: ${ours}`;
  const texts = digitsEnough.map((digits) =>
    [ours, theirs.rows].map((rows) => {
      const keys = rows.map((row) => keyOf(row, digits));
      return (c.ordered ? keys : keys.sort()).join('\n');
    }),
  );
  const [[a, b] = []] = texts;
  return texts.some(([x, y]) => x === y) ? undefined : `ours:\n${a}\ntheirs:\n${b}`;
};

/**
 * Query text to plan: parse, analyze (names, SQL, types where they are known), then the rules.
 *
 * Invariants:
 * - Analysis itself is synchronous and pure: a source that is not resolved yet is noted down, awaited by `compile`, and
 *   the analysis starts again with the answer. A source is resolved once, so that all its uses in one query read the
 *   same commit.
 * - Errors come in the order of discovery. Errors of names and structure go first; types are checked only when there
 *   are none.
 */
import assert from 'node:assert';
import { types } from '../vectors/type.ts';
import type {
  Assignment,
  CompileEnvironment,
  MergeClause,
  Pipeline,
  Plan,
  PlanExpr,
  PlanFunction,
  PlanOp,
  PoolContent,
  Pruner,
  ResolvedSource,
  SourceRequest,
} from './plan/plan.ts';
import { Analysis, type Resolution } from './analyze/context.ts';
import { queryOfChange } from './analyze/changes.ts';
import { lowerMain } from './analyze/main.ts';
import { pathSpelledAs } from './analyze/sources.ts';
import { ViewTexts } from './analyze/view-texts.ts';
import { CompileError, type QuerySource, joinSources } from './parse/error.ts';
import type { ChangeRowsOp, MergeRowsOp, QueryNode, SqlExplain, SqlQuery } from './ast.ts';
import { parse } from './parse/parser.ts';
import { planText } from './plan/text.ts';
import { callOf, literal } from './plan/walk.ts';
import { type Value, stringValue, itemsData } from '../vectors/value.ts';
import { prunerOf } from './rules/predicate-pushdown.ts';
import { applyRules, rules, type RuleName } from './rules/rules.ts';
import { definiteRecord } from './types/of.ts';

/** How a query is compiled; by default every rule is applied. */
export interface CompileOptions {
  /** Rules that are not applied: their names, or `all`. */
  readonly rulesOff?: readonly RuleName[] | 'all';
  /** The plan says of what type its rows are. */
  readonly rowType?: boolean;
  /** What is done with its rows beside what the text says. */
  readonly ending?: Ending;
}
/**
 * What a request asks for beside its text: so many rows, then one record type for all of them. `recordsOnly`: its
 * format holds nothing else, so the commit of a load is told as a record. `fuseSelect`: rows of SELECT have one record
 * type, always or where all of them are gathered before the first is given.
 */
export interface Ending {
  readonly recordsOnly?: boolean;
  readonly limit?: number;
  readonly fuse?: boolean;
  readonly fuseSelect?: 'always' | 'gathered';
}

/** Most rounds of resolving sources: each round finds at least one new source, and a query names few. */
const roundsMax = 1000;

/**
 * Compiles a query. Several texts are joined with a newline between. @throws CompileError with every fault found;
 * errors of the environment that are no compile errors (a `LakeError`) pass as they are.
 */
export const compile = async (
  sources: readonly QuerySource[] | string,
  environment: CompileEnvironment,
  options: CompileOptions = {},
): Promise<Plan> => {
  const list = typeof sources === 'string' ? [{ text: sources }] : sources;
  const text = joinSources(list);
  const query = parse(text);
  const explained = explainedBy(query);
  if (!explained) return compileQuery(query, text, environment, options);
  const { rowType: _, ...plan } = await compileQuery(explained.query, text, environment, options);
  if (explained.analyze) {
    environment.varies?.();
    return { ...plan, analyze: true };
  }
  return {
    pipeline: { ops: [{ kind: 'null' }, { kind: 'values', exprs: planText(plan).trimEnd().split('\n').map(planRow) }] },
    functions: [],
  };
};

/** The query that EXPLAIN asks for. */
const explainedBy = ({ decls, ops: [op, ...others] }: QueryNode): SqlExplain | undefined => {
  const body = op?.kind === 'sql-op' && others.length === 0 && decls.length === 0 ? op.query.body : undefined;
  return body?.kind === 'sql-explain' ? body : undefined;
};
const planRow = (line: string): PlanExpr => ({
  kind: 'record',
  elements: [{ kind: 'field', name: 'plan', value: literal(stringValue(line)) }],
});

const compileQuery = async (
  query: QueryNode,
  text: string,
  environment: CompileEnvironment,
  options: CompileOptions,
): Promise<Plan> => {
  const texts = new ViewTexts(text);
  try {
    return await compileRounds(query, texts, environment, options);
  } catch (error) {
    throw error instanceof CompileError ? texts.told(error) : isStackFull(error) ? tooDeep(query) : error;
  }
};
/** Names that stand for others nest deeper than any text: `with`, `op` and views, each of which uses the one before. */
const tooDeep = ({ start }: QueryNode): CompileError =>
  new CompileError([{ message: 'query nested too deeply: what its names stand for included', start, end: -1 }]);
const isStackFull = (error: unknown): boolean =>
  error instanceof RangeError && error.message.startsWith('Maximum call stack');
const compileRounds = async (
  query: QueryNode,
  texts: ViewTexts,
  environment: CompileEnvironment,
  options: CompileOptions,
): Promise<Plan> => {
  const resolutions = new Map<string, Resolution>();
  const contents = new Map<string, PoolContent>();
  let defaultNeeded = false;
  const { turn = (work) => work() } = environment;
  const [first] = query.ops;
  const { content } = first?.kind === 'merge-rows-op' ? withTargets(first, environment, isNamed(first)) : environment;
  for (let round = 0; round < roundsMax; round++) {
    const analysis = new Analysis(environment, texts, { resolutions, contents }, defaultNeeded);
    const pipeline = turn(() => {
      const lowered = lowerMain(analysis, query);
      return ended(lowered, endingOf(query, lowered, options.ending));
    });
    const isFirstNeeded = analysis.defaultNeeded && !defaultNeeded;
    defaultNeeded = analysis.defaultNeeded;
    // A default source that was known at once is read in the next round only.
    if (analysis.pending.size === 0 && analysis.unread.size === 0 && !isFirstNeeded)
      return turn(() => finish(analysis, pipeline, environment, options));
    await Promise.all([
      ...[...analysis.pending].map(async ([key, request]) => resolutions.set(key, await resolve(environment, request))),
      ...[...analysis.unread].map(async ([handle, source]) => contents.set(handle, await content!(source))),
    ]);
  }
  throw new CompileError([{ message: `too many sources (more than ${roundsMax})`, start: -1, end: -1 }]);
};

const commitRecord: PlanExpr = {
  kind: 'record',
  elements: [{ kind: 'field', name: 'commit', value: { kind: 'this' } }],
};
const givesCommit = (op: PlanOp | undefined): boolean => op?.kind === 'load' || op?.kind === 'changeRows';
const endingOf = (query: QueryNode, { ops }: Pipeline, { fuseSelect, ...ending }: Ending = {}): Ending => {
  const isFused = fuseSelect === 'always' || (fuseSelect === 'gathered' && ops.some(({ kind }) => gathering.has(kind)));
  return isFused && query.ops.at(-1)?.kind === 'sql-op' ? { ...ending, fuse: true } : ending;
};
/** They give no row before they have all. */
const gathering: ReadonlySet<PlanOp['kind']> = new Set(['aggregate', 'sort', 'top', 'window']);
/** Rows that go out under a name are ended before they do. */
const ended = ({ ops, ...pipeline }: Pipeline, { limit, fuse = false, recordsOnly = false }: Ending = {}): Pipeline => {
  const ending: readonly PlanOp[] = [
    ...(recordsOnly && givesCommit(ops.at(-1)) ? [{ kind: 'values', exprs: [commitRecord] } as const] : []),
    ...(limit === undefined ? [] : [{ kind: 'head', count: limit } as const]),
    ...(fuse ? [{ kind: 'fuse' } as const] : []),
  ];
  const last = ops.at(-1)?.kind === 'output' ? ops.length - 1 : ops.length;
  return { ...pipeline, ops: [...ops.slice(0, last), ...ending, ...ops.slice(last)] };
};

const resolve = async (environment: CompileEnvironment, request: SourceRequest): Promise<Resolution> => {
  try {
    return { sources: await environment.resolve(request) };
  } catch (error) {
    return { error };
  }
};

const finish = (
  analysis: Analysis,
  pipeline: Pipeline,
  environment: CompileEnvironment,
  options: CompileOptions,
): Plan => {
  // Faults of types are told beside the others: an expression that is wrong already has no type that could be another.
  if (analysis.typesKnown) analysis.check(pipeline);
  analysis.throwFaults();
  analysis.throwLateFaults();
  const plan: Plan = {
    ...applyRules({ pipeline, functions: analysis.functions }, environment, options.rulesOff),
    ...(analysis.warnings.size > 0 && { warnings: [...analysis.warnings] }),
  };
  // Rules may leave less to tell types by: of a filter that lets nothing pass they make no rows at all.
  const rowType = options.rowType ? definiteRecord(analysis.checker.pipeline(pipeline, types.null)) : undefined;
  return rowType ? { ...plan, rowType } : plan;
};

/** A predicate that stands alone: the text of delete-where. */
interface FilterPlan {
  readonly expr: PlanExpr;
  readonly functions: readonly PlanFunction[];
  readonly warnings?: readonly string[];
  /** Where it fails, the predicate cannot be true. */
  readonly pruner?: Pruner;
}

/**
 * Compiles the text of a delete-where: one filter (`where` may be left out) over the rows of a pool, or any expression,
 * such as `true` or a field's name, which alone is no operator. @throws CompileError also for what parses but is no
 * single filter; that fault is about `not-one-filter` and has no place.
 */
export const compileFilter = async (text: string, environment: CompileEnvironment): Promise<FilterPlan> => {
  try {
    return await compileOneFilter(text, environment);
  } catch (fault) {
    // It is an operator, and no expression alone.
    if (
      fault instanceof CompileError &&
      fault.errors[0]?.about === 'not-one-filter' &&
      parse(text).ops[0]?.kind !== 'expr-op'
    )
      throw fault;
    // Places in the text as it was written are those of the first fault.
    return await compileOneFilter(`where ${text}`, environment).catch(() => {
      throw fault;
    });
  }
};

const compileOneFilter = async (text: string, environment: CompileEnvironment): Promise<FilterPlan> => {
  const { functions, warnings, ...plan } = await compileOverRows(text, environment);
  const [filter, ...rest] = plan.ops ?? [];
  if (filter?.kind !== 'filter' || rest.length > 0)
    throw new CompileError([
      {
        message: 'invalid delete where query: must be a single filter operation',
        start: -1,
        end: -1,
        about: 'not-one-filter',
      },
    ]);
  const pruner = prunerOf(filter.expr);
  return { expr: filter.expr, functions, ...(warnings && { warnings }), ...(pruner && { pruner }) };
};

/** Operators over the rows of a pool that the text does not name. */
interface RowsPlan {
  /** Undefined for what does not begin with those rows. */
  readonly ops: readonly PlanOp[] | undefined;
  readonly functions: readonly PlanFunction[];
  readonly warnings?: readonly string[];
}
/** Constants are worked out, and no other rule is applied: the operators are those of the text. */
const compileOverRows = async (text: string, environment: CompileEnvironment): Promise<RowsPlan> => {
  const placeholder: ResolvedSource = { kind: 'pool', name: '', handle: '' };
  const request: SourceRequest = { kind: 'name', name: '' };
  const { pipeline, functions, warnings, analyze } = await compile(
    text,
    {
      ...environment,
      defaultSource: request,
      resolve: (r) => (r === request ? Promise.resolve([placeholder]) : environment.resolve(r)),
    },
    { rulesOff: rulesButFolding },
  );
  const [scan, ...ops] = pipeline.ops;
  const isOver = !analyze && scan?.kind === 'scan' && scan.sources[0] === placeholder;
  return { ops: isOver ? ops : undefined, functions, ...(warnings && { warnings }) };
};
const rulesButFolding = rules.map(({ name }) => name).filter((name) => name !== 'constant-folding');

/** An UPDATE or a DELETE, over the rows of its pool. */
interface ChangePlan extends Omit<FilterPlan, 'expr'> {
  /** Absent: all rows. */
  readonly expr?: PlanExpr;
  /** Absent: the rows go. */
  readonly assignments?: readonly Assignment[];
}
/**
 * Compiles a statement that `compile` has found to be one. `pool` stands for its pool wherever the statement reads that
 * branch.
 */
export const compileChange = async (
  text: string,
  environment: CompileEnvironment,
  pool: ResolvedSource,
): Promise<ChangePlan> => {
  const [op] = parse(text).ops;
  assert(op?.kind === 'change-rows-op');
  const { pipeline, functions, warnings } = await compileQuery(
    queryOfChange(op),
    text,
    readingPool(op, environment, pool),
    { rulesOff: rulesButFolding },
  );
  const filter = pipeline.ops.find((o) => o.kind === 'filter');
  const values = pipeline.ops.at(-1);
  const row = values?.kind === 'values' ? valuesOf(values.exprs[0]) : undefined;
  // What else a SELECT may be made of looks at other rows, or makes several of one.
  if (pipeline.ops[0]?.kind !== 'scan' || pipeline.ops.length !== (filter ? 3 : 2) || !row)
    throw new CompileError([
      {
        message: 'UPDATE and DELETE take no aggregates, window functions or unnest outside of subqueries',
        start: op.start,
        end: op.end,
      },
    ]);
  const pruner = filter && prunerOf(filter.expr);
  const assignments = op.targets.map((path, i) => ({ target: path.map((name) => name.text), value: row[i] }));
  const fields = (await environment.content?.(pool))?.fields?.map(({ name }) => name) ?? [];
  return {
    functions,
    ...(warnings && { warnings }),
    ...(filter && { expr: filter.expr }),
    ...(pruner && { pruner }),
    ...(op.verb === 'update' && {
      assignments: assignments.map(({ target, value }) => ({ target: pathSpelledAs(target, fields), value })),
    }),
  };
};
/** An environment in which the statement's pool is the one that is given, and its moment one in all of its queries. */
const readingPool = (
  { source: { origin, commit } }: ChangeRowsOp | MergeRowsOp,
  environment: CompileEnvironment,
  pool: ResolvedSource,
): CompileEnvironment => {
  const isPool = (r: SourceRequest): boolean =>
    r.kind === 'name' &&
    origin.kind === 'source-text' &&
    r.name === origin.text &&
    (r.commit ?? 'main') === (commit?.text ?? 'main') &&
    r.asof === undefined &&
    r.meta === undefined &&
    r.format === undefined;
  let moment: Value | undefined;
  return {
    ...environment,
    resolve: (r) => (isPool(r) ? Promise.resolve([pool]) : environment.resolve(r)),
    now: () => (moment ??= environment.evaluate(callOf('now'), [])),
  };
};

/** The pool has the columns that clauses write, too, though no row may have one of them yet: a first load by MERGE. */
const withTargets = (
  { clauses }: MergeRowsOp,
  environment: CompileEnvironment,
  isTarget: (source: ResolvedSource) => boolean,
): CompileEnvironment => {
  const { content } = environment;
  if (!content) return environment;
  const written = new Set(clauses.flatMap(({ targets }) => targets.flatMap(([name]) => (name ? [name.text] : []))));
  return {
    ...environment,
    content: async (source) => {
      const found = await content(source);
      if (!isTarget(source) || !found.fields) return found;
      const known = new Set(found.fields.map(({ name }) => name.toLowerCase()));
      const more = [...written].filter((name) => !known.has(name.toLowerCase()));
      return { ...found, fields: [...found.fields, ...more.map((name) => ({ name, type: types.null }))] };
    },
  };
};

const isNamed =
  ({ source: { origin } }: MergeRowsOp) =>
  ({ name }: ResolvedSource): boolean =>
    origin.kind === 'source-text' && name === origin.text;

/** What MERGE INTO runs, as `MergeRowsOp` has it. */
interface MergePlan {
  readonly clauses: readonly MergeClause[];
  readonly matched?: Plan;
  readonly once?: Plan;
  readonly others?: Plan;
}
/** Whether a statement that `compile` has found to be one is a MERGE INTO. */
export const isMergeInto = (text: string): boolean => parse(text).ops[0]?.kind === 'merge-rows-op';
/** The same as `compileChange` for a MERGE INTO. */
export const compileMerge = async (
  text: string,
  environment: CompileEnvironment,
  pool: ResolvedSource,
): Promise<MergePlan> => {
  const [op] = parse(text).ops;
  assert(op?.kind === 'merge-rows-op');
  const inPool = withTargets(op, readingPool(op, environment, pool), ({ handle }) => handle === pool.handle);
  const planOf = async (query: SqlQuery | undefined): Promise<Plan | undefined> =>
    query && compileQuery(queryOfChange({ query, start: op.start, end: op.end }), text, inPool, {});
  const [matched, once, others] = [await planOf(op.matched), await planOf(op.once), await planOf(op.others)];
  const fields = (await environment.content?.(pool))?.fields?.map(({ name }) => name) ?? [];
  const clauses = op.clauses.map(({ verb, targets }, k): MergeClause => {
    const paths = targets.map((path) => path.map((name) => name.text));
    return {
      verb,
      targets: paths.map((path) => pathSpelledAs(path, fields)),
      columns: targets.map((_, i) => `c${k}v${i}`),
    };
  });
  return { clauses, ...(matched && { matched }), ...(once && { once }), ...(others && { others }) };
};
/** The values of a record's fields: they may be constant all together. */
const valuesOf = (row: PlanExpr | undefined): readonly PlanExpr[] | undefined => {
  if (row?.kind === 'record') return row.elements.flatMap((e) => (e.kind === 'field' ? [e.value] : []));
  if (row?.kind !== 'literal' || row.value.type.kind !== 'record') return undefined;
  const data = itemsData(row.value.data);
  return row.value.type.fields.map(({ type }, i) => literal({ type, data: data[i] }));
};
/** Assignments that stand alone: the text of an update. */
interface PutPlan {
  readonly assignments: readonly Assignment[];
  readonly functions: readonly PlanFunction[];
  readonly warnings?: readonly string[];
}

const putWord = 'put ';

/**
 * Compiles the assignments of an update. @throws CompileError also for what is more than assignments; that fault is about
 * `not-assignments`
 */
export const compilePut = async (text: string, environment: CompileEnvironment): Promise<PutPlan> => {
  const { ops, ...rest } = await compileOverRows(putWord + text, environment).catch((fault: unknown) => {
    if (!(fault instanceof CompileError)) throw fault;
    // Places are those of the text as it was written.
    const before = putWord.length;
    throw new CompileError(
      fault.errors.map(({ start, end, ...more }) => ({
        ...more,
        start: start < 0 ? start : Math.max(0, start - before),
        end: end < 0 ? end : Math.max(0, end - before),
      })),
      { cause: fault },
    );
  });
  const [put, ...others] = ops ?? [];
  if (put?.kind !== 'put' || others.length > 0)
    throw new CompileError([
      {
        message: 'invalid put of an update: must be assignments such as a:=1, b:=a+1',
        start: -1,
        end: -1,
        about: 'not-assignments',
      },
    ]);
  return { assignments: put.assignments, ...rest };
};

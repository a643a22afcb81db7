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
import { types } from '../vectors/type.ts';
import type {
  CompileEnvironment,
  Pipeline,
  Plan,
  PlanExpr,
  PlanFunction,
  PlanOp,
  PoolContent,
  ResolvedSource,
  SourceRequest,
} from './plan/plan.ts';
import { Analysis, type Resolution } from './analyze/context.ts';
import { lowerMain } from './analyze/main.ts';
import { ViewTexts } from './analyze/view-texts.ts';
import { CompileError, type QuerySource, joinSources } from './parse/error.ts';
import type { QueryNode, SqlExplain } from './ast.ts';
import { parse } from './parse/parser.ts';
import { planText } from './plan/text.ts';
import { literal } from './plan/walk.ts';
import { stringValue } from '../vectors/value.ts';
import { applyRules, type RuleName } from './rules/rules.ts';
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
 * format holds nothing else, so the commit of a load is told as a record.
 */
export interface Ending {
  readonly recordsOnly?: boolean;
  readonly limit?: number;
  readonly fuse?: boolean;
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
  if (explained.analyze) return { ...plan, analyze: true };
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
    throw error instanceof CompileError ? texts.told(error) : error;
  }
};
const compileRounds = async (
  query: QueryNode,
  texts: ViewTexts,
  environment: CompileEnvironment,
  options: CompileOptions,
): Promise<Plan> => {
  const resolutions = new Map<string, Resolution>();
  const contents = new Map<string, PoolContent>();
  let defaultNeeded = false;
  for (let round = 0; round < roundsMax; round++) {
    const analysis = new Analysis(environment, texts, { resolutions, contents }, defaultNeeded);
    const pipeline = ended(lowerMain(analysis, query), options.ending);
    const isFirstNeeded = analysis.defaultNeeded && !defaultNeeded;
    defaultNeeded = analysis.defaultNeeded;
    // A default source that was known at once is read in the next round only.
    if (analysis.pending.size === 0 && analysis.unread.size === 0 && !isFirstNeeded)
      return finish(analysis, pipeline, environment, options);
    await Promise.all([
      ...[...analysis.pending].map(async ([key, request]) => resolutions.set(key, await resolve(environment, request))),
      ...[...analysis.unread].map(async ([handle, source]) => contents.set(handle, await environment.content!(source))),
    ]);
  }
  throw new CompileError([{ message: `too many sources (more than ${roundsMax})`, start: -1, end: -1 }]);
};

const commitRecord: PlanExpr = {
  kind: 'record',
  elements: [{ kind: 'field', name: 'commit', value: { kind: 'this' } }],
};
/** Rows that go out under a name are ended before they do. */
const ended = ({ ops, ...pipeline }: Pipeline, { limit, fuse = false, recordsOnly = false }: Ending = {}): Pipeline => {
  const ending: readonly PlanOp[] = [
    ...(recordsOnly && ops.at(-1)?.kind === 'load' ? [{ kind: 'values', exprs: [commitRecord] } as const] : []),
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
}

/** Text of the error for a delete-where that is no single filter. */
export const notOneFilter = 'invalid delete where query: must be a single filter operation';

/**
 * Compiles the text of a delete-where: one filter (`where` may be left out) over the rows of a pool, or any expression,
 * such as `true` or a field's name, which alone is no operator. @throws CompileError also for what parses but is no
 * single filter; that fault has the text `notOneFilter` and no place.
 */
export const compileFilter = async (text: string, environment: CompileEnvironment): Promise<FilterPlan> => {
  try {
    return await compileOneFilter(text, environment);
  } catch (fault) {
    // It is an operator, and no expression alone.
    if (
      fault instanceof CompileError &&
      fault.errors[0]?.message === notOneFilter &&
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
  const placeholder: ResolvedSource = { kind: 'pool', name: '', handle: '' };
  const request: SourceRequest = { kind: 'name', name: '' };
  const plan = await compile(
    text,
    {
      ...environment,
      defaultSource: request,
      resolve: (r) => (r === request ? Promise.resolve([placeholder]) : environment.resolve(r)),
    },
    { rulesOff: 'all' },
  );
  const [scan, filter, ...rest] = plan.pipeline.ops;
  if (
    plan.analyze ||
    scan?.kind !== 'scan' ||
    scan.sources[0] !== placeholder ||
    filter?.kind !== 'filter' ||
    rest.length > 0
  ) {
    throw new CompileError([{ message: notOneFilter, start: -1, end: -1 }]);
  }
  return { expr: filter.expr, functions: plan.functions, ...(plan.warnings && { warnings: plan.warnings }) };
};

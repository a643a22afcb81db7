/** Sources: what `from` and SQL tables read, and the pool that `load` writes to. */
import type { Analysis } from './context.ts';
import { constantOf, inNamedQuery } from './decls.ts';
import { lowerExpr, lowerFString } from './exprs.ts';
import { type Flow, lowerQuery, sourced } from './queries.ts';
import type { Expr, LoadOp, SourceArg, SourceNode, Span, SqlAlias, SqlBody } from '../ast.ts';
import { wordHint } from './hints.ts';
import type { FieldPath, FoundSource, PlanExpr, PlanOp, ResolvedSource, SourceRequest } from '../plan/plan.ts';
import { Scope } from './scope.ts';
import { lowerRecurring, lowerRecursiveReference } from '../sql/recursive.ts';
import { lowerSqlQuery } from '../sql/queries.ts';
import { sharedOps } from '../sql/shared.ts';
import { lowerView } from './views.ts';
import { types } from '../../vectors/type.ts';
import { type Value, underValue, itemsData, stringData } from '../../vectors/value.ts';

/** What a source came to. */
interface LoweredSource {
  readonly ops: readonly PlanOp[];
  /** What the table is called if no alias is given: the name of a query, or of a file without folder and ending. */
  readonly name?: string;
  /** The alias that a WITH clause gives, column names included. */
  readonly alias?: SqlAlias;
  /** It is a table of WITH RECURSIVE. */
  readonly recursive?: boolean;
  /** What the query of a table of WITH is. */
  readonly body?: SqlBody;
}

const failed: LoweredSource = { ops: [{ kind: 'empty' }] };

/**
 * Lowers a source. In a pipeline with an operator before it, only an expression over that operator's values can be one.
 * `table`: of SQL, whose name is found in any letter case.
 */
export const lowerFrom = (a: Analysis, source: SourceNode, flow: Flow, table = false): LoweredSource => {
  const { origin } = source;
  if (origin.kind === 'source-fstring') return lowerFStringSource(a, source, origin, flow);
  if (flow.hasParent) {
    a.fault('from operator cannot have parent unless from argument is an expression', origin);
    return failed;
  }
  switch (origin.kind) {
    case 'source-text': {
      const text = boundText(a, origin, source, flow);
      return typeof text === 'string' ? readText(a, text, source, table) : text;
    }
    case 'source-glob':
    case 'source-regexp': {
      if (origin.kind === 'source-regexp' && a.environment.mode === 'files') {
        a.fault('cannot use regular expression with from operator on local file system', origin);
        return failed;
      }
      const args = argumentsOf(a, source.args, nameArguments(a));
      const kind = origin.kind === 'source-glob' ? 'glob' : 'regexp';
      return scanOf(a, { kind, pattern: origin.pattern, ...textsOf(args, ['format']) }, origin);
    }
    case 'source-meta':
      return scanOf(a, { kind: 'lakeMeta', meta: origin.name.text }, origin);
  }
};

/**
 * A name may stand for a table of WITH or a named query; one without quotes also for a constant or an operator's
 * parameter.
 */
const boundText = (
  a: Analysis,
  { text, quoted, ...place }: NamedSource,
  source: SourceNode,
  flow: Flow,
  scope: Scope = flow.scope,
): string | LoweredSource => {
  const table = scope.table(text);
  if (table) {
    if (table.open) {
      const ops = lowerRecursiveReference(a, table, place);
      return ops
        ? { ops, name: table.cte.alias.name.text, alias: table.cte.alias, recursive: table.recursive }
        : failed;
    }
    const { usingKey, query } = table.cte;
    const found = { name: table.cte.alias.name.text, alias: table.cte.alias, recursive: table.recursive };
    if (table.shared) {
      a.grow(table.sharedParts);
      return { ...found, ops: [table.shared], body: query.body };
    }
    if (usingKey && !(table.recursive && query.body.kind === 'sql-union'))
      a.fault('USING KEY goes with WITH RECURSIVE name(..) AS (first UNION [ALL] next)', usingKey[0]);
    table.open = true;
    const faults = a.faults.length + a.lateFaults.length;
    const partsBefore = a.parts;
    const ops = lowerSqlQuery(a, query, {
      scope: table.scope,
      input: types.null,
      hasParent: false,
      ...(table.recursive ? { recursive: table } : {}),
      ...(table.inner && flow.outer ? { outer: flow.outer } : {}),
    }).ops;
    table.open = false;
    table.sharedParts = a.parts - partsBefore;
    const isFaulty = a.faults.length + a.lateFaults.length > faults;
    return { ...found, ops: isFaulty ? sourced(ops) : sharedOps(a, table, sourced(ops)), body: query.body };
  }
  const recurring = quoted ? undefined : lowerRecurring(a, text, scope, place);
  if (recurring) {
    const {
      ops,
      table: { cte, recursion },
    } = recurring;
    return ops.length > 0
      ? { ops, name: cte.alias.name.text, alias: cte.alias, recursive: recursion !== undefined }
      : failed;
  }
  const symbol = scope.lookup(text);
  // A named query without a source reads what comes in at this place.
  if (symbol?.kind === 'let')
    return (
      inNamedQuery(a, symbol, () => ({
        ops: lowerQuery(a, symbol.decl.query, { scope: symbol.scope, input: flow.input, hasParent: false }),
        name: text,
      })) ?? failed
    );
  if (quoted) return text;
  if (symbol?.kind === 'const') return constantText(a, constantOf(a, symbol), place);
  if (symbol?.kind === 'template') {
    const { expr } = symbol;
    if (expr.kind === 'id' && symbol.scope.lookup(expr.name)?.kind !== 'const')
      return boundText(a, { ...place, text: expr.name, quoted: false }, source, flow, symbol.scope);
    return constantText(
      a,
      a.asCaller(symbol, () => lowerExpr(a, expr, { scope: symbol.scope, input: flow.input })),
      place,
    );
  }
  return text;
};

interface NamedSource extends Span {
  readonly text: string;
  readonly quoted: boolean;
}

const constantText = (a: Analysis, e: PlanExpr, place: Span): string | LoweredSource => {
  const data = a.constant(e)?.value.data;
  if (typeof data === 'string') return data;
  a.fault('expected type string', place);
  return failed;
};

const lowerFStringSource = (
  a: Analysis,
  source: SourceNode,
  origin: SourceNode['origin'] & { readonly kind: 'source-fstring' },
  flow: Flow,
): LoweredSource => {
  const expr = a.at(origin, lowerFString(a, origin.expr, { scope: flow.scope, input: flow.input }));
  const constant = a.constant(expr);
  if (constant && typeof constant.value.data === 'string') {
    if (flow.hasParent) {
      a.fault('from operator cannot have parent unless from argument is an expression', origin);
      return failed;
    }
    return readText(a, constant.value.data, source);
  }
  if (a.inConstant > 0) return readInConstant(a, origin);
  const args = argumentsOf(a, source.args, fileArguments);
  a.environment.varies?.();
  return { ops: [{ kind: 'fromEach', expr, ...textsOf(args, ['format']) }] };
};

const readInConstant = (a: Analysis, place: Span): LoweredSource => {
  a.fault('cannot read data in constant expression', place);
  return failed;
};

const fileArguments: ReadonlySet<string> = new Set(['format']);
const urlArguments: ReadonlySet<string> = new Set(['format', 'method', 'body', 'headers']);
const poolArguments: ReadonlySet<string> = new Set(['commit', 'asof', 'meta', 'tap', 'base']);
const mixedArguments: ReadonlySet<string> = new Set([...poolArguments, ...fileArguments]);
const nameArguments = ({ environment }: Analysis): ReadonlySet<string> =>
  environment.mode === 'files' ? fileArguments : environment.filesToo ? mixedArguments : poolArguments;
const loadArguments: ReadonlySet<string> = new Set(['commit', 'author', 'message', 'meta']);

type Arguments = ReadonlyMap<string, SourceArg>;

const argumentsOf = (a: Analysis, args: readonly SourceArg[], known: ReadonlySet<string>): Arguments => {
  const found = new Map<string, SourceArg>();
  for (const arg of args) {
    const name = arg.key.text;
    if (found.has(name)) a.fault(`duplicate argument "${name}"`, arg);
    else if (!known.has(name)) a.fault(`unknown argument "${name}"`, arg, wordHint('arguments', name, known));
    else found.set(name, arg);
  }
  return found;
};

const textOf = (arg: SourceArg | undefined): string | undefined =>
  arg?.value.kind === 'source-text' ? arg.value.text : undefined;

/** The named arguments that are there, as fields of a request. */
const textsOf = <K extends string>(args: Arguments, keys: readonly K[]): { readonly [key in K]?: string } => {
  const out: { [key in K]?: string } = {};
  for (const key of keys) {
    const text = textOf(args.get(key));
    if (text !== undefined) out[key] = text;
  }
  return out;
};

/** A name, path or URL that is known. */
const readText = (a: Analysis, text: string, source: SourceNode, table = false): LoweredSource => {
  const { origin } = source;
  if (/^https?:\/\//.test(text)) {
    const args = argumentsOf(a, source.args, urlArguments);
    const headers = headersOf(a, args.get('headers'));
    return scanOf(
      a,
      { kind: 'url', url: text, ...textsOf(args, ['format', 'method', 'body']), ...(headers ? { headers } : {}) },
      origin,
      baseName(text),
    );
  }
  const args = argumentsOf(a, source.args, nameArguments(a));
  const request: SourceRequest = {
    kind: 'name',
    name: text,
    ...textsOf(args, ['format', 'commit', 'asof', 'meta', 'base']),
    ...(source.commit ? { commit: source.commit.text } : {}),
    ...(source.meta ? { meta: source.meta.text } : {}),
    ...(table ? { anyCase: true } : {}),
    ...(a.openViews.length > 0 ? { inView: true } : {}),
  };
  const base = args.get('base');
  if (base && request.meta !== 'diff') a.fault('argument "base" goes with metadata "diff"', base);
  return scanOf(a, request, origin, a.environment.mode === 'lake' ? text : baseName(text), (fault) =>
    partAtFault(source, fault),
  );
};

/** The part of `pool@commit:meta` that a fault is about; a meta source without a commit includes its colon. */
export const partAtFault = ({ commit, meta, args }: SourceNode, fault: string): Span | undefined => {
  const base = args.find(({ key }) => key.text === 'base');
  if (base && fault === `"${textOf(base) ?? ''}": branch not found`) return base;
  if (commit && (fault === `"${commit.text}": branch not found` || fault.endsWith(` at ${commit.text}`))) return commit;
  const asof = args.find(({ key }) => key.text === 'asof');
  const time = textOf(asof);
  if (time !== undefined && (fault.startsWith(`${time}: `) || fault.endsWith(` at ${time}`))) return asof!.value;
  if (meta && (fault.startsWith('unknown metadata type') || (!commit && fault.endsWith(': branch not found'))))
    return commit ? meta : { start: meta.start - 1, end: meta.end };
  return undefined;
};

/** The file's name without folders and ending. */
const baseName = (path: string): string => path.replace(/^.*\//, '').replace(/\.[^.]*$/, '');

const headersOf = (
  a: Analysis,
  arg: SourceArg | undefined,
): Readonly<Record<string, readonly string[]>> | undefined => {
  if (!arg || arg.value.kind === 'source-text') return undefined;
  const value = a.constant(lowerExpr(a, arg.value as Expr, { scope: new Scope(undefined), input: types.null }))?.value;
  if (!value || value.type.kind !== 'record') {
    a.fault('headers value must be a record', arg.value);
    return undefined;
  }
  const data = itemsData(value.data);
  return Object.fromEntries(value.type.fields.map((f, i) => [f.name, textsIn({ type: f.type, data: data[i] })]));
};
const textsIn = (v: Value): readonly string[] => {
  const { type, data } = underValue(v);
  if (type === types.string) return [stringData(data)];
  if (type.kind !== 'array' && type.kind !== 'set') return [];
  return itemsData(data).flatMap((d) => textsIn({ type: type.element, data: d }));
};

const scanOf = (
  a: Analysis,
  request: SourceRequest,
  place: Span,
  name?: string,
  placeOf?: (fault: string) => Span | undefined,
): LoweredSource => {
  if (a.inConstant > 0) return readInConstant(a, place);
  const sources = a.resolve(request, place, placeOf);
  const [first] = sources;
  if (first?.kind === 'view') {
    const lowered = lowerView(a, first, place);
    return lowered ? { ...lowered, name: first.name } : failed;
  }
  const ops: readonly PlanOp[] =
    sources.length > 0 ? [{ kind: 'scan', sources: sources.filter(isRead), ordered: true }] : [unresolved];
  return { ops, ...(name !== undefined ? { name } : {}) };
};
/** Whether rows of it can be read as they are: a view is read as its query. */
export const isRead = (source: FoundSource): source is ResolvedSource => source.kind !== 'view';
/** Stands for a scan while its source is not resolved: an unknown stream that needs no input. */
const unresolved: PlanOp = { kind: 'empty' };

/**
 * A load into a pool's branch; author, message and meta are empty where they are not given. A fault, and no operator,
 * where names are files.
 */
export const lowerLoad = (a: Analysis, op: LoadOp): readonly PlanOp[] => {
  if (a.environment.mode === 'files') {
    a.fault('load operator cannot be used without an attached database', op);
    return [];
  }
  const { source } = op;
  const { origin } = source;
  if (origin.kind !== 'source-text') return [];
  if (a.openViews.length > 0) a.fault('a view cannot load', op);
  const args = argumentsOf(a, source.args, loadArguments);
  const commit = source.commit?.text ?? textOf(args.get('commit'));
  const [target] = a.resolve(
    { kind: 'name', name: origin.text, ...(commit !== undefined ? { commit } : {}), forLoad: true },
    op,
  );
  if (!target || !isRead(target)) return [];
  return [
    ...spelledAsIn(a, target, op),
    {
      kind: 'load',
      target,
      author: textOf(args.get('author')) ?? '',
      message: textOf(args.get('message')) ?? '',
      meta: textOf(args.get('meta')) ?? '',
      ...(op.insert && { isInsert: true }),
    },
  ];
};
/** Columns that an INSERT names in another case than the fields of its pool get the names of these. */
const spelledAsIn = (a: Analysis, target: ResolvedSource, { insert }: LoadOp): readonly PlanOp[] => {
  if (insert === undefined || insert.columns.length === 0) return [];
  const fields = a.fieldsOfSource(target);
  const names = insert.columns.map(({ text }) => text);
  const assignments = names.flatMap((name) => {
    const [to] = pathSpelledAs([name], fields);
    return to === name || names.includes(to) ? [] : [{ from: [name], to: [to] }];
  });
  return assignments.length > 0 ? [{ kind: 'rename', assignments }] : [];
};
/** Names of columns are found in any case in SQL: the field that is there is meant. */
export const pathSpelledAs = ([name = '', ...inner]: FieldPath, fields: readonly string[]): FieldPath => {
  const found = fields.filter((field) => field.toLowerCase() === name.toLowerCase());
  return [found.length === 1 && !fields.includes(name) ? found[0] : name, ...inner];
};

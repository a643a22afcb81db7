/** Sources: pools and files by way of the host, one null, nothing. */
import type { FieldPath, PlanExpr, Scan } from '../../query/plan/plan.ts';
import { fieldsRead } from '../../query/plan/walk.ts';
import { type Vector, nulls, slice, take } from '../../vectors/vector.ts';
import { isTurnLong, nextTurn, workedMs, working } from '../../vectors/stop.ts';
import { types } from '../../vectors/type.ts';
import { type Item, type Stream, batches } from '../operator.ts';
import { isPlainText } from '../expressions/regexp.ts';
import type { BestRows, BlockSummaries, KeptRows, Progress, ScanFilter, ScanRequest, StoredTests } from '../source.ts';
import { pulled } from '../pulled.ts';
import type { Build } from './build.ts';
import { tested } from './filter.ts';
import { type KeyTest, type Wanted, keyTest, prunerOf } from './join/key-set.ts';
import { named } from './named.ts';
import { type KeyRuns, keyRuns } from './rows/key-runs.ts';
import { Pace } from './rows/pace.ts';
import { type RowTest, rowTest } from './rows/row-test.ts';
import { type SplitFilter, storedTests } from './stored-tests.ts';
import { type KeyBound, type TopOptions, keyBound } from './sort/top.ts';
import { stringData } from '../../vectors/value.ts';

/** Where a scan takes blocks as a whole: set while the aggregate behind it asks for rows. */
export interface TotalsSink {
  readonly of: BlockSummaries['of'];
  take?: BlockSummaries['take'];
}

/**
 * `best`: what the operator behind keeps of the rows. `counted`: it only counts them. `totals`: what they come to is
 * enough for it.
 */
export const scan = (
  op: Scan & { readonly best?: TopOptions; readonly counted?: boolean; readonly totals?: TotalsSink },
  build: Build,
): (() => Stream) => {
  const { context } = build;
  const { host } = context;
  const { progress } = host;
  const test = op.filter && rowTest(op.filter, build);
  const request: ScanRequest = {
    ordered: op.ordered,
    signal: context.signal,
    ...(op.columns && { columns: op.columns }),
    ...(op.pruner && { pruner: op.pruner }),
    ...(op.limit !== undefined && { limit: op.limit }),
    ...(op.counted && { counted: true }),
  };
  const key = op.sources.length === 1 ? op.sources[0].sortKeys?.[0] : undefined;
  const runs = op.filter && key && keyRuns(op.filter, key, build);
  const rest = runs?.rest && rowTest(runs.rest, build);
  const stored = op.filter && !runs ? storedTests(op.filter, build) : undefined;
  // In order a row may be tested twice, which a bound that moves does not stand.
  const bound = op.best && !op.ordered ? keyBound(op.best) : undefined;
  const mayNarrow = !bound && !op.totals && !op.counted && op.limit === undefined;
  return () => {
    if (!mayNarrow || !op.sources.some((source) => host.filters?.(source))) return read([]);
    const wanted: Wanted[] = [];
    return Object.assign(read(wanted), { narrow: (keys: Wanted) => void wanted.push(keys) });
  };
  function* read(wanted: readonly Wanted[]): Generator<Item> {
    if (wanted.some(({ keys }) => !keys.range)) return;
    const counts = context.counters?.scan();
    const take = op.totals?.take;
    const summaries = take &&
      op.totals && { of: op.totals.of, take: totalsTaken(take, progress, op.filter === undefined) };
    const counted: ScanRequest = {
      ...narrowed(request, wanted),
      ...(counts && { counts }),
      ...(summaries && { summaries }),
    };
    const filter = scanFilter(
      context.signal,
      test && {
        test,
        columns: fieldsRead(op.filter!),
        ...textSearch(op.filter!),
        ...(runs && { runs: { find: runs.find, rest } }),
        ...(stored && { stored }),
      },
      { bound: bound?.(), keys: keyTest(wanted) },
      progress,
    );
    const pace = new Pace();
    for (const source of op.sources) {
      const isFiltered = filter !== undefined && host.filters?.(source) === true;
      for (const item of pulled(
        () => host.scan(source, isFiltered ? { ...counted, filter } : counted),
        context.signal,
      )) {
        if (item instanceof Promise || !('form' in item)) {
          yield item;
          continue;
        }
        if (!isFiltered) progress.recordsRead += item.length;
        const kept = test && !isFiltered ? yield* tested(item, test) : item;
        progress.recordsMatched += kept.length;
        if (op.counted && kept.form === 'record' && kept.fields.length === 0) yield kept;
        // A batch somewhat larger is better than one and a small rest.
        else yield* paced(batches(kept, kept.length <= context.batchRows * 2 ? kept.length : context.batchRows), pace);
      }
    }
  }
};

/** Batches, those with which what follows is busy for long in pieces. */
function* paced(all: Iterable<Vector>, pace: Pace): Generator<Item> {
  for (const batch of all)
    for (let start = 0; start < batch.length; ) {
      const left = start === 0 ? batch : slice(batch, start, batch.length);
      const length = pace.rowsOf(left);
      const before = workedMs();
      yield length === batch.length ? batch : slice(left, 0, length);
      if (before !== undefined) pace.took(length, workedMs()! - before);
      start += length;
      if (isTurnLong()) yield nextTurn();
    }
}

/** With what keys tell of the bounds of blocks. */
const narrowed = (request: ScanRequest, wanted: readonly Wanted[]): ScanRequest => {
  const pruners = wanted.map(prunerOf).filter((p) => p !== undefined);
  if (pruners.length === 0) return request;
  return { ...request, pruner: { kind: 'all', of: [...(request.pruner ? [request.pruner] : []), ...pruners] } };
};

/** Rows that came as what they come to are read, and match, as others do. */
const totalsTaken =
  (take: BlockSummaries['take'], progress: Progress, isUnseen: boolean): BlockSummaries['take'] =>
  (rows, columns) => {
    if (!take(rows, columns)) return false;
    if (isUnseen) progress.recordsRead += rows;
    progress.recordsMatched += rows;
    return true;
  };

type TextSearch = Pick<ScanFilter, 'textOnly' | 'texts'>;
const textSearch = (e: PlanExpr): TextSearch => {
  const texts = isTextSearch(e) ? textsOf(e) : undefined;
  return { textOnly: isTextSearch(e), ...(texts && { texts }) };
};
/** Searches for text in the whole row, and what is made of them. */
const isTextSearch = (e: PlanExpr): boolean => {
  switch (e.kind) {
    case 'and':
    case 'or':
      return isTextSearch(e.left) && isTextSearch(e.right);
    case 'not':
      return isTextSearch(e.operand);
    case 'searchText':
    case 'searchRegexp':
      return e.operand.kind === 'this';
    case 'call':
      return (
        e.name === 'grep' &&
        e.arguments[0]?.kind === 'literal' &&
        e.arguments[0].value.type === types.string &&
        e.arguments[1]?.kind === 'this'
      );
    default:
      return false;
  }
};
/** The texts that such a search looks for; undefined if there are patterns among them. */
const textsOf = (e: PlanExpr): readonly string[] | undefined => {
  switch (e.kind) {
    case 'and':
    case 'or': {
      const left = textsOf(e.left);
      const right = left && textsOf(e.right);
      return right && [...left!, ...right];
    }
    case 'not':
      return textsOf(e.operand);
    case 'searchText':
      return [e.text];
    case 'call': {
      const pattern = e.arguments[0];
      const isText = pattern?.kind === 'literal' && pattern.value.type === types.string;
      const text = isText ? stringData(pattern.value.data) : '';
      return isPlainText(text) ? [text] : undefined;
    }
    default:
      return undefined;
  }
};

/** The filter, and the bound of a top or the keys of joins behind it, as the scan of a host may use them. */
const scanFilter = (
  signal: AbortSignal,
  filter:
    | ({
        readonly test: RowTest;
        readonly columns: readonly FieldPath[] | undefined;
        readonly runs?: Runs;
        readonly stored?: SplitFilter;
      } & TextSearch)
    | undefined,
  { bound, keys }: { readonly bound: KeyBound | undefined; readonly keys: KeyTest | undefined },
  progress: Progress,
): ScanFilter | undefined => {
  const more = bound ? { paths: [bound.path], keep: bound.keep } : keys;
  if (!filter && !more) return undefined;
  const columns = filter ? filter.columns && [...filter.columns, ...(more?.paths ?? [])] : more!.paths;
  const bounded = (rows: Vector, kept: KeptRows): KeptRows => {
    if (!more || kept?.length === 0) return kept;
    const rest = more.keep(keptOf(rows, kept));
    return rest ? placed(rest, kept) : kept;
  };
  const split =
    filter?.stored ??
    (filter?.columns && keys && !filter.runs && !filter.textOnly
      ? { tests: [], rest: filter.test, columns: filter.columns }
      : undefined);
  const stored = split && toStored(split, { signal, paths: more?.paths, keys, bounded, progress });
  return {
    ...(columns && { columns }),
    ...(stored && { stored }),
    ...(filter?.textOnly && !more && { textOnly: true, ...(filter.texts && { texts: filter.texts }) }),
    ...(bound && { best: bestOf(bound, filter?.test) }),
    keep: (rows, inOrder) =>
      named('where', () =>
        working(signal, () => {
          progress.recordsRead += rows.length;
          if (!filter) return bounded(rows, undefined);
          const run = inOrder && rows.length >= runRowsMin ? filter.runs?.find(rows) : undefined;
          if (run) return keptOfRun(rows, run, filter.runs!.rest, (kept) => bounded(rows, kept));
          const kept = filter.test(rows);
          return kept instanceof Promise ? kept.then((own) => bounded(rows, own)) : bounded(rows, kept);
        }),
      ),
  };
};
/** What is asked beyond the stored tests: the rest of the filter, and the bound of a top or the keys of joins. */
const toStored = (
  { tests, rest, columns: own }: SplitFilter,
  {
    signal,
    paths,
    keys,
    bounded,
    progress,
  }: {
    readonly signal: AbortSignal;
    readonly paths: readonly FieldPath[] | undefined;
    readonly keys: KeyTest | undefined;
    readonly bounded: (rows: Vector, kept: KeptRows) => KeptRows;
    readonly progress: Progress;
  },
): StoredTests => {
  const columns = rest && !own ? undefined : [...(own ?? []), ...(paths ?? [])];
  const asked = (rows: Vector, kept: Uint32Array | undefined, isAfterFirst: boolean): KeptRows | Promise<KeptRows> => {
    const answer = rest?.(kept ? take(rows, kept) : rows);
    const all = (chosen: Uint32Array | undefined): KeptRows => {
      const own = chosen ? placed(chosen, kept) : kept;
      return isAfterFirst ? own : bounded(rows, own);
    };
    return answer instanceof Promise ? answer.then(all) : all(answer);
  };
  return {
    tests,
    ...(columns && { columns }),
    ...((rest || paths) && {
      rest: (rows: Vector, kept: Uint32Array | undefined, isAfterFirst = false) =>
        working(signal, () => asked(rows, kept, isAfterFirst)),
    }),
    ...(rest &&
      keys && {
        first: {
          columns: keys.paths,
          leavesFew: keys.leavesFew,
          keep: (rows: Vector, kept: Uint32Array | undefined) =>
            working(signal, () => {
              const left = keys.keep(keptOf(rows, kept));
              return left ? placed(left, kept) : kept;
            }),
        },
      }),
    seen: (rows) => {
      progress.recordsRead += rows;
    },
  };
};
const bestOf = (
  { path, rows, greater, dropsNulls, nanLast, floor, ahead }: KeyBound,
  test: RowTest | undefined,
): BestRows => {
  const shown = (batch: Vector, kept: Uint32Array | undefined): number => {
    if (kept?.length !== 0) ahead(kept ? take(batch, kept) : batch);
    return (kept ?? batch).length;
  };
  return {
    path,
    rows,
    isTested: test !== undefined,
    greater,
    dropsNulls,
    nanLast,
    floor,
    ahead: (batch) => {
      const kept = test?.(batch);
      return kept instanceof Promise ? kept.then((own) => shown(batch, own)) : shown(batch, kept);
    },
  };
};
/** Tests that hold for a run of rows in order, and what else is asked of those. */
interface Runs {
  readonly find: KeyRuns['find'];
  readonly rest: RowTest | undefined;
}
/** Fewer rows are sooner tested one by one. */
const runRowsMin = 64;

const keptOfRun = <T>(
  rows: Vector,
  [start, end]: readonly [number, number],
  rest: RowTest | undefined,
  then: (kept: KeptRows) => T,
): T | Promise<T> => {
  const run = start === 0 && end === rows.length ? undefined : { start, length: end - start };
  if (!rest || start === end) return then(run);
  const answer = rest(keptOf(rows, run));
  const all = (kept: Uint32Array | undefined): KeptRows => (kept ? placed(kept, run) : run);
  return answer instanceof Promise ? answer.then((kept) => then(all(kept))) : then(all(answer));
};

const keptOf = (rows: Vector, kept: KeptRows): Vector =>
  !kept ? rows : kept instanceof Uint32Array ? take(rows, kept) : slice(rows, kept.start, kept.start + kept.length);
/** The numbers of rows that were chosen among those that are kept. */
const placed = (chosen: Uint32Array, kept: KeptRows): Uint32Array =>
  !kept
    ? chosen
    : kept instanceof Uint32Array
      ? chosen.map((i) => kept[i])
      : kept.start === 0
        ? chosen
        : chosen.map((i) => kept.start + i);

/** The input of a query without a source: one null. */
export const oneNull = function* oneNull(): Generator<Item> {
  yield nulls(1);
};
/** A stream without batches: the input of pipelines that bring their own source. */
export const nothing = function* nothing(): Generator<Item> {
  /* no values */
};

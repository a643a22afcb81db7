/**
 * Which plots rows allow: a histogram of a field of times, bars of a key and its numbers, lines of numbers over times;
 * or why none.
 */
import { floatOf } from '../../../../src/client/jsup.ts';
import type { Type } from '../../../../src/client/types.ts';
import { parseTextTime, type TextTimes, textTimesOf } from './bins.ts';
import { cellAt, type Column, columnsOf } from '../columns/columns.ts';
import type { RowStore } from '../rows.ts';
import { type Cell, plain } from '../wire.ts';

/** How rows are drawn. */
type PlotKind = 'histogram' | 'bars' | 'lines';
/** A plot that the rows allow. */
export interface PlotChoice {
  readonly kind: PlotKind;
  /** The times, the key, or the times of the lines. */
  readonly over: Column;
  /** The numbers; none for a histogram. */
  readonly numbers: readonly Column[];
  /** A second key, which makes a line each. */
  readonly by?: Column;
  /** Times are strings that look like times, written so. */
  readonly asText?: TextTimes;
}
/** The plots that there can be, the best first; `why`: why there is none, else empty. */
interface Plots {
  readonly choices: readonly PlotChoice[];
  readonly why: string;
}

const sampleMax = 200;
const numbersMax = 6;
const lineRowsMax = 20_000;

type Role = 'time' | 'text-time' | 'number' | 'key' | 'none';

/**
 * What the rows that are there can be shown as, the best first. `key` is the pool's: its histogram comes before others.
 */
export const plotsOf = (store: RowStore, key?: string): Plots => {
  if (store.count === 0) return { choices: [], why: 'There are no rows to plot.' };
  const columns = columnsOf(
    store.types.map(({ type }) => type),
    { unfolded: recordKeys(store.types.map(({ type }) => type)) },
  );
  const sample = Array.from({ length: Math.min(sampleMax, store.count) }, (_, i) =>
    store.cell(Math.floor((i * store.count) / Math.min(sampleMax, store.count))),
  );
  const roles = new Map(columns.map((column) => [column, roleOf(column, sample)] as const));
  const of = (...wanted: readonly Role[]): Column[] => columns.filter((column) => wanted.includes(roles.get(column)!));
  const times = of('time', 'text-time');
  const numbers = of('number');
  const keys = of('key');
  const choices: PlotChoice[] = [];
  const written = (over: Column): Pick<PlotChoice, 'asText'> => {
    const asText =
      roles.get(over) === 'text-time'
        ? sample.map((row) => textTimesOf(String(cellAt(row, over)?.json))).find((each) => each !== undefined)
        : undefined;
    return asText ? { asText } : {};
  };
  const histogram = (over: Column): PlotChoice => ({ kind: 'histogram', over, numbers: [], ...written(over) });
  const isGrouped =
    store.types.filter(({ type }) => type.kind === 'record').length === store.types.length &&
    columns.length <= 1 + numbers.length + 1 &&
    numbers.length > 0;
  const byKey = [...times].sort((a, b) => Number(b.title === key) - Number(a.title === key));
  if (isGrouped && times.length === 1 && keys.length <= 1 && store.count <= lineRowsMax) {
    choices.push({
      kind: 'lines',
      over: times[0],
      numbers: keys.length === 1 ? numbers.slice(0, 1) : numbers.slice(0, numbersMax),
      ...(keys[0] && { by: keys[0] }),
      ...written(times[0]),
    });
  } else if (isGrouped && times.length === 0 && keys.length === 1) {
    choices.push({ kind: 'bars', over: keys[0], numbers: numbers.slice(0, numbersMax) });
  } else if (isGrouped && times.length === 0 && keys.length === 0 && numbers.length > 1) {
    choices.push({ kind: 'bars', over: numbers[0], numbers: numbers.slice(1, numbersMax) });
  }
  choices.push(...byKey.map(histogram));
  return { choices, why: choices.length > 0 ? '' : whyNone(columns, numbers, keys) };
};

const whyNone = (columns: readonly Column[], numbers: readonly Column[], keys: readonly Column[]): string => {
  if (columns.length === 1 && columns[0].path.length === 0)
    return 'These values have no fields. A plot needs a field of times, or a key with numbers.';
  if (numbers.length === 0)
    return 'No field holds times, and none holds numbers. A plot needs a field of times, or a key with numbers.';
  return `No field holds times, and bars need one key with numbers: here are ${keys.length} keys and ${numbers.length} number${numbers.length === 1 ? '' : 's'}.`;
};

/** Paths of records: a plot looks into them. */
const recordKeys = (types: readonly Type[]): ReadonlySet<string> => {
  const keys = new Set<string>();
  const visit = (type: Type, path: readonly string[]): void => {
    if (type.kind === 'named') visit(type.type, path);
    else if (type.kind === 'union') for (const member of type.types) visit(member, path);
    else if (type.kind === 'record') {
      keys.add(JSON.stringify(path));
      for (const field of type.fields) visit(field.type, [...path, field.name]);
    }
  };
  for (const type of types) visit(type, []);
  return keys;
};

/** Of so many values one may be of another kind: it is left out of the plot, which says so. */
const oddShare = 10;
/** By the values of a sample: a column whose values differ much in kind is good for nothing. Errors are no values. */
const roleOf = (column: Column, sample: readonly Cell[]): Role => {
  if (column.path.length === 0 || column.path.some((step) => typeof step === 'number')) return 'none';
  const counts = new Map<Role, number>();
  const add = (role: Role): void => {
    counts.set(role, (counts.get(role) ?? 0) + 1);
  };
  for (const row of sample) {
    const cell = cellAt(row, column);
    if (!cell) continue;
    const { type, json } = plain(cell);
    if (json === null || type.kind === 'error') continue;
    if (type.kind === 'enum') add('key');
    else if (type.kind !== 'primitive') add('none');
    else if (type.name === 'time') add('time');
    else if (isNumber(type)) add('number');
    else if (type.name === 'duration') add('none');
    else add(type.name === 'string' && !Number.isNaN(parseTextTime(String(json))) ? 'text-time' : 'key');
  }
  const [most] = [...counts].sort(([, a], [, b]) => b - a);
  if (!most) return 'none';
  if (counts.size === 2 && counts.has('key') && counts.has('text-time')) return 'key';
  const all = [...counts.values()].reduce((a, b) => a + b, 0);
  return (all - most[1]) * oddShare <= all ? most[0] : 'none';
};

/** Milliseconds since 1970 of a cell with a time; NaN where there is none. */
export const timeOf = (cell: Cell | undefined): number => {
  if (!cell) return NaN;
  const { type, json } = plain(cell);
  if (json === null || type.kind !== 'primitive' || (type.name !== 'time' && type.name !== 'string')) return NaN;
  return type.name === 'time' ? Date.parse(String(json)) : parseTextTime(String(json));
};
/** The number in a cell; NaN where there is none. */
export const numberOf = (cell: Cell | undefined): number => {
  if (!cell) return NaN;
  const { type, json } = plain(cell);
  return json === null || !isNumber(type) ? NaN : floatOf(String(json));
};
const isNumber = (type: Type): boolean => type.kind === 'primitive' && /^(u?int|float)/.test(type.name);

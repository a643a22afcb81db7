/**
 * Units of time as other databases write them: a bare word in place of a text (`datediff(day, a, b)`), or behind the
 * time (`date_trunc(t, month)`), and additions that name a unit (`dateadd(day, 3, t)`). Such a word is a column only
 * where one of that name is known to hold texts.
 */
import { intervalUnit } from '../../analyze/intervals.ts';
import type { Arg, CallExpr, Expr, IdExpr } from '../../ast.ts';

/** Whether a word is a column that holds texts. */
type IsText = (word: IdExpr) => boolean;

const unitFirst: ReadonlySet<string> = new Set([
  'date_diff',
  'datediff',
  'date_sub',
  'datesub',
  'date_part',
  'date_trunc',
]);
const isExpr = (arg: Arg | undefined): arg is Expr =>
  arg !== undefined && arg.kind !== 'lambda' && arg.kind !== 'function-ref';
const text = (word: string, { start, end }: Arg): Expr => ({ kind: 'literal', type: 'string', text: word, start, end });
/** The text of a bare word that is a unit. */
const unitOf = (arg: Arg | undefined, isText: IsText): Expr | undefined =>
  arg?.kind === 'id' && !arg.quoted && intervalUnit(arg.name) && !isText(arg) ? text(arg.name, arg) : undefined;
/** Whether it is a unit already, as a text: then a word like it behind it is a column (`date_trunc('month', day)`). */
const isUnit = (arg: Arg | undefined): boolean =>
  arg?.kind === 'literal' && arg.type === 'string' && intervalUnit(arg.text) !== undefined;
/** Weeks of BigQuery, whose units stand last, begin with Sunday. */
const isWeek = (unit: Expr): boolean => unit.kind === 'literal' && /^w(eeks?)?$/i.test(unit.text);

/** A call of SQL with its unit as a text before the other arguments; other calls as they are. */
export const withUnitFirst = (name: string, e: CallExpr, isText: IsText): CallExpr => {
  if (!unitFirst.has(name)) return e;
  const [first, second, third] = e.args;
  const unit = unitOf(first, isText);
  if (unit) return { ...e, args: [unit, ...e.args.slice(1)] };
  if (isUnit(first)) return e;
  if (name === 'datediff' && e.args.length === 2 && isExpr(first) && isExpr(second))
    return { ...e, args: [text('day', e), second, first] };
  const last =
    name === 'date_diff' ? unitOf(third, isText) : name === 'date_trunc' ? unitOf(second, isText) : undefined;
  if (!last || isWeek(last)) return e;
  return { ...e, args: name === 'date_diff' ? [last, second!, first!] : [last, first!] };
};

/** `dateadd(day, 3, t)` as a sum with an interval; undefined for what is none. */
export const unitAdded = (e: CallExpr, isText: IsText): Expr | undefined => {
  const [first, count, time, ...others] = e.args;
  const word = first?.kind === 'literal' && first.type === 'string' ? first : unitOf(first, isText);
  if (word?.kind !== 'literal' || !intervalUnit(word.text) || !isExpr(count) || !isExpr(time) || others.length > 0)
    return undefined;
  const { start, end } = e;
  const right: Expr = { kind: 'interval', amount: count, unit: word.text, start, end };
  return { kind: 'binary', op: '+', left: time, right, start, end };
};

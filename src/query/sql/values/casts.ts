/**
 * Casts of SQL, and what is known of the types of its expressions beyond the data model's: which are dates, which
 * decimals.
 */
import { isLongDecimal, nearValue } from '../../../vectors/decimal.ts';
import { fitsInt64 } from '../../../vectors/literal.ts';
import { type Type, isFloat, isInteger, types } from '../../../vectors/type.ts';
import { stringValue } from '../../../vectors/value.ts';
import type { Analysis } from '../../analyze/context.ts';
import { type ExprContext, lowerExpr } from '../../analyze/exprs.ts';
import type { CastExpr, DateExpr, Expr, IdExpr, SqlTypeNode } from '../../ast.ts';
import { literal, pathOf } from '../../plan/walk.ts';
import type { PlanExpr } from '../../plan/plan.ts';
import { type TypeOf, isBeyondDecimals, scaleOf } from './decimals.ts';
import { isInterval, toldIn } from './stored.ts';
import { type SqlType, dateFunctions, decimalPrecisionMax, sqlTypeText } from './types.ts';
import { didYouMean } from '../../analyze/suggest.ts';
import { alternatives, areDates, unknownType } from '../../types/of.ts';

const castLengthMax = 60;
const shown = (text: string): string => (text.length > castLengthMax ? `${text.slice(0, castLengthMax)}..` : text);

/** A cast to a type that SQL names; what cannot be cast ends the query, in TRY_CAST and within TRY it is null. */
export const lowerSqlCast = (a: Analysis, e: CastExpr & { readonly target: SqlTypeNode }, c: ExprContext): PlanExpr =>
  castOf(c.sql?.typeOf, byDigits(e.expr) ?? lowerExpr(a, e.expr, c), e.target.type, {
    attempt: e.attempt ?? c.attempt ?? false,
    written: shown(a.nameOf(e, true)),
  });

/** Of what is known to be a decimal from the columns of FROM too. */
const castOf = (typeOf: TypeOf, operand: PlanExpr, type: SqlType, options: CastOptions): PlanExpr => {
  const from = knownType(typeOf, operand) ?? toldIn(operand, typeOf);
  if (type.kind === 'json') {
    const isText = from !== undefined && textsInJson.has(from.kind);
    const part = isText ? castTo(operand, { kind: 'plain', type: types.string }, { from }) : jsonPart(typeOf, operand);
    if (part !== operand) return { kind: 'call', name: 'json_quote', arguments: [part], sql: true };
  }
  return castTo(operand, type, { ...options, ...(from && { from }) });
};
/** What is no JSON by its text, and a text in JSON. */
const textsInJson: ReadonlySet<SqlType['kind']> = new Set(['bit', 'clock', 'uuid']);
/** What is known of an expression by itself or by the columns of FROM. */
const knownType = (typeOf: TypeOf, e: PlanExpr): SqlType | undefined => {
  const scale = scaleOf(e, typeOf);
  if (scale !== undefined) return decimalOf(scale);
  return sqlTypeOf(e) ?? (mayHoldDates(e) && typeOf ? datesIn(typeOf(e)) : undefined);
};
/** What may be a date, or have some in it, although it does not say so by itself. */
const mayHoldDates = (e: PlanExpr): boolean =>
  ['apply', 'array', 'call', 'case', 'conditional', 'field', 'index', 'map', 'record', 'set', 'subquery'].includes(
    e.kind,
  );
/** The type of dates, and of lists, structs and maps that have some in them; undefined for all else. */
const datesIn = (t: Type): SqlType | undefined => {
  if (areDates([t])) return { kind: 'date' };
  const [only, another] = alternatives(t).filter((m) => m !== types.null);
  if (!only || another) return undefined;
  switch (only.kind) {
    case 'array':
    case 'set': {
      const element = datesIn(only.element);
      return element && { kind: 'list', element };
    }
    case 'record': {
      const fields = only.fields.flatMap(({ name, type }) => {
        const of = datesIn(type);
        return of ? [{ name, type: of }] : [];
      });
      return fields.length > 0 ? { kind: 'struct', fields } : undefined;
    }
    case 'map': {
      const [key, value] = [datesIn(only.key), datesIn(only.value)];
      return key || value ? { kind: 'map', key: key ?? unsaid, value: value ?? unsaid } : undefined;
    }
    default:
      return undefined;
  }
};
/** Nothing is known of it. */
const unsaid: SqlType = { kind: 'plain', type: types.null };
const decimalOf = (scale: number): SqlType => ({ kind: 'decimal', precision: decimalPrecisionMax, scale });

/** A number that no number of the query holds as it is written: it is cast by its digits. */
const byDigits = (e: Expr): PlanExpr | undefined =>
  e.kind === 'literal' &&
  ((e.type === 'int64' && !fitsInt64(BigInt(e.text))) || (e.type === 'float64' && isBeyondDecimals(e.text)))
    ? literal(stringValue(e.text))
    : undefined;

interface CastOptions {
  readonly attempt?: boolean /** What is known of the operand, if the expression alone does not say it. */;
  readonly from?: SqlType;
  readonly written?: string;
}
/** A cast of an expression; `written` is what its error shows. */
export const castTo = (
  operand: PlanExpr,
  type: SqlType,
  { attempt = false, from = sqlTypeOf(operand), written = `CAST(.. AS ${sqlTypeText(type)})` }: CastOptions = {},
): PlanExpr => ({
  kind: 'sqlCast',
  operand,
  type,
  ...(from && { from }),
  failure: attempt ? 'null' : 'error',
  written,
});

/** Functions that give JSON. */
const makers: ReadonlySet<string> = new Set([
  'array_to_json',
  'json',
  'json_array',
  'json_deep_merge',
  'json_extract',
  'json_extract_path',
  'json_insert',
  'json_merge_patch',
  'json_merge_patch_diff',
  'json_normalize',
  'json_object',
  'json_quote',
  'json_remove',
  'json_replace',
  'json_set',
  'json_strip_nulls',
  'json_structure',
  'json_value',
  'row_to_json',
  'to_json',
]);
/** The type of an expression as far as the query says it; undefined for columns and all else. */
export const sqlTypeOf = (e: PlanExpr): SqlType | undefined => {
  if (e.kind === 'sqlCast') return e.type;
  const scale = scaleOf(e, undefined);
  if (scale !== undefined) return decimalOf(scale);
  if (
    e.kind === 'call' &&
    (e.name === 'bitstring' || e.name === 'set_bit' || (bitFunctions.has(e.name) && e.arguments.some(isBits)))
  )
    return { kind: 'bit' };
  const passed = passedOn(e);
  if (passed) return sqlTypeOfAll(passed);
  if (e.kind !== 'call') return undefined;
  if (e.name === 'make_time') return { kind: 'clock', digits: 6 };
  if (makers.has(e.name)) return { kind: 'json' };
  return dateFunctions.has(e.name) ? { kind: 'date' } : undefined;
};
/** The values of which an expression gives one; undefined for all others. */
const passedOn = (e: PlanExpr): readonly PlanExpr[] | undefined => {
  switch (e.kind) {
    case 'call':
      if (e.name === 'nullif') return e.arguments.slice(0, 1);
      return passing.has(e.name) ? e.arguments : undefined;
    case 'conditional':
      return [e.then, e.otherwise];
    case 'case':
      return [...e.branches.map((b) => b.then), ...(e.otherwise ? [e.otherwise] : [])];
    default:
      return undefined;
  }
};
const passing: ReadonlySet<string> = new Set(['coalesce', 'greatest', 'ifnull', 'least']);
/** What values are together that are null or of one of these types. */
const sqlTypeOfAll = (list: readonly PlanExpr[]): SqlType | undefined => {
  const given = list.filter((e) => e.kind !== 'literal' || e.value.type !== types.null);
  const [first, ...others] = given.map(sqlTypeOf);
  if (!first || !passedTypes.has(first.kind)) return undefined;
  return others.every((o) => o?.kind === first.kind) ? first : undefined;
};
const passedTypes: ReadonlySet<SqlType['kind']> = new Set(['bit', 'clock', 'date', 'uuid']);
/** Functions that give bits of bits, and of numbers numbers. */
const bitFunctions: ReadonlySet<string> = new Set([
  'and_bits',
  'or_bits',
  'xor',
  'not_bits',
  'shift_left',
  'shift_right',
]);
export const isBits = (e: PlanExpr): boolean => sqlTypeOf(e)?.kind === 'bit';
export const isDate = (e: PlanExpr): boolean => sqlTypeOf(e)?.kind === 'date';
export const isClock = (e: PlanExpr): boolean => sqlTypeOf(e)?.kind === 'clock';

/** What is compared with a time of day is one too: columns of files have them as times. */
export const besideClock = (e: PlanExpr, other: PlanExpr): PlanExpr =>
  isClock(other) && !isClock(e) ? castTo(e, { kind: 'clock', digits: 9 }, { written: 'comparison' }) : e;

/** A text that the query writes down beside what is known to be times alone: the time, by which scans pass over rows. */
export const besideTime = (e: PlanExpr, other: PlanExpr, typeOf: ((x: PlanExpr) => Type) | undefined): PlanExpr => {
  if (e.kind !== 'literal' || e.value.type !== types.string || pathOf(other) === undefined || !typeOf) return e;
  const given = alternatives(typeOf(other)).filter((t) => t !== types.null);
  return given.length > 0 && given.every((t) => t === types.time)
    ? castTo(e, { kind: 'timestamp', unit: 1 }, { written: 'comparison' })
    : e;
};

/** A decimal that the query writes down, and that no float is, beside what is known to be floats alone: the nearest one. */
export const besideFloat = (e: PlanExpr, other: PlanExpr, typeOf: ((x: PlanExpr) => Type) | undefined): PlanExpr => {
  if (e.kind !== 'literal' || !isLongDecimal(e.value.type) || other.kind === 'literal' || !typeOf) return e;
  const given = alternatives(typeOf(other)).filter((t) => t !== types.null);
  return given.length > 0 && given.every(isFloat) && scaleOf(other, typeOf) === undefined
    ? literal(nearValue(e.value))
    : e;
};

/** `DATE '..'`, `TIMESTAMP '..'`: a cast of the text, looked at when the query is compiled. */
export const lowerSqlDate = (
  a: Analysis,
  e: DateExpr,
  { faultOf, advice }: { readonly faultOf: (text: string) => string; readonly advice: string },
): PlanExpr => {
  const cast = castTo(
    literal(stringValue(e.text)),
    e.type === 'date' ? { kind: 'date' } : { kind: 'timestamp', unit: 1 },
  );
  return a.constant(cast)
    ? cast
    : a.wrong(
        faultOf(e.text),
        { start: e.textStart, end: e.end },
        /infinity/i.test(e.text) ? 'there is no infinite time: write null, or a time far off' : advice,
      );
};

/** Functions that put their arguments into a text. */
const formatting: ReadonlySet<string> = new Set(['format', 'printf']);
/** Functions that make JSON of their arguments, in which dates are texts. */
const quoting: ReadonlySet<string> = new Set(['json_array', 'json_object', 'json_quote', 'to_json']);
/** The arguments of a call: what texts are made of has SQL's where the query says what it is, as dates and decimals. */
export const asTexts = (c: ExprContext, name: string, args: readonly PlanExpr[]): readonly PlanExpr[] => {
  if (quoting.has(name)) return args.map((e) => jsonPart(c.sql?.typeOf, e));
  if (name === 'array_to_string') return args.map((e, i) => (i === 0 ? textsIn(c, e) : e));
  if (name === 'concat') return joinedParts(c, args);
  // The elements of lists count one by one.
  if (name === 'concat_ws') return args.map((e) => (isKnownList(c, e) ? textsIn(c, e) : asText(c, e)));
  return formatting.has(name) ? args.map((e) => asText(c, e, true)) : args;
};
/** What JSON has as texts of SQL's: dates, also in lists, and intervals. */
const jsonPart = (typeOf: TypeOf, e: PlanExpr): PlanExpr => {
  const known = knownType(typeOf, e);
  const text: SqlType = { kind: 'plain', type: types.string };
  if (known?.kind === 'date' || isInterval(e, typeOf)) return castOf(typeOf, e, text, {});
  if (known?.kind !== 'list' || known.element.kind !== 'date') return e;
  return castTo(e, { kind: 'list', element: text }, { from: known });
};
/** What `||` and concat join: lists as they are where all may be some, else texts. */
export const joinedParts = (c: ExprContext, parts: readonly PlanExpr[]): readonly PlanExpr[] =>
  parts.every((e) => mayBeList(c, e)) ? parts : parts.map((e) => asText(c, e));
const isKnownList = (c: ExprContext, e: PlanExpr): boolean => knownType(c.sql?.typeOf, e)?.kind === 'list';
const mayBeList = (c: ExprContext, e: PlanExpr): boolean => {
  const known = knownType(c.sql?.typeOf, e);
  if (known) return known.kind === 'list';
  const type = e.kind === 'literal' ? e.value.type : c.sql?.typeOf?.(e);
  return (
    type === undefined || alternatives(type).some((t) => listKinds.has(t.kind) || t === types.null || t === unknownType)
  );
};
const listKinds: ReadonlySet<Type['kind']> = new Set(['array', 'set']);
/** A list of dates or decimals as the list of their texts. */
const textsIn = (c: ExprContext, e: PlanExpr): PlanExpr => {
  const from = knownType(c.sql?.typeOf, e) ?? toldIn(e, c.sql?.typeOf);
  return from?.kind === 'list' && (from.element.kind === 'date' || textsOfSql.has(from.element.kind))
    ? castTo(e, { kind: 'list', element: { kind: 'plain', type: types.string } }, { from })
    : e;
};
/** Aggregates that join texts. */
const joiningRows: ReadonlySet<string> = new Set(['group_concat', 'listagg', 'string_agg']);
/** What such an aggregate is given of a row: its value as a cast to text gives it. Undefined for others. */
export const textOfRow = (
  name: string,
  [value, ...others]: readonly PlanExpr[],
  typeOf: TypeOf,
): readonly PlanExpr[] | undefined => {
  if (!joiningRows.has(name) || !value || isOwnText(value, typeOf)) return undefined;
  return [castOf(typeOf, value, { kind: 'plain', type: types.string }, { attempt: true, written: name }), ...others];
};
/** Whether all values have one text, in SQL and in pipes. */
const isOwnText = (e: PlanExpr, typeOf: TypeOf): boolean => {
  const given = typeOf ? alternatives(typeOf(e)) : [];
  return given.length > 0 && given.every((t) => t === types.null || t === types.string || isInteger(t));
};
/** `isFormat`: numbers have formats of their own there, and times are no texts of SQL yet. */
export const asText = (c: ExprContext, e: PlanExpr, isFormat = false): PlanExpr => {
  const known = knownType(c.sql?.typeOf, e);
  const type = known?.kind ?? (isFormat && e.kind === 'field' ? timeIn(c, e) : undefined);
  if (isFormat && (isInterval(e, c.sql?.typeOf) || areNested(c, e)))
    return castOf(c.sql?.typeOf, e, { kind: 'plain', type: types.string }, {});
  const isText = type === 'date' || type === 'timestamp';
  return isText || (type !== undefined && !isFormat && textsOfSql.has(type))
    ? castTo(e, { kind: 'plain', type: types.string }, known && { from: known })
    : e;
};
/** What else has a text of SQL's own. */
const textsOfSql: ReadonlySet<SqlType['kind']> = new Set(['decimal', 'list', 'map', 'struct']);
/** What is known to be lists, maps or structs alone. */
const areNested = (c: ExprContext, e: PlanExpr): boolean => {
  const found = c.sql?.typeOf ? alternatives(c.sql.typeOf(e)).filter((t) => t !== types.null) : [];
  return found.length > 0 && found.every(({ kind }) => nestedKinds.has(kind));
};
const nestedKinds: ReadonlySet<Type['kind']> = new Set(['array', 'map', 'record', 'set']);
/** Columns that hold times alone. */
const timeIn = (c: ExprContext, e: PlanExpr): 'timestamp' | undefined => {
  const found = c.sql?.typeOf ? alternatives(c.sql.typeOf(e)).filter((t) => t !== types.null) : [];
  return found.length > 0 && found.every((t) => t === types.time) ? 'timestamp' : undefined;
};

/** Types that the data model lacks, and what to write instead. */
const lacking: Readonly<Record<string, string>> = {
  timetz: 'a time of day has no zone: write ::time for the clock, or ::timestamptz for a moment',
  money: 'write decimal(18,2)',
  struct: 'name its fields: struct(a integer, b varchar)',
  list: 'name the type of its elements: integer[]',
};
const familiar = [
  'time',
  'bigint',
  'integer',
  'smallint',
  'tinyint',
  'double',
  'real',
  'decimal',
  'varchar',
  'text',
  'boolean',
  'date',
  'timestamp',
  'timestamptz',
  'interval',
  'blob',
  'bit',
  'uuid',
  'struct',
  'map',
];

/** The fault of a type that SQL names and the data model lacks; undefined for others. */
export const lackingType = (a: Analysis, e: Expr | CastExpr['target']): PlanExpr | undefined => {
  const name = e.kind === 'type-primitive' ? (e.alias ?? e.name) : e.kind === 'id' ? e.name : undefined;
  const lower = name?.toLowerCase();
  return lower !== undefined && Object.hasOwn(lacking, lower)
    ? a.wrong(`no such type name: "${name!}"`, e, lacking[lower])
    : undefined;
};
/** The fault of a name that is no type. */
export const unknownSqlType = (a: Analysis, e: IdExpr): PlanExpr =>
  a.wrong(`no such type name: "${e.name}"`, e, didYouMean(e.name, familiar));

/** A cast that the language makes itself: to a duration, which numbers of nanoseconds become. */
export const asDuration = (operand: PlanExpr): PlanExpr => castTo(operand, { kind: 'plain', type: types.duration });

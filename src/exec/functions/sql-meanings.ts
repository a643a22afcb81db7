/**
 * What names that pipes know mean in SQL, where that is something else: PostgreSQL's and DuckDB's functions of those
 * names.
 */
import { aggregateLists, listAggregates } from './lists/list-aggregates.ts';
import { inner } from '../expressions/rows.ts';
import { LakeError } from '../../errors.ts';
import { bitsOf, isFloat, isUnsigned, types } from '../../vectors/type.ts';
import { fitsInt64 } from '../../vectors/literal.ts';
import {
  type Value,
  integer,
  itemsData,
  nullValue,
  recordValue,
  stringValue,
  bytesData,
  stringData,
} from '../../vectors/value.ts';
import { type Vector, constant, flatten, nulls } from '../../vectors/vector.ts';
import { vectorOf } from '../../vectors/builder.ts';
import { supText } from '../../vectors/sup/print.ts';
import { apply } from '../expressions/apply.ts';
import { listFrom } from '../expressions/construct.ts';
import { overflow } from '../expressions/arithmetic.ts';
import { sqlTextOf } from '../expressions/sql/concat.ts';
import { monthsOn } from '../expressions/sql/spans.ts';
import { areSpans } from '../expressions/sql/span-arithmetic.ts';
import { joiningElements } from './lists/array-sums.ts';
import { datePart, datePartRow, epochNanos } from './times/date-parts.ts';
import { logarithm } from './numbers/elementary.ts';
import { flattened, listOf, itemsOf, repeatedList } from './lists/lists.ts';
import { encodedText } from './texts/coding.ts';
import { compiled, extract, hasGroup, matchesIn } from './texts/matches.ts';
import { concatWithSeparator, repeated } from './texts/padding.ts';
import { replaceIn } from './texts/patterns.ts';
import { splitAtBytes } from './texts/splits.ts';
import { replaceInSql, textParts } from './texts/strings.ts';
import { byKernel, isNull, isText, type FunctionRow, type Kernel } from './row.ts';
import { byUnit } from './times/by-unit.ts';
import { secondsOfFormat, timeText } from './times/sql-times.ts';
import { Refusal, byRow, rowKernel, type Items } from './typed.ts';

/** What SQL says of a name: the text goes behind that of the row. */
interface SqlMeaning {
  readonly name: string;
  readonly text: string;
  readonly argumentsMin: number;
  readonly argumentsMax: number;
  readonly make: FunctionRow['make'];
  readonly examples: readonly (readonly [query: string, output: string])[];
}

/** In TRY null beyond the range of times. @throws query-time-overflow */
const monthsAdded =
  (isAttempt: boolean) =>
  (time: number | bigint, months: number | bigint): number | bigint | null => {
    const at = monthsOn(time, months);
    if (at !== undefined) return at;
    if (isAttempt) return null;
    throw overflow(`${supText({ type: types.time, data: time })} + ${months} months`, types.time);
  };

const emptyText = vectorOf([stringValue('')]);
/** Lists behind one another, else texts of all values; nulls are left out. */
const concatenated: Kernel = (args, length) => {
  const given = args.filter((a) => !isNull(a));
  if (given.length > 0 && given.every((a) => inner(a).form === 'list'))
    return listFrom(
      'array',
      given.map((values) => ({ spread: true, values })),
      length,
    );
  return concatWithSeparator([constant(emptyText, length), ...given.map(sqlTextOf)], length);
};

const joinedElements = joiningElements(sqlTextOf);

/** Lists among the values stand for their elements. */
const joinedBy: Kernel = (args, length) => {
  const [separator, ...values] = args;
  if (!values.some((v) => inner(v).form === 'list'))
    return concatWithSeparator([separator!, ...values.map((v) => (isNull(v) ? v : sqlTextOf(v)))], length);
  const given = values.filter((v) => !isNull(v));
  const list = listFrom(
    'array',
    given.map((v) =>
      inner(v).form === 'list' ? { spread: true, values: v } : { spread: false, values: sqlTextOf(v) },
    ),
    length,
  );
  return joinedElements([list, separator!], length);
};
const repeatedValue = (of: Value, times: number | bigint): Value | Refusal => {
  if (of.type === types.string) return stringValue(repeated(stringData(of.data), Number(times), 'repeat'));
  // A character for each byte: charged and bounded as a text is.
  if (of.type === types.bytes)
    return {
      type: types.bytes,
      data: Buffer.from(
        repeated(Buffer.from(bytesData(of.data)).toString('latin1'), Number(times), 'repeat'),
        'latin1',
      ),
    };
  const list = itemsOf(of);
  return list ? repeatedList(list, times) : new Refusal('string, bytes or list argument required');
};

/** The format may stand on either side of the time. */
const formattedTime = byUnit(rowKernel('strftime', ['time', 'string'], 'string', timeText), 0, ([, format]) =>
  secondsOfFormat(format),
);
const strftimeEither: Kernel = (args, length) => formattedTime(isText(args[0]!) ? [args[1]!, args[0]!] : args, length);

/** One match is replaced, with option `g` each; \1 stands for a group. */
const replaced = (s: string, pattern: string, by: string, options = ''): string | Refusal => {
  const re = compiled(pattern, options, 3);
  return re instanceof Refusal
    ? re
    : replaceIn(s, re, groupParts(by), { each: options.includes('g'), touching: false });
};
const groupParts = (by: string): readonly (string | number)[] => {
  // All rows of a column have the same one, mostly.
  if (lastParts?.by !== by) lastParts = { by, parts: splitGroups(by) };
  return lastParts.parts;
};
let lastParts: { readonly by: string; readonly parts: readonly (string | number)[] } | undefined;
const splitGroups = (by: string): readonly (string | number)[] =>
  by.split(/(\\[\d\\])/).flatMap((part): readonly (string | number)[] => {
    if (part === '') return [];
    return /^\\\d$/.test(part) ? [Number(part[1])] : [part === '\\\\' ? '\\' : part];
  });

/** Groups by their number, or a record of them by the names of a list. */
const extracted = (
  s: string,
  pattern: string,
  group: Value | null = { type: types.int64, data: 0 },
  options = '',
): Value | Refusal => {
  if (group === null) return stringValue('');
  const names = namesIn(group);
  if (names instanceof Refusal) return names;
  if (typeof names === 'number') {
    const found = extract(s, pattern, names, options);
    return found instanceof Refusal ? found : stringValue(found);
  }
  const re = compiled(pattern, options, 3);
  if (re instanceof Refusal) return re;
  const matcher = re.matcher(s);
  const isFound = matcher.find();
  return recordValue(
    names.map((name, k) => ({
      name,
      value: stringValue(isFound && k < matcher.groupCount() ? (matcher.group(k + 1) ?? '') : ''),
    })),
  );
};
/** Of more groups nobody wants a record. */
const groupNamesMax = 1000;
/** The number of a group, or names for the groups from the first one on. */
const namesIn = (group: Value): number | readonly string[] | Refusal => {
  if (typeof group.data === 'number') return group.data;
  if (group.type.kind === 'array' && itemsData(group.data).length > groupNamesMax)
    return new Refusal(`more than ${groupNamesMax} names`, 2);
  const names = itemsOf(group)?.values;
  return names?.every((n) => n.type === types.string)
    ? names.map((n) => stringData(n.data))
    : new Refusal('integer or list of strings required', 2);
};
const extractedAll = (
  s: string,
  pattern: string,
  group: Value | null = { type: types.int64, data: 0 },
  options = '',
): Value | null | Refusal => {
  if (group === null) return null;
  const names = namesIn(group);
  if (names instanceof Refusal) return names;
  const re = compiled(pattern, options, 3);
  const rows: Value[] = [];
  if (re instanceof Refusal) return re;
  const groupCount = re.groupCount();
  for (const match of matchesIn(re, s)) {
    // A group that is not there is a mistake once there is a match to take it of.
    if (typeof names === 'number' && !hasGroup(re, names)) return new Refusal('no group of this number', 2);
    const textOf = (k: number): Value => {
      const text = k <= groupCount ? match.group(k) : null;
      return text === null ? nullValue : stringValue(text);
    };
    rows.push(
      typeof names === 'number' ? textOf(names) : recordValue(names.map((name, k) => ({ name, value: textOf(k + 1) }))),
    );
  }
  return listOf(rows, typeof names === 'number' ? types.string : types.null);
};
/** A null separator parts nothing. */
const splitText = (s: string, separator: string | null): Iterable<string> =>
  separator === null ? [s] : separator === '' ? s : textParts(s, separator);
const splitMeaning = (name: string): SqlMeaning => ({
  name,
  text: 'In SQL a null separator parts nothing',
  argumentsMin: 2,
  argumentsMax: 2,
  make: byKernel(splitAtBytes(rowKernel(name, ['string', 'string?'], 'strings', splitText)), 'bare'),
  examples: [[`select ${name}('a b',null) as a`, '{a:["a b"]}']],
});

/** Numbers and texts as hexadecimal digits. */
const hexDigits = (v: Value): string | Refusal => {
  if (v.type === types.string) return encodedText(Buffer.from(stringData(v.data)), 'hex').toUpperCase();
  if (v.type === types.bytes) return encodedText(bytesData(v.data), 'hex').toUpperCase();
  if (typeof v.data === 'number' || typeof v.data === 'bigint')
    return BigInt.asUintN(64, BigInt(v.data)).toString(16).toUpperCase();
  return new Refusal('string, bytes or integer argument required');
};
const flattenedRows = rowKernel('flatten', ['list'], 'value', (list): Value | Refusal => flattened(list));
/** The elements of lists of lists that are of one type lie one behind the other already. */
const flattenedLists: Kernel = (args, length) => {
  const v = flatten(args[0]!);
  const lists = v.form === 'list' && v.type.kind === 'array' ? flatten(v.items) : undefined;
  if (v.form !== 'list' || lists?.form !== 'list' || lists.type.kind !== 'array') return flattenedRows(args, length);
  const { type, offsets, items } = lists;
  return { form: 'list', type, length, offsets: v.offsets.map((at) => offsets[at]), items };
};

/** As in pipes, but that of the least integer of a type ends the query. @throws query-overflow */
const withinType =
  (make: FunctionRow['make']): FunctionRow['make'] =>
  (call) => {
    const evaluate = make(call);
    return (args, length) =>
      apply(
        args,
        length,
        (given, n): Vector => {
          const v = flatten(given[0]!);
          const least =
            v.form === 'number' && !isFloat(v.type) && !isUnsigned(v.type)
              ? -(2n ** BigInt(bitsOf(v.type) - 1))
              : undefined;
          // Mixed number and bigint.
          if (v.form === 'number' && least !== undefined && v.values.some((x: number | bigint) => x == least))
            throw new LakeError('query-overflow', { operation: `abs(${least})`, type: v.type.name });
          return evaluate(given, n);
        },
        'bare',
      );
  };
/** As in pipes, but null for null. */
const nullForNull =
  (make: FunctionRow['make']): FunctionRow['make'] =>
  (call) => {
    const evaluate = make(call);
    return (args, length) =>
      apply(args, length, (given, n): Vector => (given.some(isNull) ? nulls(n) : evaluate(given, n)), 'bare');
  };

/** Lists have one dimension: what is in lists inside may be of any length. */
const lengthOf = (list: Items, dimension: number | bigint): number | Refusal =>
  Number(dimension) === 1 ? list.values.length : new Refusal('dimension must be 1', 1);
const epochOf = (v: Value): Value | Refusal => datePart(stringValue('epoch'), v, 0);
/** Durations, intervals and times of day, which are texts. */
const hasParts = (v: Vector): boolean => {
  const of = inner(v);
  return of.form === 'bytes' || areSpans(v) || (of.form === 'number' && of.type === types.duration);
};
/** `epoch_us` and the like, in whole units of so many nanoseconds. */
const epochIn = (name: string, unit: bigint): SqlMeaning => ({
  name,
  text: 'In SQL also of durations, intervals and times of day',
  argumentsMin: 1,
  argumentsMax: 1,
  make: byRow(name, ['timely'], 'value', (v) => {
    const nanos = epochNanos(v);
    if (nanos === undefined) return new Refusal('time argument required');
    const whole = (nanos - (((nanos % unit) + unit) % unit)) / unit;
    return fitsInt64(whole) ? { type: types.int64, data: integer(whole) } : new Refusal('out of range');
  }),
  examples: [[`select ${name}(time '00:01:30') as n`, `{n:${90_000_000_000n / unit}}`]],
});
const meaningsOf = (rows: ReadonlyMap<string, FunctionRow>): readonly SqlMeaning[] => {
  const own = (name: string): FunctionRow['make'] => rows.get(name)!.make;
  const sized = (name: string): SqlMeaning => ({
    name,
    text: 'In SQL null for null',
    argumentsMin: 1,
    argumentsMax: 1,
    make: nullForNull(own(name)),
    examples: [[`select ${name}(null) as n`, '{n:null}']],
  });
  return [
    splitMeaning('string_split'),
    splitMeaning('str_split'),
    splitMeaning('string_to_array'),
    {
      name: 'array_to_string',
      text: 'In SQL the texts are those of casts',
      argumentsMin: 2,
      argumentsMax: 3,
      make: byKernel(joinedElements, 'bare'),
      examples: [["select array_to_string([1.0::double, [2]], ' ') as s", '{s:"1.0 [2]"}']],
    },
    {
      name: 'epoch',
      text: 'In SQL also of durations and times of day',
      argumentsMin: 1,
      argumentsMax: 1,
      make: byRow('epoch', ['timely'], 'value', epochOf),
      examples: [["select epoch(time '00:01:30') as n", '{n:90.}']],
    },
    epochIn('epoch_us', 1000n),
    epochIn('epoch_ns', 1n),
    {
      ...epochIn('epoch_ms', 1_000_000n),
      make: (call) => {
        const [ofTimes, ofOthers] = [own('epoch_ms')(call), epochIn('epoch_ms', 1_000_000n).make(call)];
        return (args, length) =>
          apply(args, length, (given, n) => (hasParts(given[0]!) ? ofOthers : ofTimes)(given, n), 'bare');
      },
    },
    {
      name: 'abs',
      text: 'In SQL an error where it has no place in its type',
      argumentsMin: 1,
      argumentsMax: 1,
      make: withinType(own('abs')),
      examples: [['select abs(-3) as n', '{n:3}']],
    },
    sized('len'),
    sized('length'),
    {
      name: 'array_length',
      text: 'In SQL null for null, and a dimension may be given, which must be 1',
      argumentsMin: 1,
      argumentsMax: 2,
      make: (call) =>
        (call.literals.length > 1
          ? byRow('array_length', ['list', 'integer'], 'integer', lengthOf)
          : sized('array_length').make)(call),
      examples: [
        ['select array_length(null) as n', '{n:null}'],
        ['select array_length([1,2],1) as n', '{n:2}'],
      ],
    },
    {
      name: 'flatten',
      text: 'In SQL the elements of a list of lists',
      argumentsMin: 1,
      argumentsMax: 1,
      make: byKernel(flattenedLists, 'bare'),
      examples: [['select flatten([[1],[2,3]]) as a', '{a:[1,2,3]}']],
    },
    {
      name: 'replace',
      text: 'In SQL an empty `old` is found nowhere',
      argumentsMin: 3,
      argumentsMax: 3,
      make: byKernel(replaceInSql, 'bare'),
      examples: [["select replace('abc','','x') as s", '{s:"abc"}']],
    },
    {
      name: 'repeat',
      text: 'In SQL also a list',
      argumentsMin: 2,
      argumentsMax: 2,
      make: byRow('repeat', ['value', 'integer'], 'value', repeatedValue),
      examples: [['select repeat([1,2],2) as a', '{a:[1,2,1,2]}']],
    },
    {
      name: 'concat',
      text: 'In SQL of any values, without nulls',
      argumentsMin: 1,
      argumentsMax: Infinity,
      make: byKernel(concatenated),
      examples: [["select concat('a',null,1) as s", '{s:"a1"}']],
    },
    {
      name: 'concat_ws',
      text: 'In SQL the elements of lists count one by one',
      argumentsMin: 2,
      argumentsMax: Infinity,
      make: byKernel(joinedBy),
      examples: [["select concat_ws('-',['a','b'],1) as s", '{s:"a-b-1"}']],
    },
    {
      name: 'log',
      text: 'In SQL the logarithm to the base 10',
      argumentsMin: 1,
      argumentsMax: 2,
      make: (call) => (call.literals.length > 1 ? logarithm : byRow('log', ['number'], 'number', Math.log10))(call),
      examples: [['select log(100) as n', '{n:2.}']],
    },
    {
      name: 'hex',
      text: 'In SQL the digits of a number, or of the bytes of a text',
      argumentsMin: 1,
      argumentsMax: 1,
      make: byRow('hex', ['value'], 'string', hexDigits),
      examples: [
        ["select hex('ab') as s", '{s:"6162"}'],
        ['select hex(255) as s', '{s:"FF"}'],
      ],
    },
    {
      name: 'strftime',
      text: 'In SQL the time may stand first, and formats are as in DuckDB: %h, %f, %g, %G, %-d and others',
      argumentsMin: 2,
      argumentsMax: 2,
      make: byKernel(strftimeEither, 'bare'),
      examples: [["select strftime(timestamp '2024-07-30','%-d %h %Y') as s", '{s:"30 Jul 2024"}']],
    },
    {
      name: 'date_part',
      text: 'In SQL also quarter, week, isodow, doy, isoyear, yearweek, decade, century, millennium, era, epoch, julian, a record of the parts that a list names, and parts of durations and of times of day',
      argumentsMin: 2,
      argumentsMax: 2,
      make: datePartRow,
      examples: [
        ["select date_part('week',timestamp '2024-07-30') as n", '{n:31}'],
        ["select date_part(['year','doy'],timestamp '2024-07-30') as r", '{r:{year:2024,doy:212}}'],
      ],
    },
    {
      name: 'regexp_replace',
      text: 'In SQL of the first match, or with the option g of each; \\1 stands for a group',
      argumentsMin: 3,
      argumentsMax: 4,
      make: byRow('regexp_replace', ['string', 'string', 'string', 'string'], 'string', replaced),
      examples: [
        ["select regexp_replace('aba','a','x') as s", '{s:"xba"}'],
        ["select regexp_replace('aba','a','x','g') as s", '{s:"xbx"}'],
      ],
    },
    {
      name: 'regexp_extract',
      text: 'In SQL a list of names gives a record of the groups',
      argumentsMin: 2,
      argumentsMax: 4,
      make: byRow('regexp_extract', ['string', 'string', 'value?', 'string'], 'value', extracted),
      examples: [["select regexp_extract('ab12','([a-z]+)([0-9]+)',['a','n']) as r", '{r:{a:"ab",n:"12"}}']],
    },
    {
      name: 'regexp_extract_all',
      text: 'In SQL a list of names gives records of the groups',
      argumentsMin: 2,
      argumentsMax: 4,
      make: byRow('regexp_extract_all', ['string', 'string', 'value?', 'string'], 'value', extractedAll),
      examples: [
        ["select regexp_extract_all('a1b2','([a-z])([0-9])',['a','n']) as r", '{r:[{a:"a",n:"1"},{a:"b",n:"2"}]}'],
      ],
    },
    {
      name: 'add_months',
      text: 'In SQL a result that leaves the range of times ends the query',
      argumentsMin: 2,
      argumentsMax: 2,
      make: (call) => byRow('add_months', ['time', 'integer'], 'time', monthsAdded(call.attempt === true))(call),
      examples: [["select add_months(timestamp '2024-01-31 12:00:00',1) as t", '{t:2024-02-29T12:00:00Z}']],
    },
    ...listAggregates.map(({ name }) => ({
      name,
      text: 'In SQL the aggregate is the one of SELECT',
      argumentsMin: 2,
      argumentsMax: 4,
      make: () => aggregateLists(true),
      examples: [[`select ${name}(['a','c','b'],'median') as m`, '{m:"b"}']] as const,
    })),
  ];
};

/** Rows with what SQL makes of their names. */
export const withSqlMeanings = (rows: readonly FunctionRow[]): readonly FunctionRow[] => {
  const meanings = new Map(meaningsOf(new Map(rows.map((row) => [row.name, row]))).map((m) => [m.name, m]));
  return rows.map((row) => {
    const found = meanings.get(row.name);
    if (!found) return row;
    const { argumentsMin, argumentsMax, make, text, examples } = found;
    return {
      ...row,
      text: `${row.text} ${text}.`,
      examples: [...row.examples, ...examples.map(([query, output]) => ({ query, output }))],
      inSql: { argumentsMin, argumentsMax, make },
    };
  });
};

/**
 * Random rows in SUP for random queries: every type, nulls, missing fields, errors, nested records, names, unions; and
 * flat typed tables for SQL.
 */
import type { Random } from '../../support/random.ts';

/** Texts that are likely to be met again, in data and in constants. */
const words: readonly string[] = [
  'a',
  'b',
  'foo',
  'Foo bar',
  '',
  'x.y',
  'é',
  '日本',
  'a long text with many words',
  '12',
  '1.5',
  '2024-01-02T03:04:05Z',
  '10.1.2.3',
  '{a:1}',
  '[1]',
  '%d',
  'a,b',
  ' pad ',
  '\\n',
];
export const quoted = (text: string): string => JSON.stringify(text);

export const number = (random: Random): string =>
  random.pick([
    () => String(random.below(8) - 2),
    () => String(random.below(8) - 2),
    () => String(random.below(8) - 2),
    () => `${random.below(100) - 50}.${random.below(4) * 25}`,
    () =>
      random.pick([
        '9223372036854775807',
        '-9223372036854775808',
        '9007199254740993',
        '-0.',
        'NaN',
        '+Inf',
        '-Inf',
        '1e+100',
        '0.1',
        '4294967296',
      ]),
    () => `${random.below(256)}::uint8`,
    () => `${random.below(100) - 50}::int8`,
    () => `${random.below(70_000)}::uint32`,
    () => `18446744073709551615::uint64`,
    () => `${random.below(9)}::uint64`,
    () => `1.5::float32`,
    () => `2.5::float16`,
    () => `${random.below(300) - 100}::int16`,
  ])();
export const text = (random: Random): string => quoted(random.pick(words));
export const time = (random: Random): string =>
  random.pick([
    '2024-01-01T00:00:00Z',
    '2024-02-29T12:34:56.123456789Z',
    '1969-12-31T23:59:59.5Z',
    '2023-06-15T00:00:00Z',
    '1970-01-01T00:00:00Z',
  ]);
export const duration = (random: Random): string =>
  random.pick(['0s', '1h', '-90m', '1.5s', '1ns', '1y', '3d4h', '250ms']);

const plain = (random: Random): string =>
  random.pick([
    number,
    number,
    text,
    text,
    time,
    duration,
    () => random.pick(['true', 'false']),
    () => random.pick(['10.0.0.1', '10.1.2.3', '::1', '255.255.255.255']),
    () => random.pick(['10.0.0.0/8', '::/0', '10.1.2.0/24']),
    () => random.pick(['0x', '0x00ff', '0x666f6f']),
    () => random.pick(['<int64>', '<string>', '<{a:int64}>', '<[int64]>', '<int64|string>', '<port=uint16>']),
    () => 'null',
  ])(random);

/** A value of any type, containers up to `depth` deep. */
export const anyValue = (random: Random, depth = 2): string => {
  if (depth === 0 || random.below(3) > 0) return plain(random);
  const inner = (): string => anyValue(random, depth - 1);
  const list = (n: number, make: () => string): string => Array.from({ length: random.below(n + 1) }, make).join(',');
  const whole = (): string => String(random.below(5));
  return random.pick([
    () => `[${list(4, inner)}]`,
    () => `[${list(4, whole)}]`,
    () => `[${list(4, () => text(random))}]`,
    () => `|[${list(4, whole)}]|`,
    () => `|[${list(3, inner)}]|`,
    () => `|{${list(3, () => `${text(random)}:${whole()}`)}}|`,
    () => `|{${list(2, () => `${plain(random).replace('::1', '1').replace('::/0', '2')}: ${inner()}`)}}|`,
    () => record(random, depth - 1),
    () => record(random, depth - 1),
    () => `error(${random.pick(['"missing"', '"quiet"', '"bad"', '{message:"m",on:1}', '1'])})`,
    () => `${whole()}::=${random.pick(['id', 'port'])}`,
    () => `{x:${whole()}}::=point`,
    () => `${whole()}::(int64|string)`,
    () => `${text(random)}::(int64|string)`,
    () => 'null::(int64|null)',
    () => `"b"::enum(a,b,c)`,
    () => `[${whole()},${text(random)}]`,
    () => `[null,${whole()}]`,
  ])();
};
export const fields: readonly string[] = ['a', 'b', 'c', 'd', 'e', 'k'];
const record = (random: Random, depth: number): string =>
  `{${fields
    .filter(() => random.below(3) === 0)
    .map((name) =>
      random.below(8) === 0
        ? `${name}?:${random.pick(['1', '_::int64', '"s"', '_::string'])}`
        : `${name}:${anyValue(random, depth)}`,
    )
    .join(',')}}`;

/**
 * Rows for pipes: most are records with an int `a`, a text `b`, anything `c`, a nested `d`, a list `e` and a small key
 * `k`, each now and then null, absent or of another type; some rows are anything.
 */
export const mixedRows = (random: Random, count: number): string[] => {
  const tidy = random.below(3) === 0;
  return Array.from({ length: count }, () => {
    if (!tidy && random.below(10) === 0) return anyValue(random);
    const odd = (usual: () => string): string =>
      !tidy && random.below(6) === 0 ? anyValue(random) : random.below(8) === 0 ? 'null' : usual();
    const values: readonly (readonly [string, () => string])[] = [
      ['a', () => String(random.below(8) - 2)],
      ['b', () => text(random)],
      ['c', () => (tidy ? `${random.below(6)}.5` : anyValue(random))],
      ['d', () => `{a:${random.below(4)},b:${text(random)},x:{y:${odd(() => String(random.below(3)))}}}`],
      ['e', () => `[${Array.from({ length: random.below(4) }, () => String(random.below(5))).join(',')}]`],
      ['k', () => random.pick(['1', '2', '3'])],
      ['t', () => time(random)],
      ['u', () => `${random.below(5)}::(int64|string)`],
    ];
    const body = `{${values
      .filter(() => tidy || random.below(9) > 0)
      .map(([name, usual]) => `${name}:${odd(usual)}`)
      .join(',')}}`;
    return !tidy && random.below(20) === 0 ? `${body}::=row` : body;
  });
};

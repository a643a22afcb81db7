/**
 * What the console's query page knows without a browser: rows as they come, columns of mixed shapes, changes of the
 * text, bins, what can be plotted, what the browser remembers.
 */
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { JsupReader } from '../../../src/client/jsup.ts';
import type { Type } from '../../../src/client/types.ts';
import {
  binTimes,
  parseTextTime,
  spanOfBins,
  textTimeLiteral,
  textTimesOf,
  timeLiteral,
  widthText,
} from '../../../visualize/console/query/plot/bins.ts';
import { numberOf, plotsOf } from '../../../visualize/console/query/plot/chartable.ts';
import {
  cellAt,
  type ColumnOptions,
  columnsOf,
  keyOf,
  pathText,
} from '../../../visualize/console/query/columns/columns.ts';
import { narrowing, type TextChange, tidy, widening } from '../../../visualize/console/query/narrow.ts';
import { barRows, linesOf, TimeGatherer } from '../../../visualize/console/query/plot/gather.ts';
import { copied, shown, supText } from '../../../visualize/console/query/print.ts';
import { RowStore } from '../../../visualize/console/query/rows.ts';
import { scan, sourceOf, stagesOf } from '../../../visualize/console/query/scan.ts';
import { instant, sortedRows } from '../../../visualize/console/query/sorting.ts';
import { type Cell, fieldOf, partsOf, plain } from '../../../visualize/console/query/wire.ts';
import { colour } from '../../../visualize/console/query/words.ts';
import { seedOf } from '../../support/random.ts';
import { convert, written } from '../../support/formats/convert.ts';
import { someValues } from '../../support/formats/values.ts';

/** The rows of SUP text, as the service would send them, in pieces of some bytes. */
const storeOf = async (sup: string, pieceBytes = 7): Promise<RowStore> =>
  fill(new RowStore(), (await convert(sup, { from: 'sup', to: 'jsup' })).output, pieceBytes);
const fill = (store: RowStore, jsup: string, pieceBytes: number): RowStore => {
  const bytes = Buffer.from(jsup);
  for (let at = 0; at < bytes.length; at += pieceBytes) store.append(bytes.subarray(at, at + pieceBytes));
  return store;
};
const texts = (store: RowStore): string[] => Array.from({ length: store.count }, (_, i) => supText(store.cell(i)));
const table = async (sup: string, options: ColumnOptions = {}): Promise<Record<string, string[]>> => {
  const store = await storeOf(sup);
  const columns = columnsOf(
    store.types.map(({ type }) => type),
    options,
  );
  return Object.fromEntries(
    columns.map((column) => [
      `${column.title} ${column.types.join(' | ')}`,
      Array.from({ length: store.count }, (_, i) => {
        const { text, look } = shown(cellAt(store.cell(i), column));
        return look === 'missing' ? '-' : look === 'string' ? text : `${look} ${text}`;
      }),
    ]),
  );
};

describe('rows', () => {
  test('values of every type print as the service prints them, however the answer is cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        someValues({ depth: 3, maxLength: 6 }),
        fc.integer({ min: 1, max: 400 }),
        async (values, pieceBytes) => {
          const store = fill(new RowStore(), Buffer.from(written(values, 'jsup')).toString(), pieceBytes);
          expect(texts(store)).toEqual(Buffer.from(written(values, 'sup')).toString().split('\n').slice(0, -1));
        },
      ),
      { seed: seedOf(10), numRuns: 150 },
    );
  });

  test('messages stand apart from rows, and each channel defines its types anew', () => {
    const store = new RowStore();
    const set = (channel: string): string => `{"type":"QueryChannelSet","value":{"channel":"${channel}"}}\n`;
    const record = (name: string): string =>
      `{"type":{"kind":"record","id":30,"fields":[{"name":${JSON.stringify(name)},"type":{"kind":"primitive","name":"int64"}}]},"value":["1"]}\n{"type":{"kind":"ref","id":30},"value":["2"]}\n`;
    const controls = store.append(
      Buffer.from(
        `${set('debug')}${record('a')}${set('main')}${record('}"b')}{"type":"QueryError","value":{"error":"late"}}\n`,
      ),
    );
    expect(controls.map(({ name }) => name)).toEqual(['QueryChannelSet', 'QueryChannelSet', 'QueryError']);
    expect(texts(store)).toEqual(['{a:1}', '{a:2}', '{"}\\"b":1}', '{"}\\"b":2}']);
    expect([0, 1, 2, 3].map((row) => store.channels[store.channelOf(row)])).toEqual(['debug', 'debug', 'main', 'main']);
  });

  test('a million rows take their bytes and little more', () => {
    const store = new RowStore();
    const line = '{"type":{"kind":"ref","id":30},"value":["1","abc"]}\n';
    store.append(
      Buffer.from(
        '{"type":{"kind":"record","id":30,"fields":[{"name":"a","type":{"kind":"primitive","name":"int64"}},{"name":"b","type":{"kind":"primitive","name":"string"}}]},"value":["1","abc"]}\n',
      ),
    );
    const many = Buffer.from(line.repeat(10_000));
    for (let i = 0; i < 100; i++) store.append(many);
    expect([store.count, supText(store.cell(1_000_000))]).toEqual([1_000_001, '{a:1,b:"abc"}']);
    expect(store.size).toBeLessThan(1_000_001 * (11 + 15) * 2);
  });
});

describe('columns', () => {
  test("rows of any shape share one table: a column for each path, in an order that keeps every shape's own", async () => {
    expect(
      await table('{a:1,c:"x"} {a:"one",b:null,c:"y"} {a:error("missing"),d:[1,"z"]} 42 "text" error({k:1})'),
    ).toEqual({
      'this int64 | string | error({k:int64})': ['-', '-', '-', 'number 42', 'text', 'error {k:1}'],
      'a int64 | string | error(string)': ['number 1', 'one', 'error missing', '-', '-', '-'],
      'b null': ['-', 'null null', '-', '-', '-', '-'],
      'c string': ['x', 'y', '-', '-', '-', '-'],
      'd [(int64|string)]': ['-', '-', 'nested [1,"z"]', '-', '-', '-'],
    });
  });

  test('of another shape each field stands before the next that both have; of very many fields at once', () => {
    const record = (names: readonly string[]): Type => ({
      kind: 'record',
      fields: names.map((name) => ({ name, type: { kind: 'primitive', name: 'int64' }, optional: false })),
    });
    const titles = (...types: readonly (readonly string[])[]): string =>
      columnsOf(types.map(record))
        .map(({ title }) => title)
        .join(' ');
    expect(titles(['a', 'b', 'c'], ['x', 'y', 'b', 'z'])).toBe('a x y b c z');
    expect(titles(['a', 'b'], ['b', 'x', 'a', 'y'], ['y', 'q', 'x'])).toBe('q x a b y');
    const many = Array.from({ length: 100_000 }, (_, i) => `c${i}`);
    const began = process.cpuUsage();
    expect(titles(many)).toBe(many.join(' '));
    const { user, system } = process.cpuUsage(began);
    // What was still to come of the record was looked through for each of its fields: 20 s for 40,000.
    expect((user + system) / 1e6).toBeLessThan(30);
  });

  test('records and lists unfold in place; what is neither stays in the column', async () => {
    const sup = '{a:{x:1,y:{z:2}},l:[1,2]} {a:"none",l:[3]::[int64]} {a:{x:null},l:[]::[int64]}';
    const lengthOf = (): number => 2;
    expect(await table(sup, { unfolded: new Set([keyOf(['a']), keyOf(['l'])]), lengthOf })).toEqual({
      'a string': ['nested {x:1,y:{z:2}}', 'none', 'nested {x:null}'],
      'a.x int64': ['number 1', '-', 'null null'],
      'a.y {z:int64}': ['nested {z:2}', '-', '-'],
      'l[0] int64': ['number 1', 'number 3', '-'],
      'l[1] int64': ['number 2', '-', '-'],
    });
  });

  test('a column for each type tells the types of a path apart', async () => {
    expect(await table('{a:1} {a:"x"} {a:2::(int64|string)}', { byType: true })).toEqual({
      'a int64': ['number 1', '-', 'number 2'],
      'a string': ['-', 'x', '-'],
    });
  });

  test('optional fields without a value are missing; fields named like parts of JavaScript are fields', async () => {
    expect(await table('{a?:_::int64,b:1,c?:2} {"__proto__":"p",constructor:"c"}')).toEqual({
      'a int64': ['-', '-'],
      'b int64': ['number 1', '-'],
      'c int64': ['number 2', '-'],
      '__proto__ string': ['-', 'p'],
      'constructor string': ['-', 'c'],
    });
  });

  test('a field of a wide record with optional ones is found without looking at the others', () => {
    const count = 5_000;
    let reads = 0;
    const absent = new Proxy(
      Array.from({ length: count / 2 }, (_, i) => String(2 * i)),
      {
        get(target, key) {
          reads++;
          return Reflect.get(target, key);
        },
      },
    );
    const type: Type = {
      kind: 'record',
      fields: Array.from({ length: count }, (_, i) => ({
        name: `c${i}`,
        type: { kind: 'primitive', name: 'string' },
        optional: true,
      })),
    };
    const json = [absent, ...Array.from({ length: count / 2 }, (_, i) => `v${2 * i + 1}`)];
    const found = type.fields.map(({ name }) => fieldOf({ type, json, table: [] } as unknown as Cell, name)?.json);
    expect(found).toEqual(type.fields.map((_, i) => (i % 2 ? `v${i}` : undefined)));
    // It was all of the list for each field: a table of five such rows kept the page busy for half a minute.
    expect(reads).toBeLessThan(count * 20);
  });

  test('a field by its name is the part of that name, and absent where the client has none', async () => {
    const check = (cell: Cell | undefined): void => {
      for (const part of cell ? partsOf(cell) : []) {
        if (part.field) expect(fieldOf(cell!, part.field.name)).toEqual(part.cell);
        check(part.cell);
      }
    };
    await fc.assert(
      fc.asyncProperty(someValues({ depth: 3, maxLength: 6 }), async (values) => {
        const text = Buffer.from(written(values, 'jsup')).toString();
        const store = fill(new RowStore(), text, 1000);
        const client = new JsupReader();
        text
          .split('\n')
          .slice(0, -1)
          .forEach((line, i) => {
            const cell = store.cell(i);
            const message = client.read(line);
            check(cell);
            if (plain(cell).type.kind === 'record' && message.kind === 'value')
              expect(
                partsOf(cell)
                  .filter(({ cell: there }) => there)
                  .map(({ field }) => field!.name)
                  .sort(),
              ).toEqual(Object.keys(message.value as object).sort());
          });
      }),
      { seed: seedOf(11), numRuns: 150 },
    );
  });

  test('of several optional fields each stands in its own column', async () => {
    expect(
      await table(
        '{a?:_::int64,b?:11,c?:_::int64,d?:33} {a?:1,b?:_::int64,c?:_::int64,d?:_::int64,e:5} {a?:_::int64,b?:_::int64,c?:3,d?:4}',
      ),
    ).toEqual({
      'a int64': ['-', 'number 1', '-'],
      'b int64': ['number 11', '-', '-'],
      'c int64': ['-', '-', 'number 3'],
      'd int64': ['number 33', '-', 'number 4'],
      'e int64': ['-', 'number 5', '-'],
    });
  });

  test('paths are written so that a query reads them', () => {
    expect([[], ['a', 'b'], ['a b', 'c'], ['a', 'b"c', 0]].map((path) => pathText(path))).toEqual([
      'this',
      'a.b',
      'this["a b"].c',
      'a["b\\"c"][0]',
    ]);
  });

  test('numbers and times are copied as they are, to the last digit', async () => {
    const store = await storeOf('{i:9223372036854775807,t:2026-01-01T00:00:00.123456789Z,s:"a\\tb",n:[1]}');
    const row = store.cell(0);
    expect(columnsOf([store.types[0]!.type]).map((column) => copied(cellAt(row, column)))).toEqual([
      '9223372036854775807',
      '2026-01-01T00:00:00.123456789Z',
      'a\tb',
      '[1]',
    ]);
  });

  test('controls and marks of direction are shown, not obeyed', async () => {
    const store = await storeOf('"\\u202e<img src=x>\\u0000"');
    expect(shown(store.cell(0))).toEqual({ text: '⟨U+202E⟩<img src=x>␀', look: 'string' });
  });
});

describe('order', () => {
  const sorted = async (sup: string, descending = false): Promise<string[]> => {
    const store = await storeOf(sup);
    const [column] = columnsOf(store.types.map(({ type }) => type));
    return [
      ...sortedRows(
        store,
        Uint32Array.from({ length: store.count }, (_, i) => i),
        column!,
        descending,
      ),
    ].map((row) => supText(store.cell(row)));
  };
  test('integers beyond what a float holds are in order', async () => {
    expect(await sorted('{a:9223372036854775807} {a:9223372036854775806} {a:1.5} {a:-9223372036854775808}')).toEqual([
      '{a:-9223372036854775808}',
      '{a:1.5}',
      '{a:9223372036854775806}',
      '{a:9223372036854775807}',
    ]);
  });
  test('what is no value comes last either way, and equal rows stay as they came', async () => {
    const sup = '{a:null} {a:2,b:1} {a:error("x")} {b:1} {a:1} {a:2,b:2} {a:"s"}';
    expect(await sorted(sup)).toEqual([
      '{a:1}',
      '{a:2,b:1}',
      '{a:2,b:2}',
      '{a:"s"}',
      '{a:error("x")}',
      '{a:null}',
      '{b:1}',
    ]);
    expect(await sorted(sup, true)).toEqual([
      '{a:"s"}',
      '{a:2,b:1}',
      '{a:2,b:2}',
      '{a:1}',
      '{a:error("x")}',
      '{a:null}',
      '{b:1}',
    ]);
  });
  test('times count to the nanosecond, durations by their length', async () => {
    expect([
      instant('1969-12-31T23:59:59.999999999Z'),
      instant('2026-01-01T00:00:00.1Z') - instant('2026-01-01T00:00:00Z'),
    ]).toEqual([-1n, 100_000_000n]);
    expect(await sorted('{d:2h} {d:90m} {d:1d} {d:-1s}')).toEqual(['{d:-1s}', '{d:1h30m}', '{d:2h}', '{d:1d}']);
  });
});

describe('text', () => {
  const applied = (text: string, change: TextChange | undefined): string | undefined =>
    change && text.slice(0, change.start) + change.insert + text.slice(change.end);
  const span = { path: ['ts'], from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' } as const;
  const clause = 'where ts >= 2026-01-01T00:00:00Z and ts < 2026-01-02T00:00:00Z';
  const narrow = (text: string): string | undefined => applied(text, narrowing(text, span));

  test('a span goes right behind the source where rows pass as they are, else to the end', () => {
    expect(narrow('from events')).toBe(`from events | ${clause}`);
    expect(narrow('from events | head 10')).toBe(`from events | ${clause} | head 10`);
    expect(narrow('from events -- all | of them\n| where x == "a | b"\n| sort ts')).toBe(
      `from events\n| ${clause} -- all | of them\n| where x == "a | b"\n| sort ts`,
    );
    expect(narrow('from events | count() by ts:=bucket(ts,1h) ')).toBe(
      `from events | count() by ts:=bucket(ts,1h) | ${clause} `,
    );
    expect(narrow('select * from events')).toBe(`select * from events | ${clause}`);
    expect(narrow('from events | fork (where a | head 1) (pass)')).toBe(
      `from events | fork (where a | head 1) (pass) | ${clause}`,
    );
    expect(narrow('')).toBe(clause);
  });
  test('a span that stands there moves, and goes away with its pipe', () => {
    const other = 'where ts >= 2020-01-01T00:00:00Z AND ts < 2021-01-01T00:00:00Z';
    expect(narrow(`from events | ${other} | head`)).toBe(`from events | ${clause} | head`);
    expect(applied(narrow('from events | head')!, widening(narrow('from events | head')!, ['ts']))).toBe(
      'from events | head',
    );
    expect([
      widening('from events | where ts >= 2020-01-01T00:00:00Z', ['ts']),
      widening(`from events | ${other}`, ['t']),
    ]).toEqual([undefined, undefined]);
    const deep = narrowing('from e', { ...span, path: ['a b', 'c'] }).insert;
    expect(applied(`from e${deep}`, widening(`from e${deep}`, ['a b', 'c']))).toBe('from e');
  });
  test('pipes inside of strings, sets, maps, comments and regular expressions do not part stages', () => {
    const stages = (text: string): string[] => stagesOf(text).map(({ word }) => word);
    expect(
      stages('from a | search /x|y/ | values |[1,2]| , |{"a":1}| | values a||b /* | */ | put b:=f"{x|y}" -- | z'),
    ).toEqual(['from', 'search', 'values', 'values', 'put']);
    expect(tidy('from a|where x | count() by (y | z)')).toBe('from a\n| where x\n| count() by (y | z)');
  });
  test('tokens cover every text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...'ab|"\'`/\\{}[]()<>=:-*.,;0129TZmh \n\u{1f600}é@?'), maxLength: 40 }),
        (text) => {
          expect(
            scan(text)
              .map((token) => token.text)
              .join(''),
          ).toBe(text);
        },
      ),
      { seed: seedOf(11), numRuns: 400 },
    );
  });
  test('the source is found as it is written', () => {
    expect(
      [
        'from a',
        'FROM "a b"@"x" | head',
        'from a-b',
        'from a.b/c@main',
        'select x from t where y',
        'values 1',
        'from :pools',
        'where from',
      ].map(sourceOf),
    ).toEqual([
      { pool: 'a' },
      { pool: 'a b', branch: 'x' },
      { pool: 'a' },
      { pool: 'a.b/c', branch: 'main' },
      { pool: 't' },
      undefined,
      undefined,
      undefined,
    ]);
  });
  test('words have colours by their place', () => {
    const words = {
      operators: new Set(['from', 'where', 'count']),
      functions: new Set(['count', 'upper']),
      keywords: new Set(['by', 'and']),
    };
    const coloured = (text: string): string =>
      colour(text, words)
        .map(({ start, end, kind }) => `${text.slice(start, end)}:${kind}`)
        .join(' ');
    expect(coloured('from count | where upper(by.and) == "x" -- c\n| count() by where, 5::int64, 2h')).toBe(
      'from:operator |:mark where:operator upper:function by:keyword .:mark ==:mark "x":string -- c:comment |:mark count:function by:keyword where:keyword 5:number :::mark int64:type 2h:time',
    );
  });
});

describe('plots', () => {
  const at = (text: string): number => Date.parse(text);
  test('bins have a width that people count in, and hold every time', () => {
    const times = Float64Array.from([
      at('2026-01-01T00:59:59.999Z'),
      at('2026-01-01T01:00:00Z'),
      NaN,
      at('2026-01-02T01:30:00Z'),
    ]);
    const bins = binTimes(times, 30)!;
    expect([
      timeLiteral(bins.start),
      widthText(bins.width),
      [...bins.counts].reduce((a, b) => a + b, 0),
      bins.counts.length,
    ]).toEqual(['2026-01-01T00:00:00Z', '1 h', 3, 26]);
    expect(binTimes(Float64Array.from([NaN]), 10)).toBeUndefined();
    expect([...binTimes(Float64Array.from([5, 5]), 10)!.counts]).toEqual([2]);
    expect([1, 500, 15 * 60_000, 86_400_000].map(widthText)).toEqual(['1 ms', '500 ms', '15 min', '1 d']);
  });
  test('times in strings are read in UTC, and their literals part earlier strings from later ones', () => {
    expect(
      [
        '2001/01/10 06:30',
        '2001-01-10',
        '2001-01-10T06:30:01.5Z',
        '2001/01-10',
        'x2001-01-10',
        '2001-01-10T06:30:00+01:00',
      ].map(parseTextTime),
    ).toEqual([at('2001-01-10T06:30:00Z'), at('2001-01-10T00:00:00Z'), at('2001-01-10T06:30:01.5Z'), NaN, NaN, NaN]);
    const literal = (time: string, like: string): string => textTimeLiteral(at(time), textTimesOf(like)!);
    expect([
      literal('2001-01-10T06:00:00Z', '2001/01/10 06:30'),
      literal('2001-01-10T00:00:00Z', '2001/01/10 06:30'),
      literal('2001-01-10T06:00:01.250Z', '2001-01-10T06:30:01Z'),
    ]).toEqual(['"2001/01/10 06:00"', '"2001/01/10"', '"2001-01-10T06:00:01.250"']);
  });
  test('a span of the axis takes the whole bins that it touches', () => {
    const bins = { start: 1000, width: 100, counts: new Uint32Array(10) };
    expect([
      spanOfBins(bins, 1150, 1250),
      spanOfBins(bins, 1300, 1200),
      spanOfBins(bins, 0, 99_999),
      spanOfBins(bins, 1250, 1251),
    ]).toEqual([
      { from: 1100, to: 1300 },
      { from: 1200, to: 1300 },
      { from: 1000, to: 2000 },
      { from: 1200, to: 1300 },
    ]);
  });
  test('rows say how they can be plotted, or why not', async () => {
    const of = async (sup: string, key?: string): Promise<string[] | string> => {
      const { choices, why } = plotsOf(await storeOf(sup), key);
      return choices.length === 0
        ? why
        : choices.map(({ kind, over, numbers, by }) =>
            [kind, over.title, ...numbers.map((column) => column.title), ...(by ? [`by ${by.title}`] : [])].join(' '),
          );
    };
    const t = '2026-01-01T00:00:00Z';
    expect(await of(`{ts:${t},a:"x",b:"y",n:1} {ts:${t},u:${t},k:"x"}`, 'u')).toEqual(['histogram u', 'histogram ts']);
    expect(await of(`{bucket:${t},count:5}`)).toEqual(['lines bucket count', 'histogram bucket']);
    expect(await of(`{bucket:${t},kind:"a",count:5}`)).toEqual(['lines bucket count by kind', 'histogram bucket']);
    expect(await of('{kind:"a",count:5,sum:1.5} {kind:null,count:1,sum:2}')).toEqual(['bars kind count sum']);
    expect(await of('{status:200,count:5} {status:404,count:1}')).toEqual(['bars status count']);
    expect(await of('{ts:"2026-01-01T00:00:00.5Z",s:"x",t:"y"}')).toEqual(['histogram ts']);
    expect(await of('{date:"2001/01/10 00:00",delay:1,origin:"SAN",destination:"SJC"}')).toEqual(['histogram date']);
    expect(await of('1 2')).toBe('These values have no fields. A plot needs a field of times, or a key with numbers.');
    expect(await of('{a:"x",b:"y",n:1}')).toBe(
      'No field holds times, and bars need one key with numbers: here are 2 keys and 1 number.',
    );
    expect(await of('{a:"x"}')).toBe(
      'No field holds times, and none holds numbers. A plot needs a field of times, or a key with numbers.',
    );
  });
  test('times are gathered from any place of a row, and go on when more rows come', async () => {
    const store = await storeOf('{ts:2026-01-01T00:00:00Z,x:1} {x:1,ts:2026-01-01T00:00:01Z} {x:1} {ts:null,x:2}');
    const choice = plotsOf(store).choices.find(({ kind }) => kind === 'histogram')!;
    const gatherer = new TimeGatherer(store, choice);
    const go = async (): Promise<boolean> => true;
    await gatherer.gather(go);
    expect([...gatherer.times]).toEqual([at('2026-01-01T00:00:00Z'), at('2026-01-01T00:00:01Z'), NaN, NaN]);
    fill(
      store,
      (await convert('{ts:2026-01-01T00:00:02Z,y:1}', { from: 'sup', to: 'jsup' })).output.replaceAll(
        '"id":30',
        '"id":99',
      ),
      50,
    );
    await gatherer.gather(go);
    expect([gatherer.complete, gatherer.times.at(-1)]).toEqual([true, at('2026-01-01T00:00:02Z')]);
  });
  test('bars and lines hold the figures of their rows', async () => {
    const bars = await storeOf('{kind:"a",count:5} {kind:null,count:7}');
    expect(barRows(bars, plotsOf(bars).choices[0]!, 10)).toEqual([
      { key: 'a', numbers: [5], texts: ['5'] },
      { key: 'null', numbers: [7], texts: ['7'] },
    ]);
    const endless = await storeOf('{k:"a",n:+Inf} {k:"b",n:-Inf} {k:"c",n:NaN} {k:"d",n:null}');
    expect(barRows(endless, plotsOf(endless).choices[0]!, 10).map(({ numbers }) => numbers)).toEqual([
      [Infinity],
      [-Infinity],
      [NaN],
      [NaN],
    ]);
    const none = await storeOf('"" "1" [1] 1s true {} 1.5::(float64|string)');
    expect(Array.from({ length: none.count }, (_, i) => numberOf(none.cell(i)))).toEqual([
      NaN,
      NaN,
      NaN,
      NaN,
      NaN,
      NaN,
      1.5,
    ]);
    const lines = await storeOf(
      '{t:2026-01-01T00:00:01Z,k:"a",n:1} {t:2026-01-01T00:00:00Z,k:"b",n:2} {t:2026-01-01T00:00:01Z,k:"b",n:3}',
    );
    const s = at('2026-01-01T00:00:00Z') / 1000;
    expect(linesOf(lines, plotsOf(lines).choices[0]!, 8)).toEqual({
      xs: [s, s + 1],
      lines: [
        { name: 'b', values: [2, 3] },
        { name: 'a', values: [null, 1] },
      ],
      more: 0,
      skipped: 0,
    });
  });
  test('a group that is an error, and a row in ten without a time, keep nobody from a plot', async () => {
    const groups = await storeOf('{kind:"a",count:5} {kind:error("missing"),count:7}');
    expect(barRows(groups, plotsOf(groups).choices[0]!, 10).map(({ key, numbers }) => [key, ...numbers])).toEqual([
      ['a', 5],
      ['missing', 7],
    ]);
    const minutes = Array.from({ length: 10 }, (_, i) => `{t:2026-01-01T00:0${i}:00Z,n:${i}}`).join(' ');
    const buckets = await storeOf(`${minutes} {t:"never",n:1} {t:error("missing"),n:1}`);
    const [choice] = plotsOf(buckets).choices;
    expect([choice?.kind, linesOf(buckets, choice!, 8).skipped]).toEqual(['lines', 2]);
  });
});

describe('what this browser remembers', () => {
  // As much of the module as is used: it is written for browsers, whose types are not there for tests.
  interface Past {
    readonly text: string;
    readonly at: string;
    readonly rows: number;
    readonly ms: number;
    readonly state: string;
  }
  interface Saved {
    readonly name: string;
    readonly text: string;
  }
  interface Stored {
    readonly past: { readonly value: readonly Past[] };
    readonly saved: { readonly value: readonly Saved[] };
    readonly remember: (query: Past) => void;
    readonly forget: (query: Past | undefined) => void;
    readonly save: (query: Saved) => string | undefined;
    readonly drop: (query: Saved) => void;
  }
  let kept: Map<string, string>;
  let page: Stored;
  const storage = (setItem: (key: string, value: string) => void) => ({
    getItem: (key: string) => kept.get(key) ?? null,
    setItem,
  });
  /** A page of its own on the same storage, as in another tab. */
  const opened = async (): Promise<Stored> => {
    vi.resetModules();
    return vi.importActual<Stored>('../../../visualize/console/query/stored.ts');
  };
  const ran = (text: string): Past => ({ text, at: '2026-01-01T00:00:00Z', rows: 1, ms: 1, state: 'done' });
  const names = ({ saved }: Stored): string[] => saved.value.map(({ name }) => name);
  const texts = ({ past }: Stored): string[] => past.value.map(({ text }) => text);
  beforeEach(async () => {
    kept = new Map();
    vi.stubGlobal(
      'localStorage',
      storage((key, value) => {
        kept.set(key, value);
      }),
    );
    page = await opened();
  });
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  test('what one page forgets leaves what another one has kept since', async () => {
    for (const text of ['a', 'b']) {
      page.remember(ran(text));
      page.save({ name: text, text });
    }
    const other = await opened();
    other.remember(ran('c'));
    other.save({ name: 'c', text: 'c' });
    page.forget(ran('a'));
    page.drop({ name: 'a', text: 'a' });
    expect([texts(page), names(page)]).toEqual([
      ['c', 'b'],
      ['b', 'c'],
    ]);
    const next = await opened();
    expect([texts(next), names(next)]).toEqual([
      ['c', 'b'],
      ['b', 'c'],
    ]);
  });

  test('all that was run is forgotten, what another page has kept since too', async () => {
    page.remember(ran('a'));
    (await opened()).remember(ran('b'));
    page.forget(undefined);
    expect([texts(page), texts(await opened())]).toEqual([[], []]);
  });

  test('the name beyond the last is refused in words; one that is taken is replaced', async () => {
    for (let i = 0; i < 200; i++) expect(page.save({ name: `n${i}`, text: 'pass' })).toBeUndefined();
    expect(page.save({ name: 'z', text: 'pass' })).toBe(
      'There are 200 saved queries, and no room for more. Delete one first.',
    );
    expect(names(page)).toHaveLength(200);
    expect(names(page)).not.toContain('z');
    expect(page.save({ name: 'n0', text: 'head' })).toBeUndefined();
    expect(page.saved.value.find(({ name }) => name === 'n0')).toEqual({ name: 'n0', text: 'head' });
    page.drop({ name: 'n1', text: '' });
    expect(page.save({ name: 'z', text: 'pass' })).toBeUndefined();
    expect(names(await opened())).toContain('z');
  });

  test('where nothing can be stored, it lasts as long as the page, and who saves is told', () => {
    const refused = (): never => {
      throw new DOMException('full', 'QuotaExceededError');
    };
    for (const global of [storage(refused), { getItem: refused, setItem: refused }]) {
      vi.stubGlobal('localStorage', global);
      for (const text of ['a', 'b', 'c']) {
        page.remember(ran(text));
        expect(page.save({ name: text, text })).toBe(
          'The browser did not store it. It is here until this page is closed.',
        );
      }
      page.forget(ran('b'));
      page.drop({ name: 'a', text: 'a' });
      expect([texts(page), names(page)]).toEqual([
        ['c', 'a'],
        ['b', 'c'],
      ]);
    }
  });
});

/**
 * JSUP as zed-js 0.0.16 reads it (the spelling `application/x-zjson`): an independent reader. What it read it writes
 * again with its own encoder, and our reader has to find in that what we wrote.
 *
 * zed-js is older than optional fields and knows no enums; the tests at the end say what it makes of them.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type zjson, DefaultContext, ResultStream } from '@brimdata/zed-js';
import { createWriter } from '../../../src/formats/formats.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { type Type, typeText, types } from '../../../src/vectors/type.ts';
import { type Data, type Value, recordValue, stringValue } from '../../../src/vectors/value.ts';
import { printed, readValues } from '../../support/formats/convert.ts';
import { seedOf } from '../../support/random.ts';
import { someValues } from '../../support/formats/values.ts';

const channel = (name: string): Value => recordValue([{ name: 'channel', value: stringValue(name) }]);
/** An answer with control messages: the values of each channel in turn, as often as it comes. */
const answer = (parts: readonly (readonly [string, readonly Value[]])[], error?: string): Buffer => {
  const writer = createWriter('jsup', { channelIds: true });
  const chunks: Uint8Array[] = [];
  for (const [name, values] of parts)
    chunks.push(
      ...writer.control!({ type: 'QueryChannelSet', value: channel(name) }),
      ...writer.write(vectorOf(values)),
    );
  for (const name of new Set(parts.map(([n]) => n)))
    chunks.push(...writer.control!({ type: 'QueryChannelEnd', value: channel(name) }));
  chunks.push(
    ...writer.control!(
      error === undefined
        ? {
            type: 'QueryStats',
            value: parseSupValues(
              '{start_time:2020-01-02T03:04:05Z,update_time:2020-01-02T03:04:06.000000001Z,bytes_read:1,bytes_matched:2,records_read:3,records_matched:4}',
            )[0]!,
          }
        : { type: 'QueryError', value: recordValue([{ name: 'error', value: stringValue(error) }]) },
    ),
  );
  return Buffer.concat([...chunks, ...writer.end()]);
};
const stream = (bytes: Uint8Array): ResultStream => new ResultStream(new Response(bytes), new AbortController());

/** What zed-js reads, written by zed-js, read by us: by channel. */
const throughZed = async (bytes: Uint8Array): Promise<readonly (readonly Value[])[]> => {
  const result = stream(bytes);
  await result.promise;
  return Promise.all(
    result.channels.map(({ rows }) =>
      readValues(
        DefaultContext.encode(rows)
          .map((object: zjson.Obj) => `${JSON.stringify(object)}\n`)
          .join(''),
        'jsup',
      ),
    ),
  );
};
const same = async (text: string): Promise<void> => {
  const values = parseSupValues(text);
  expect((await throughZed(answer([['main', values]]))).map(printed)).toEqual([printed(values)]);
};

describe('zed-js reads', () => {
  for (const text of [
    '1::uint8 2::uint16 3::uint32 18446744073709551615::uint64',
    '-128::int8 -2::int16 -3::int32 -9223372036854775808 9223372036854775807',
    '1.5::float16 2.25::float32 -0.1 1e+300 5. NaN +Inf -Inf',
    'true false',
    '"" "a\\tb\\u0001é\\"q\\" 😀 日本" "<&>"',
    '0x 0x00ff10',
    '10.0.0.1 fe80::1',
    '10.1.0.0/16 2001:db8::/32',
    '1y17d4h5m6.007s -1.5ms 0s',
    '2020-01-02T03:04:05.678901234Z 1969-12-31T23:59:59.5Z',
    'null',
    '<int64> <{a:int64,b:[string]}> <port=uint16> <int64|string> <|{string:error(ip)}|>',
    '{a:1,b:"x"}\n{a:2,b:"y"}\n{a:{b:{c:1}}}\n{a:1,b:{c:2}}',
    '[1,2]\n[]\n[[1],[2,3]]\n[{a:1},{a:2}]',
    '|[1,2]|\n|[]|::|[string]|',
    '|{"k":1,"l":2}|\n|{}|::|{string:int64}|\n|{{a:1}:[1]}|',
    '1::(int64|string) "x"::(int64|string)\nnull::(int64|null)\n[1,"a",null]',
    'error("missing") error({message:"x",on:{a:1}})',
    '80::(port=uint16)\n{a:80::(port=uint16),b:81::port}\n{x:1}::=foo\n[1::=a,2::a]',
    '{a:null::(int64|null),b:|[1::=n]|,c:|{"x":error("y")}|}',
  ])
    test(text, async () => {
      await same(text);
    });

  test('any values of the types that it knows', async () => {
    await fc.assert(
      fc.asyncProperty(
        someValues({ depth: 2, maxLength: 12 }).filter((values) =>
          values.every(({ type, data }) => isKnown(type, data)),
        ),
        async (values) => {
          if (values.length === 0) return;
          expect((await throughZed(answer([['main', values]]))).map(printed)).toEqual([printed(values)]);
        },
      ),
      { numRuns: 300, seed: seedOf(7) },
    );
  });
  test('several types and references in each of several channels, whichever comes first', async () => {
    const a = parseSupValues('{a:1,b:{c:"x"}}\n{a:2,b:{c:"y"}}\n[{c:"x"}]\n1::=foo');
    const b = parseSupValues('[{c:"z"}]\n{a:3,b:{c:"x"}}\n2::=foo\n|[1]|');
    const read = await throughZed(
      answer([
        ['main', a],
        ['second', b],
        ['main', b],
        ['third', a],
        ['second', a],
      ]),
    );
    expect(read.map(printed)).toEqual([printed([...a, ...b]), printed([...b, ...a]), printed(a)]);
  });
  test('channels by number, their ends, and statistics', async () => {
    const result = stream(
      answer([
        ['first', parseSupValues('1')],
        ['second', parseSupValues('2 3')],
      ]),
    );
    const ended: number[] = [];
    for (const id of [0, 1])
      result.channel(id).on('end', () => {
        ended.push(id);
      });
    await result.promise;
    expect([result.status, ended, result.channels.map(({ rows }) => rows.map((row) => row.toString()))]).toEqual([
      'success',
      [0, 1],
      [['1'], ['2', '3']],
    ]);
  });
  test('the error that ended a query', async () => {
    const result = stream(answer([['main', parseSupValues('1')]], 'it broke'));
    await expect(result.promise).rejects.toThrow('it broke');
    expect(result.channel(0).rows.map((row) => row.toString())).toEqual(['1']);
  });
  test('values as JavaScript has them', async () => {
    expect(
      await stream(
        answer([['main', parseSupValues('{a:1,b:"x",c:[true,null],d:2020-01-02T03:04:05Z,e:{f:1.5}}')]]),
      ).js(),
    ).toEqual([{ a: 1, b: 'x', c: [true, null], d: new Date('2020-01-02T03:04:05Z'), e: { f: 1.5 } }]);
  });
});

describe('zed-js 0.0.16 cannot read', () => {
  test('enums: it throws "Implement decoding: enum"', async () => {
    await expect(stream(answer([['main', parseSupValues('"a"::enum(a,b)')]])).promise).rejects.toEqual(
      'Implement decoding: enum',
    );
  });
  test('records with optional fields: it takes the list of absent fields for the first field', async () => {
    const result = stream(answer([['main', parseSupValues('{a?:_::string,b:"x"}')]]));
    await result.promise;
    expect(result.channel(0).rows.map((row) => row.toString())).toEqual(['{a:0,b:x}']);
  });
});

/** Whether neither the type nor a type value in the data has an enum or an optional field in it. */
const isKnown = (type: Type, data: unknown): boolean => {
  switch (type.kind) {
    case 'primitive':
      return type !== types.type || isKnownType(data as Type);
    case 'record':
      return type.fields.every((f, i) => !f.optional && isKnown(f.type, (data as readonly Data[])[i]));
    case 'array':
    case 'set':
      return isKnownType(type.element) && (data as readonly Data[]).every((d) => isKnown(type.element, d));
    case 'map':
      return (
        [type.key, type.value].every(isKnownType) &&
        (data as readonly (readonly [Data, Data])[]).every(([k, v]) => isKnown(type.key, k) && isKnown(type.value, v))
      );
    case 'union':
      return type.members.every(isKnownType) && isKnown((data as Value).type, (data as Value).data);
    case 'enum':
      return false;
    case 'error':
    case 'named':
      return isKnown(type.inner, data);
  }
};
const isKnownType = (type: Type): boolean => !typeText(type).includes('enum(') && !typeText(type).includes('?:');

/** Bytes that are no UTF-8: kept in strings from socket to disk and back, U+FFFD in texts, refused on demand. */
import { isUtf8 } from 'node:buffer';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestService, startService } from '../support/service/server.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(async () => {
  await service?.close();
});

/** Latin-1: what stands above U+007F is a byte that is no UTF-8. */
const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
const load = async (
  pool: string,
  type: string,
  body: Uint8Array,
  parameters = '',
): Promise<{ status: number; body: string }> =>
  service.ask('POST', `/pool/${pool}/branch/main${parameters}`, {
    body,
    headers: { 'content-type': type, accept: 'application/json' },
  });
const answer = async (query: string, format: string): Promise<Buffer> => {
  const got = await fetch(`${service.url}/query?format=${format}&query=${encodeURIComponent(query)}`);
  expect(got.status).toBe(200);
  return Buffer.from(await got.arrayBuffer());
};
const make = (name: string, key: string): Promise<unknown> =>
  service.ask('POST', '/pool', { body: `{name:"${name}",layout:{keys:[["${key}"]]}}` });

const bodies = [
  ['application/json', '{"k":"x\xff\\n","n":1} {"k":"\xfe","n":2}\n{"k":"\\"\xe9","n":3}'],
  ['text/csv', 'k,n\n"x\xff\n",1\n\xfe,2\n"""\xe9",3\n'],
  ['text/tab-separated-values', 'k\tn\n"x\xff\n"\t1\n\xfe\t2\n"""\xe9"\t3\n'],
  ['application/x-sup', '{k:"x\xff\\n",n:1}\n{k:"\xfe",n:2::(int64|string)}\n{k:"\\"\xe9",n:3}'],
] as const;

describe('bytes that are no UTF-8', () => {
  for (const [type, text] of bodies)
    test(`${type}: strings keep them, and texts show U+FFFD`, async () => {
      const pool = `kept-${type.replaceAll('/', '-')}`;
      await make(pool, 'k');
      expect((await load(pool, type, latin1(text))).status).toBe(200);
      const query = `from "${pool}" | put n:=n::int64 | sort n | cut k`;
      const bsup = await answer(query, 'bsup');
      for (const bytes of ['x\xff\n', '\xfe', '"\xe9']) expect(bsup.includes(latin1(bytes))).toBe(true);
      expect(bsup.includes('\ufffd')).toBe(false);
      expect((await answer(query, 'ndjson')).toString()).toBe(
        '{"k":"x\ufffd\\n"}\n{"k":"\ufffd"}\n{"k":"\\"\ufffd"}\n',
      );
      // Out and in again by the formats that hold them.
      for (const format of ['bsup', 'csup']) {
        const again = `${pool}-${format}`;
        await make(again, 'k');
        expect((await load(again, `application/x-${format}`, await answer(query, format))).status).toBe(200);
        expect(await answer(`from "${again}" | sort k`, 'bsup')).toEqual(await answer(`${query} | sort k`, 'bsup'));
      }
    });
  test('lines keep them too', async () => {
    await make('lines', 'this');
    await load('lines', 'application/x-line', latin1('b\xff\n\x80\nb\xfe\n'));
    expect((await answer('from lines | sort this', 'bsup')).includes(latin1('b\xff'))).toBe(true);
    expect((await answer('from lines | sort this', 'line')).toString()).toBe('b\ufffd\nb\ufffd\n\ufffd\n');
  });
  test('every format that is text, and the tables of others, is valid UTF-8', async () => {
    await make('shown', 'k');
    await load('shown', 'application/json', latin1('{"k":"caf\xe9","l":["\xff"],"m":{"o":"\xc3"}}'));
    for (const format of ['json', 'ndjson', 'sup', 'jsup', 'csv', 'tsv', 'zeek', 'table', 'line', 'text']) {
      const got = await fetch(
        `${service.url}/query?format=${format}&query=${encodeURIComponent('from shown | cut k')}`,
      );
      if (got.status !== 200) continue;
      const bytes = Buffer.from(await got.arrayBuffer());
      expect({ format, valid: isUtf8(bytes), shown: bytes.includes('caf\ufffd') }).toEqual({
        format,
        valid: true,
        shown: true,
      });
    }
    for (const format of ['arrows', 'parquet']) {
      const bytes = await answer('from shown | cut k', format);
      expect({ format, shown: bytes.includes('caf\ufffd'), raw: bytes.includes(latin1('caf\xe9')) }).toEqual({
        format,
        shown: true,
        raw: false,
      });
    }
  });
  test('two that differ are two in groups, sets, joins and filters', async () => {
    await make('apart', 'n');
    await load('apart', 'text/csv', latin1('n,k\n1,x\xff\n2,x\xfe\n3,x\xff\n4,x\xef\xbf\xbd\n'));
    const one = async (query: string): Promise<string> => (await answer(query, 'ndjson')).toString();
    expect(await one('from apart | c:=count() by k | sort c | collect(c)')).toBe('[1,1,2]\n');
    expect(await one('select count(distinct k) as d, count(*) as n from apart')).toBe('{"d":3,"n":4}\n');
    expect(await one('select count(*) as n from apart a join apart b on a.k = b.k')).toBe('{"n":6}\n');
    expect(await one('select count(*) as n from apart where k = (select k from apart where n = 2)')).toBe('{"n":1}\n');
    expect(await one('from apart | sort k | collect(n)')).toBe('[4,2,1,3]\n');
    expect(await one('from apart | len(k)')).toBe('2\n2\n2\n2\n');
    expect(
      await one(
        'from apart | n==1 | values [encode(k), md5(k), strlen(k), upper(k)==k, to_hex(k), position("x" in k)]',
      ),
    ).toBe('["0x78ff","550de84bf51151c858522eac8b2289c5",2,false,"78FF",1]\n');
  });
  test('a byte outside of characters is a character of its own', async () => {
    await make('counted', 'n');
    await load(
      'counted',
      'text/csv',
      latin1('n,k\n1,a\x80b\n2,\xed\xa0\x80\n3,\xf4\x90\x80\x80\n4,\xe2\x82\n5,\xc3\xa9\x80\n'),
    );
    const one = async (values: string): Promise<unknown> =>
      JSON.parse((await answer(`from counted | sort n | collect(${values})`, 'ndjson')).toString());
    expect(await one('len(k)')).toEqual([3, 3, 4, 2, 2]);
    expect(await one('[to_hex(k[1:]), to_hex(k[:1])]')).toEqual([
      ['8062', '61'],
      ['A080', 'ED'],
      ['908080', 'F4'],
      ['82', 'E2'],
      ['80', 'C3A9'],
    ]);
    expect(await one('[ord(k), ascii(k), unicode(k)]')).toEqual([
      [97, 97, 97],
      [65533, 65533, 65533],
      [65533, 65533, 65533],
      [65533, 65533, 65533],
      [233, 233, 233],
    ]);
    const like = async (pattern: string): Promise<string> =>
      (await answer(`select n from counted where k like '${pattern}' order by n`, 'json')).toString().trim();
    expect([await like('___'), await like('_%_'), await like('__')]).toEqual([
      '[{"n":1},{"n":2}]',
      '[{"n":1},{"n":2},{"n":3},{"n":4},{"n":5}]',
      '[{"n":4},{"n":5}]',
    ]);
  });
  test('as keys they are found by bounds, deleted, and there after a compaction', async () => {
    await make('keyed', 'k');
    for (const k of ['\x80', '\xbf', 'a', '\xff', '\xc3\xa9', '\xe2\x82'])
      expect((await load('keyed', 'application/json', latin1(`{"k":"${k}"}`))).status).toBe(200);
    const count = async (where: string): Promise<string> =>
      (await answer(`from keyed | where ${where} | count()`, 'ndjson')).toString();
    const all = async (): Promise<readonly string[]> => [
      await count(`k < 'é'`),
      await count(`k > 'é'`),
      await count(`k <= 'b'`),
      await count(`k >= '\u{10ffff}'`),
    ];
    expect(await all()).toEqual(['3\n', '2\n', '1\n', '1\n']);
    const rows = JSON.parse((await answer('from keyed@main:objects | cut id', 'json')).toString()) as { id: string }[];
    const objects = rows.map(({ id }) => id);
    expect(objects.length).toBe(6);
    const compacted = await service.ask('POST', '/pool/keyed/branch/main/compact', {
      body: JSON.stringify({ object_ids: objects }),
      headers: { 'content-type': 'application/json' },
    });
    expect(compacted.status).toBe(200);
    expect(await all()).toEqual(['3\n', '2\n', '1\n', '1\n']);
    await service.ask('POST', '/pool/keyed/branch/main/delete', {
      body: JSON.stringify({ where: `k > 'é'` }),
      headers: { 'content-type': 'application/json' },
    });
    expect(await all()).toEqual(['3\n', '0\n', '1\n', '0\n']);
  });
  test('names of fields have U+FFFD, since they are text everywhere', async () => {
    await make('named', 'n');
    await load('named', 'application/json', latin1('{"n":1,"a\xff":2}'));
    await load('named', 'text/csv', latin1('n,a\xff\n3,4\n'));
    await load('named', 'application/x-sup', latin1('{n:5,"a\xff":|[1]|}'));
    expect((await answer('from named | sort n', 'sup')).toString()).toContain('"a\ufffd":2');
    expect((await answer('from named | sort n | fields(this)', 'ndjson')).toString()).toBe(
      '[["n"],["a\ufffd"]]\n[["n"],["a\ufffd"]]\n[["n"],["a\ufffd"]]\n',
    );
  });
});

describe('utf8=refuse', () => {
  const refusal = 'line 3: byte ff (hex) is no UTF-8 text; without utf8=refuse such bytes are kept';
  test('names the line and the byte, and loads nothing', async () => {
    await make('refusing', 'k');
    for (const [type, text] of [
      ['application/json', '{"k":"é"}\n{"k":"b"}\n{"k":"\xff"}\n'],
      ['text/csv', 'k\nb\nx\xff\n'],
      ['application/x-sup', '{k:"a"}\n{k:"b"}\n{k:"\xff"}'],
      ['application/x-line', 'a\nb\n\xff'],
      ['text/plain', '{"k":1}\n\n{"k":"\xff"}'],
    ] as const) {
      const body = Buffer.from([...text].flatMap((c) => [...(c === 'é' ? Buffer.from(c) : latin1(c))]));
      const { status, body: told } = await load('refusing', type, body, '?utf8=refuse');
      expect({ type, status, told }).toEqual({ type, status: 400, told: expect.stringContaining(refusal) as string });
      expect((await load('refusing', type, Buffer.from('{"k":"é€😀"}'), '?utf8=refuse')).status).toBe(
        type === 'text/csv' ? 400 : 200,
      );
    }
    const long = Buffer.concat([Buffer.from(`{"k":"${'é€😀'.repeat(200_000)}"}\n`.repeat(2)), latin1('{"k":"\xff"}')]);
    expect((await load('refusing', 'application/json', long, '?utf8=refuse')).body).toContain(refusal);
    expect((await answer('from refusing | where k == "b" | count()', 'ndjson')).toString()).toBe('0\n');
  });
  test('of binary formats it names the values', async () => {
    await make('binary', 'k');
    await load('binary', 'application/json', latin1('{"k":1,"l":[{"m":"\xff"}]}{"k":2}'));
    for (const format of ['bsup', 'csup']) {
      const { status, body } = await load(
        'binary',
        `application/x-${format}`,
        await answer('from binary', format),
        '?utf8=refuse',
      );
      expect({ status, body }).toEqual({
        status: 400,
        body: expect.stringContaining('the first 2 values: byte ff (hex)') as string,
      });
    }
  });
  test('takes keep and refuse alone', async () => {
    const { status, body } = await load('binary', 'application/json', Buffer.from('{}'), '?utf8=drop');
    expect({ status, body }).toEqual({
      status: 400,
      body: `${JSON.stringify({ type: 'Error', kind: 'invalid operation', error: 'invalid query param "utf8": drop: expected keep or refuse' })}\n`,
    });
  });
});

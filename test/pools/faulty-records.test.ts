/** Loads that bend: errors=skip leaves faulty records out, errors=wrap keeps them as error values. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CommandIo } from '../../src/commands/io.ts';
import { keyCommand } from '../../src/commands/key.ts';
import { loadCommand } from '../../src/commands/load/load.ts';
import { replayOnLake } from '../support/machines/replay-campaign.ts';
import { type TestService, startService } from '../support/service/server.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(async () => {
  await service?.close();
});

interface Told {
  readonly commit?: string;
  readonly records?: number;
  readonly faulty?: number;
  readonly faults?: readonly {
    readonly line: number;
    readonly column: number;
    readonly error: string;
    readonly raw: string;
    readonly bytes: number;
  }[];
  readonly rejected?: string;
  readonly error?: string;
}
const load = async (
  pool: string,
  type: string | undefined,
  body: string | Uint8Array,
  parameters: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ status: number; told: Told }> => {
  const { status, body: text } = await service.ask('POST', `/pool/${pool}/branch/main?${parameters}`, {
    body,
    headers: { ...(type !== undefined && { 'content-type': type }), accept: 'application/json', ...headers },
  });
  return { status, told: JSON.parse(text) as Told };
};
let pools = 0;
const make = async (name = `p${pools++}`): Promise<string> => {
  await service.ask('POST', '/pool', { body: `{name:"${name}",layout:{keys:[["n"]]}}` });
  return name;
};

/** Bodies with the good records 1, 2 and 3 and what is faulty between them. */
const bodies: readonly (readonly [
  name: string,
  type: string,
  body: string,
  faults: readonly (readonly [line: number, column: number, error: string, raw: string])[],
  parameters?: string,
])[] = [
  [
    'NDJSON',
    'application/x-ndjson',
    '{"n":1}\n{"n":\n{"n":2} {"n":x}\noops\n{"n":3}\r\n{"n":4',
    [
      [2, 1, "invalid character '{' after", '{"n":'],
      [3, 9, "invalid character 'x'", '{"n":x}'],
      [4, 1, "invalid character 'o'", 'oops'],
      [6, 1, 'unexpected end of JSON input', '{"n":4'],
    ],
  ],
  [
    'JSON over several lines',
    'application/json',
    '{\n  "n": 1\n}\n{\n  "n": oops,\n  "m": {}\n}\n{\n  "n": 2\n}\n{\n  "n": 9,\n{\n  "n": 3\n}\n',
    [
      [4, 1, "invalid character 'o'", '{\n  "n": oops,\n  "m": {}\n}'],
      [11, 1, "invalid character '{' looking", '{\n  "n": 9,'],
    ],
  ],
  [
    'CSV',
    'text/csv',
    'n,s\n1,a\n7\n2,"b\nb"\n8,"x\ny",z\n9,c"c\n3,d\n',
    [
      [3, 1, 'record on line 3: wrong number of fields', '7'],
      [6, 1, 'record on line 6: wrong number of fields', '8,"x\ny",z'],
      [8, 1, 'record on line 8: quote not closed', '9,c"c'],
    ],
  ],
  [
    'CSV of another dialect',
    'text/csv',
    "# title\nn;s\n1;a\n7\n2;'b\nb'\n8;'x\ny';z\nx;c\n9;'q\n3;d\n",
    [
      [4, 1, 'wrong number of fields', '7'],
      [7, 1, 'wrong number of fields', "8;'x\ny';z"],
      [9, 1, 'column "n"', 'x;c'],
      [10, 1, 'quote not closed', "9;'q"],
    ],
    `csv.delim=%3b&csv.quote='&csv.comment=%23&types=n%3Dint64`,
  ],
  [
    'CSV with carriage returns alone',
    'text/csv',
    'n,s\r1,a\r7\r2,"b\rb"\r8,"x\ry",z\r9,"q\r3,d\r',
    [
      [3, 1, 'wrong number of fields', '7'],
      [6, 1, 'wrong number of fields', '8,"x\ry",z'],
      [8, 1, 'quote not closed', '9,"q'],
    ],
  ],
  [
    'CSV with lines before its header, decimal commas and carriage returns alone',
    'text/csv',
    'title\rn;s\r1;a\r01.000;b\r2;c\r3;d',
    [[4, 1, 'column "n"', '01.000;b']],
    'csv.delim=%3b&csv.skip=1&csv.decimal=,&types=n%3Dint64',
  ],
  [
    'TSV',
    'text/tab-separated-values',
    'n\ts\n1\ta\n7\n2\tb\n8\t9\t10\n3\tc\n',
    [
      [3, 1, 'wrong number of fields', '7'],
      [5, 1, 'wrong number of fields', '8\t9\t10'],
    ],
  ],
  [
    'SUP',
    'application/x-sup',
    '{n:1}\n{n:\n{n:2::int64} {n:3,m:|{"k":1}|}\n{n:4,"\n{n:9::ip}\n{\n  n: zz 1\n}\n',
    [
      [2, 1, 'line 3: syntax error', '{n:'],
      [4, 1, 'line 5: parse error', '{n:4,"'],
      [5, 1, '(line 5)', '{n:9::ip}'],
      [6, 1, 'line 7: syntax error', '{\n  n: zz 1\n}'],
    ],
  ],
  [
    'JSUP',
    'application/x-jsup',
    [
      '{"type":{"kind":"record","id":30,"fields":[{"name":"n","type":{"kind":"primitive","name":"int64"}}]},"value":["1"]}',
      'oops',
      '{"type":{"kind":"ref","id":30},"value":["2"]}',
      '{"type":{"kind":"ref","id":30},"value":["x"]}',
      '{"type":{"kind":"ref","id":30},"value":["3"]}',
    ].join('\n'),
    [
      [2, 1, 'line 2: malformed JSUP', 'oops'],
      [4, 1, 'line 4: bad JSUP value', '{"type":{"kind":"ref","id":30},"value":["x"]}'],
    ],
  ],
  [
    'Zeek',
    'application/x-zeek',
    '#separator \\x09\n#fields\tn\ts\n#types\tint\tstring\n1\ta\nx\tb\n2\tc\n7\n3\td\n',
    [
      [5, 1, 'line 5', 'x\tb'],
      [7, 1, 'line 7: too few values', '7'],
    ],
  ],
];

describe('errors=skip', () => {
  for (const [name, type, body, faults, parameters = ''] of bodies)
    test(`${name}: what can be read is there, and the answer tells of the rest`, async () => {
      const pool = await make();
      const { status, told } = await load(pool, type, body, `errors=skip&${parameters}`.replace(/&$/, ''));
      expect({ status, error: told.error }).toEqual({ status: 200, error: undefined });
      expect(told.faults?.map(({ line, column, raw }) => [line, column, raw])).toEqual(
        faults.map(([line, column, , raw]) => [line, column, raw]),
      );
      told.faults?.forEach(({ error, raw, bytes }, i) => {
        expect(error).toContain(faults[i]![2]);
        expect(bytes).toBe(Buffer.byteLength(raw));
      });
      expect([told.records, told.faulty]).toEqual([3, faults.length]);
      expect((await service.query(`from "${pool}" | sort n | values cast(n, <string>)`)).replaceAll('.', '')).toBe(
        '"1"\n"2"\n"3"\n',
      );
    });

  test('a body without a fault is the same load, and the answer says that there is none', async () => {
    const pool = await make();
    const { told } = await load(pool, 'application/json', '{"n":1} {"n":2}', 'errors=skip');
    expect(told).toEqual({ commit: told.commit, warnings: [], records: 2, faulty: 0, faults: [] });
    expect(await service.query(`from ${pool}`)).toBe('{n:1}\n{n:2}\n');
  });
  test('the format may be found out, if its beginning is good', async () => {
    const pool = await make();
    const { told } = await load(pool, undefined, '{"n":1}\n{"n":2}\noops\n{"n":3}\n', 'errors=skip');
    expect([told.records, told.faulty]).toEqual([3, 1]);
  });
  test('the first 100 are told, each with its first 4,096 bytes, and all are counted', async () => {
    const pool = await make();
    const long = `"${'é'.repeat(5000)}`;
    const lines = Array.from({ length: 20_000 }, (_, i) => (i % 2 === 0 ? `{"n":${i}}` : i === 1 ? long : 'oops'));
    const { told } = await load(pool, 'application/json', lines.join('\n'), 'errors=skip');
    expect([told.records, told.faulty, told.faults?.length]).toEqual([10_000, 10_000, 100]);
    expect(told.faults?.[0]).toEqual({
      line: 2,
      column: 1,
      error: expect.stringContaining('in string literal') as string,
      raw: `"${'é'.repeat(2047)}\ufffd`,
      bytes: 10_001,
    });
    expect(told.faults?.[99]?.line).toBe(200);
  });
  test('a body of nothing but faults is refused, whatever its length', async () => {
    const pool = await make();
    for (const body of ['oops\n', 'oops\n'.repeat(30_000)]) {
      const { status, told } = await load(pool, 'application/json', body, 'errors=skip');
      expect(status).toBe(400);
      expect(told.error).toBe(
        `none of the ${body.length / 5} records can be read; the first one begins on line 1: invalid character 'o' looking for beginning of value (line 1, column 1, byte 0)`,
      );
    }
    expect(await service.query(`from ${pool}`)).toBe('');
  });
  test('a record that is cut in a quote or bracket does not take more than its line, be it at the limit', async () => {
    const limited = await startService(['-value.max', '4096']);
    try {
      await limited.ask('POST', '/pool', { body: '{name:"p",layout:{keys:[["n"]]}}' });
      const send = async (type: string, body: string): Promise<Told> =>
        JSON.parse(
          (
            await limited.ask('POST', '/pool/p/branch/main?errors=skip', {
              body,
              headers: { 'content-type': type, accept: 'application/json' },
            })
          ).body,
        ) as Told;
      const rows = Array.from({ length: 2000 }, (_, i) => `${i},"a b"\n`).join('');
      const quoted = await send('text/csv', `n,s\n1,"a\n${rows}`);
      expect([quoted.records, quoted.faulty, quoted.faults?.[0]?.raw]).toEqual([2000, 1, '1,"a']);
      const dialect = await send('text/csv', `n,s\n1,"a\n${rows}`);
      expect([dialect.records, dialect.faulty]).toEqual([2000, 1]);
      const open = await send('application/json', `{"n":1}\n[1,\n${'2,\n'.repeat(100_000)}\n{"n":3}\n`);
      expect(open.faults?.[0]).toMatchObject({ line: 2, raw: '[1,', error: 'value does not end' });
      const { records = 0, faulty = 0 } = open;
      expect([records >= 100_002, faulty >= 100_001]).toEqual([true, true]);
    } finally {
      await limited.close();
    }
  });
  test('what has no place to go on is refused, before or after its format is found out', async () => {
    const pool = await make();
    await load(pool, 'application/json', '{"n":1}', '');
    for (const format of ['parquet', 'arrows', 'bsup', 'csup']) {
      const got = await fetch(`${service.url}/query?format=${format}&query=from%20${pool}`);
      const body = new Uint8Array(await got.arrayBuffer());
      for (const type of [got.headers.get('content-type')!, undefined]) {
        const { status, told } = await load(pool, type, body, 'errors=skip');
        expect({ format, status, error: told.error }).toEqual({
          format,
          status: 400,
          error: expect.stringMatching(
            /^errors=skip: in .* no next record can be found after a faulty one; load it without errors$/,
          ) as string,
        });
      }
    }
    const { told } = await load(pool, 'application/json', '[1]', 'errors=wrap&unnest=T');
    expect(told.error).toContain('errors=wrap: in an array of records (unnest=T) no next');
    expect((await load(pool, 'application/json', '[1]', 'errors=drop')).told.error).toBe(
      'invalid query param "errors": drop: expected refuse, skip or wrap',
    );
  });
  test('a header that is none is refused', async () => {
    const pool = await make();
    for (const [type, body] of [
      ['text/csv', 'n,n\n1,2\n'],
      ['application/x-zeek', '#fields n m\n#types int\n1 2\n'],
      ['application/x-zeek', '#fields n\n#types nothing\n1\n'],
    ] as const)
      expect((await load(pool, type, body, 'errors=skip')).status).toBe(400);
  });
});

describe('errors=wrap', () => {
  test('keeps what cannot be read as error values with their text', async () => {
    const pool = await make();
    const { told } = await load(pool, 'text/csv', 'n,s\n1,a\n7\n2,b\xff\n', 'errors=wrap');
    expect([told.records, told.faulty, told.faults?.[0]?.raw]).toEqual([3, 1, '7']);
    expect(await service.query(`from ${pool} | is_error(this)`)).toBe(
      'error({message:"record on line 3: wrong number of fields",on:"7"})\n',
    );
    const all = await make();
    expect((await load(all, 'application/json', 'a\nb\n', 'errors=wrap')).told.records).toBe(2);
  });
  test('refuse is what is done without it', async () => {
    const pool = await make();
    expect((await load(pool, 'application/json', '{"n":1} x', 'errors=refuse')).status).toBe(400);
    expect(await service.query(`from ${pool}`)).toBe('');
  });
});

describe.each([
  ['short', ''],
  ['long', ' '.repeat(9000)],
] as const)('times of a field, in a %s body', (_, blanks) => {
  test('are made of what can be read', async () => {
    const body = `{"n":1,"t":1700000000}\n${blanks}oops\n{"n":2,"t":"2026-01-01"}\n`;
    const left = await make();
    const { told } = await load(left, 'application/json', body, 'errors=skip&time=t');
    expect([told.records, told.faulty]).toEqual([2, 1]);
    expect(await service.query(`from ${left} | sort n | values t`)).toBe(
      '2023-11-14T22:13:20Z\n2026-01-01T00:00:00Z\n',
    );
    const kept = await make();
    await load(kept, 'application/json', body, 'errors=wrap&time=t');
    expect(await service.query(`from ${kept} | aggregate count(), union(typeof(t))`)).toContain('<time>');
    expect(await service.query(`from ${kept} | is_error(this) | values under(this).on`)).toBe('"oops"\n');
  });
  test('a body of nothing but faults is refused', async () => {
    const { status, told } = await load(await make(), 'application/json', `oops${blanks}\n`, 'errors=skip&time=t');
    expect([status, told.error]).toEqual([400, expect.stringContaining('none of the 1 records can be read')]);
  });
});

describe('rejected', () => {
  test('names the pool that takes all of them, in a commit of its own', async () => {
    const pool = await make();
    await service.ask('POST', '/pool', { body: '{name:"all.rejected"}' });
    const body = `{"n":1}\n${'oops\n'.repeat(300)}\xff\n`;
    const { told } = await load(
      pool,
      'application/json',
      Buffer.from(body, 'latin1'),
      'errors=skip&rejected=all.rejected',
    );
    expect([told.records, told.faulty, told.faults?.length]).toEqual([1, 301, 100]);
    expect(told.rejected).toMatch(/^0x/);
    expect(await service.query('from all.rejected | count()')).toBe('301\n');
    expect(await service.query('from all.rejected | line==7 | drop ts')).toBe(
      `{pool:"${pool}",branch:"main",line:7,column:1,error:"invalid character 'o' looking for beginning of value (line 7, column 1, byte 33)",raw:"oops"}\n`,
    );
    const log = await service.query('from all.rejected@main:log | cut message');
    expect(log).toContain(`faulty records of a load into ${pool}@main`);
    const none = await load(pool, 'application/json', '{"n":1}', 'errors=skip&rejected=all.rejected');
    expect(none.told).toMatchObject({ records: 1, faulty: 0, faults: [] });
    expect(none.told.rejected).toBeUndefined();
  });
  test('is another pool that is there, and goes with errors=skip alone; what is refused leaves nothing there', async () => {
    const pool = await make();
    const other = await make();
    const error = async (body: string, parameters: string): Promise<string | undefined> =>
      (await load(pool, 'application/json', body, parameters)).told.error;
    expect(await error('1', 'errors=skip&rejected=nowhere')).toBe('nowhere: pool not found');
    expect(await error('1', `rejected=${other}`)).toBe(`rejected=${other}: only with errors=skip`);
    expect(await error('1', `errors=wrap&rejected=${other}`)).toBe(`rejected=${other}: only with errors=skip`);
    expect(await error('1', `errors=skip&rejected=${pool}`)).toContain(
      ': expected a pool other than the one that is loaded into',
    );
    expect(await error('x', `errors=skip&rejected=${other}`)).toContain('none of the 1 records can be read');
    const { status } = await load(pool, 'application/json', '1\nx', `errors=skip&rejected=${other}`, {
      'if-match': '"0x0000000000000000000000000000000000000001"',
    });
    expect(status).toBe(412);
    expect(await service.query(`from ${other}`)).toBe('');
  });
  test('a request that is sent again under its key makes neither commit twice', async () => {
    const pool = await make();
    const other = await make();
    const send = (): ReturnType<typeof load> =>
      load(pool, 'application/json', `{"n":1}\n${'oops\n'.repeat(2000)}`, `errors=skip&rejected=${other}`, {
        'idempotency-key': 'once',
      });
    const first = await send();
    const again = await send();
    expect(again).toEqual({ status: 200, told: { commit: first.told.commit, warnings: [] } });
    expect(await service.query(`from ${other} | count()`)).toBe('2000\n');
    expect(await service.query(`from ${pool} | count()`)).toBe('1\n');
  });
  test('needs the role of a writer of that pool too', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'lake-rejected-'));
    const key = async (...grants: readonly string[]): Promise<string> => {
      let out = '';
      await keyCommand(['add', '-lake', directory, ...grants.flatMap((grant) => ['-role', grant]), grants.join(' ')], {
        cwd: directory,
        stdin: (async function* none() {
          yield* [];
        })(),
        stdoutIsTerminal: false,
        complain: () => undefined,
        write: async (chunk) => {
          out += Buffer.from(chunk).toString();
        },
      });
      return out.trim();
    };
    const guarded = await startService(['-auth.keys'], directory);
    try {
      const admin = await key('admin');
      const bearer = (token: string) => ({ authorization: `Bearer ${token}`, 'content-type': 'application/json' });
      for (const name of ['own', 'bad'])
        await guarded.ask('POST', '/pool', { headers: bearer(admin), body: JSON.stringify({ name }) });
      const send = async (token: string): Promise<number> =>
        (
          await guarded.ask('POST', '/pool/own/branch/main?errors=skip&rejected=bad', {
            headers: bearer(token),
            body: '{"n":1}\nx',
          })
        ).status;
      const grants = [['writer:own'], ['writer:own', 'reader:bad'], ['writer:own', 'writer:bad']] as const;
      const statuses: number[] = [];
      for (const grant of grants) statuses.push(await send(await key(...grant)));
      expect(statuses).toEqual([404, 403, 200]);
    } finally {
      await guarded.close();
      await rm(directory, { recursive: true, force: true });
    }
  });
});

test('lake load -errors counts what it leaves out, and tells the first ones', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'lake-load-'));
  const pool = await make();
  const other = await make();
  await writeFile(join(folder, 'a.ndjson'), '{"n":1}\noops\n{"n":2}\n');
  let out = '';
  let complaints = '';
  const io: CommandIo = {
    cwd: folder,
    stdin: (async function* none() {
      yield* [];
    })(),
    stdoutIsTerminal: false,
    complain: (text) => {
      complaints += text;
    },
    write: async (chunk) => {
      out += Buffer.from(chunk).toString();
    },
  };
  const argv = ['-lake', service.url, '-use', pool, '-errors', 'skip', '-rejected', other, 'a.ndjson'];
  expect(await loadCommand(argv, io)).toBe(0);
  expect(out).toMatch(/^0x\w{40} a\.ndjson: 2 records, 1 faulty, in commit 0x\w{40}\n$/);
  expect(complaints).toBe(
    "a.ndjson: line 2: invalid character 'o' looking for beginning of value (line 2, column 1, byte 8)\n",
  );
  await rm(folder, { recursive: true, force: true });
});

test('a recording of such loads replays to the same commits and rows', { timeout: 120_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'lake-faulty-'));
  const recording = join(folder, 'r.ndjson');
  const recorded = await startService(['-record', recording, '-record.bodies'], join(folder, 'lake'));
  for (const name of ['p', 'q']) await recorded.ask('POST', '/pool', { body: `{name:"${name}"}` });
  for (const [parameters, body] of [
    ['errors=skip&rejected=q', 'n,s\n1,a\n7\n2,b\n'],
    ['errors=wrap', 'n,s\n1,a\n7\n2,b\n'],
    ['errors=skip&rejected=q', `n,s\n${'1,a\n7\n'.repeat(3000)}`],
    ['errors=skip&rejected=q', 'n,s\n1\n'],
    ['errors=skip&time=n', 'n,s\n1700000000,a\n7\n1700000001,b\n'],
  ] as const)
    await recorded.ask('POST', `/pool/p/branch/main?${parameters}`, { body, headers: { 'content-type': 'text/csv' } });
  await recorded.close();
  const { status, printed } = replayOnLake(recording, join(folder, 'again'));
  expect(printed).toMatch(/the same\n$/);
  expect(status).toBe(0);
  await rm(folder, { recursive: true, force: true });
});

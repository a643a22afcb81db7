/** Content codings over real sockets: on request bodies, and on answers that ask for them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { brotliCompressSync, brotliDecompressSync, deflateRawSync, deflateSync, gunzipSync, gzipSync } from 'node:zlib';
import { Zstd } from '@hpcc-js/wasm-zstd';
import { expandZstd, zstdExpanded } from '../../../src/formats/codings/zstd.ts';
import { answerCoding } from '../../../src/http/bodies/encoding.ts';
import { type TestService, startService } from '../../support/service/server.ts';

let service: TestService;
let zstd: Zstd;
beforeAll(async () => {
  zstd = await Zstd.load();
  service = await startService(['-expanded.max', '1MiB', '-body.max', '64KiB']);
  expect((await service.ask('POST', '/pool', { body: '{name:"p",layout:{keys:[["a"]]}}' })).status).toBe(200);
});
afterAll(() => service?.close());

const encode: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array>> = {
  gzip: gzipSync,
  br: brotliCompressSync,
  deflate: deflateSync,
  zstd: (bytes) => zstd.compress(bytes),
  identity: (bytes) => bytes,
};
const load = (
  bytes: Uint8Array,
  coding: string,
  type = 'application/json',
): Promise<{ readonly status: number; readonly body: string }> =>
  service.ask('POST', '/pool/p/branch/main', {
    headers: { 'content-encoding': coding, 'content-type': type },
    body: bytes,
  });

describe('a load', () => {
  let next = 0;
  for (const codings of [
    'gzip',
    'br',
    'deflate',
    'zstd',
    'identity',
    'GZIP',
    'x-gzip',
    'gzip, br',
    'zstd,deflate , gzip',
    'identity, zstd',
  ]) {
    test(`with Content-Encoding ${codings} is read`, async () => {
      const a = next++;
      const names = codings
        .toLowerCase()
        .split(',')
        .map((c) => c.trim().replace('x-', ''));
      const bytes = names.reduce<Uint8Array>(
        (b, name) => encode[name](b),
        Buffer.from(`{"a":${a},"s":"é${'x'.repeat(a * 1000)}"}`),
      );
      expect((await load(bytes, codings)).status).toBe(200);
      expect(await service.query(`from p | a==${a} | values len(s)`)).toBe(`${1 + a * 1000}\n`);
    });
  }

  test('with bare deflate is read', async () => {
    expect((await load(deflateRawSync('{"a":100}'), 'deflate')).status).toBe(200);
  });

  for (const coding of ['gzip', 'zstd']) {
    test(`that claims ${coding} and is plain is read as plain`, async () => {
      expect((await load(Buffer.from('{"a":101}'), coding)).status).toBe(200);
      expect((await load(Buffer.from('1'), coding)).status).toBe(200);
    });
  }

  test('in an unknown coding is refused', async () => {
    expect(await load(Buffer.from('{}'), 'gzip, compress')).toMatchObject({
      status: 400,
      body: '{"type":"Error","kind":"invalid operation","error":"unsupported content coding \\"compress\\" (supported: gzip, br, deflate, zstd, identity)"}\n',
    });
  });

  test('in too many codings is refused', async () => {
    expect(await load(Buffer.from('{}'), 'gzip,gzip,gzip,gzip,gzip')).toMatchObject({
      status: 400,
      body: expect.stringContaining('5 codings, at most 4') as string,
    });
  });

  for (const coding of ['gzip', 'br', 'deflate', 'zstd']) {
    test(`in ${coding} that ends too early is refused, and nothing of it is kept`, async () => {
      const before = await service.query('from p | count()');
      const bytes = encode[coding](Buffer.from(Array.from({ length: 5000 }, (_, i) => `{"a":${i * 7919}}\n`).join('')));
      const answer = await load(bytes.subarray(0, bytes.length >> 1), coding);
      expect(answer).toMatchObject({ status: 400, body: expect.stringContaining(`${coding}: `) as string });
      expect(await service.query('from p | count()')).toBe(before);
    });

    test(`in ${coding} that expands beyond the limit is refused`, async () => {
      const bytes = encode[coding](Buffer.alloc(3 << 20, ' '));
      expect(await load(bytes, coding)).toMatchObject({
        status: 413,
        body: `{"type":"Error","kind":"payload too large","error":"request body: ${coding}: expands to more than 1048576 bytes (option -expanded.max)"}\n`,
      });
    });
  }

  test('without Content-Encoding has its gzip undone within the limit too', async () => {
    const send = (bytes: Uint8Array): ReturnType<TestService['ask']> =>
      service.ask('POST', '/pool/p/branch/main', { body: gzipSync(bytes) });
    expect((await send(Buffer.from('{a:102}'))).status).toBe(200);
    expect((await send(Buffer.alloc(3 << 20, ' '))).status).toBe(413);
  });

  test('whose gzip was damaged on the way is refused for that, also when the format stumbles first', async () => {
    const before = await service.query('from p | count()');
    const text = Array.from({ length: 5000 }, (_, i) => `{"a":${i}}\n`).join('');
    const bytes = gzipSync(text, { level: 0 });
    bytes[bytes.indexOf('{"a":7}') + 4] = 0x7a;
    for (const type of ['application/json', 'application/x-sup', '']) {
      const answer = await service.ask('POST', '/pool/p/branch/main', {
        headers: type === '' ? {} : { 'content-type': type },
        body: bytes,
      });
      expect(answer).toMatchObject({
        status: 400,
        body: expect.stringContaining('gzip: incorrect data check') as string,
      });
    }
    expect(await service.query('from p | count()')).toBe(before);
  });

  test('whose client falls silent behind a fault of its format is answered all the same', async () => {
    const bytes = gzipSync(`oops${'{"a":1}\n'.repeat(200_000)}`, { level: 0 });
    const began = performance.now();
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const client = httpRequest(
        `${service.url}/pool/p/branch/main`,
        {
          method: 'POST',
          agent: false,
          headers: { 'content-type': 'application/json', 'content-encoding': 'gzip', 'content-length': bytes.length },
        },
        (response) => {
          resolve(response.statusCode);
          client.destroy();
        },
      );
      client.on('error', reject);
      client.write(bytes.subarray(0, 1_000_000));
    });
    expect(status).toBe(400);
    expect(performance.now() - began).toBeLessThan(15_000);
  });

  test('that breaks off while its format is looked for is refused for that', async () => {
    const bytes = gzipSync(Array.from({ length: 5000 }, (_, i) => `{"a":${i * 7919}}\n`).join(''));
    const answer = await service.ask('POST', '/pool/p/branch/main', { body: bytes.subarray(0, bytes.length >> 1) });
    expect(answer).toMatchObject({
      status: 400,
      body: '{"type":"Error","kind":"invalid operation","error":"gzip: unexpected end of file"}\n',
    });
  });
});

describe('a control body', () => {
  for (const coding of ['gzip', 'br', 'deflate', 'zstd']) {
    test(`in ${coding} is read`, async () => {
      const body = encode[coding](Buffer.from('{"query":"values 1+1"}'));
      expect(
        await service.ask('POST', '/query', {
          headers: { 'content-encoding': coding, 'content-type': 'application/json' },
          body,
        }),
      ).toMatchObject({ status: 200, body: '2\n' });
    });
  }

  test('that expands beyond the limit of such bodies is refused', async () => {
    const body = gzipSync(`{"query":"values 1"${' '.repeat(1 << 20)}}`);
    expect(await service.ask('POST', '/query', { headers: { 'content-encoding': 'gzip' }, body })).toMatchObject({
      status: 413,
      body: expect.stringContaining('(option -body.max)') as string,
    });
  });
});

interface Got {
  readonly coding: string | undefined;
  readonly vary: string | undefined;
  readonly bytes: Buffer;
  readonly firstBytes: Buffer;
}
const query = (
  text: string,
  acceptEncoding: string | undefined,
  { path = '/query', accept = 'application/x-ndjson' } = {},
): Promise<Got> =>
  new Promise((resolve, reject) => {
    const headers = {
      accept,
      'content-type': 'application/json',
      ...(acceptEncoding !== undefined && { 'accept-encoding': acceptEncoding }),
    };
    const client = httpRequest(
      service.url + path,
      { method: 'POST', headers, agent: false },
      (response: IncomingMessage) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
        });
        response.on('end', () =>
          resolve({
            coding: response.headers['content-encoding'],
            vary: response.headers.vary,
            bytes: Buffer.concat(chunks),
            firstBytes: chunks[0] ?? Buffer.alloc(0),
          }),
        );
        response.on('error', reject);
      },
    );
    client.on('error', reject);
    client.end(JSON.stringify({ query: text }));
  });
const zstdWhole = async (bytes: Uint8Array): Promise<Buffer> => {
  const out: Uint8Array[] = [];
  for await (const piece of zstdExpanded(
    (async function* () {
      yield bytes;
    })(),
  ))
    out.push(piece);
  return Buffer.concat(out);
};
const decode: Readonly<Record<string, (bytes: Buffer) => Buffer | Promise<Buffer>>> = {
  gzip: gunzipSync,
  br: brotliDecompressSync,
  zstd: zstdWhole,
};

describe('an answer', () => {
  beforeAll(async () => {
    await service.ask('POST', '/pool', { body: '{name:"rows",layout:{keys:[["a"]]}}' });
    await service.ask('POST', '/pool/rows/branch/main', {
      body: Array.from({ length: 30_000 }, (_, i) => `{"a":${i},"s":"row ${i % 97}","f":${i / 8}}`).join('\n'),
      headers: { 'content-type': 'application/json' },
    });
  });

  for (const coding of ['gzip', 'br', 'zstd']) {
    test(`comes in ${coding}, and is the same rows`, async () => {
      const plain = await query('from rows', undefined);
      const got = await query('from rows', coding);
      expect({ coding: plain.coding, vary: plain.vary }).toEqual({
        coding: undefined,
        vary: 'Origin, Accept-Encoding',
      });
      expect({ coding: got.coding, vary: got.vary }).toEqual({ coding, vary: 'Origin, Accept-Encoding' });
      expect((await decode[coding](got.bytes)).equals(plain.bytes)).toBe(true);
      expect(got.bytes.length).toBeLessThan(plain.bytes.length / 3);
    });

    test(`in ${coding} to a query without rows has no bytes and no coding`, async () => {
      const got = await query('from rows | a < 0', coding);
      expect({ coding: got.coding, bytes: got.bytes.length }).toEqual({ coding: undefined, bytes: 0 });
    });

    test(`of one value comes in ${coding} if it is long`, async () => {
      const text = `values ${Array.from({ length: 500 }, (_, i) => i).join(',')}`;
      const plain = await query(text, undefined, { path: '/compile', accept: 'application/json' });
      const got = await query(text, coding, { path: '/compile', accept: 'application/json' });
      expect(got.coding).toBe(coding);
      expect((await decode[coding](got.bytes)).equals(plain.bytes)).toBe(true);
    });
  }

  test('of few bytes comes as it is', async () => {
    expect((await query('values 1', 'gzip', { path: '/query/describe' })).coding).toBeUndefined();
  });

  test('gives its first rows while the query still runs', async () => {
    for (const coding of ['gzip', 'br', 'zstd']) {
      const got = await query('from rows', coding);
      const first = coding === 'zstd' ? await zstdWhole(got.bytes) : got.firstBytes;
      // What has come is readable without the rest.
      const read =
        coding === 'gzip'
          ? gunzipSync(first, { finishFlush: 2 })
          : coding === 'br'
            ? brotliDecompressSync(first, { finishFlush: 1 })
            : first;
      expect(read.toString().startsWith('{"a":0,')).toBe(true);
    }
  });

  test('that fails while it streams ends without its last chunk, in any coding', async () => {
    for (const coding of ['gzip', 'br', 'zstd']) {
      await expect(query('from rows | values a < 29990 ? {a} : a', coding, { accept: 'text/csv' })).rejects.toThrow();
    }
  });

  const choices: readonly (readonly [string | undefined, string | undefined])[] = [
    [undefined, undefined],
    ['', undefined],
    ['identity', undefined],
    ['gzip', 'gzip'],
    ['deflate', undefined],
    ['gzip, deflate, br', 'br'],
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip;q=1.0, br;q=0.5', 'gzip'],
    ['zstd, gzip;q=0.9', 'zstd'],
    ['gzip;q=0', undefined],
    ['*', 'br'],
    ['*;q=0', undefined],
    ['br;q=0, *', 'gzip'],
    ['br;q=0,gzip;q=0,*;q=0.1', 'zstd'],
    ['identity, gzip;q=0.5', undefined],
    ['identity;q=0.5, gzip', 'gzip'],
    ['x-gzip', 'gzip'],
    ['GZIP ; Q=0.3', 'gzip'],
    ['gzip;q=nonsense', undefined],
    ['identity;q=0', undefined],
  ];
  for (const [header, coding] of choices) {
    test(`to Accept-Encoding ${JSON.stringify(header)} has ${coding ?? 'no coding'}`, () =>
      expect(answerCoding(header)).toBe(coding));
  }
});

test('one-shot zstd gives what was put in, at every level', () => {
  const bytes = Buffer.from(
    Array.from({ length: 40_000 }, (_, i) => `{"n":${(i * i) % 1009},"t":"${'ab'.repeat(i % 5)}"}\n`).join(''),
  );
  for (const input of [
    bytes,
    bytes.subarray(0, 100),
    bytes.subarray(0, 1),
    Buffer.alloc(500_000, 'x'),
    Buffer.alloc(0),
  ]) {
    for (const level of [-5, 1, 3, 9, 19])
      expect(Buffer.from(expandZstd(zstd.compress(input, level), input.length)!).equals(input)).toBe(true);
  }
});

test('one-shot zstd reads one frame after another, and none that ends too early', () => {
  const bytes = Buffer.from(Array.from({ length: 30_000 }, (_, i) => `{"n":${(i * i) % 1009}}\n`).join(''));
  const frame = zstd.compress(bytes);
  const skipped = Buffer.from([0x52, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 7, 7]);
  const all = Buffer.concat([skipped, frame, skipped, frame]);
  expect(Buffer.from(expandZstd(all, bytes.length * 2)!).equals(Buffer.concat([bytes, bytes]))).toBe(true);
  expect(expandZstd(all, bytes.length * 2 + 1)).toBeUndefined();
  expect(() => expandZstd(all, bytes.length * 2 - 1)).toThrow();
  for (let cut = 1; cut < 40; cut++)
    expect(() => expandZstd(frame.subarray(0, frame.length - cut), bytes.length)).toThrow();
});

describe('zed-js', () => {
  test('gets a number for each channel on x-zjson, other clients get the name alone', async () => {
    const ask = async (accept: string): Promise<string[]> => {
      const { bytes } = await query(
        'values 1,2 | switch case this==1 ( pass ) case this==2 ( output other )',
        undefined,
        { path: '/query?ctrl=T', accept },
      );
      return bytes
        .toString()
        .split('\n')
        .filter((line) => line.includes('"QueryChannel'))
        .sort();
    };
    expect(await ask('application/x-jsup')).toEqual([
      '{"type":"QueryChannelEnd","value":{"channel":"main"}}',
      '{"type":"QueryChannelEnd","value":{"channel":"other"}}',
      '{"type":"QueryChannelSet","value":{"channel":"main"}}',
      '{"type":"QueryChannelSet","value":{"channel":"other"}}',
    ]);
    const numbered = await ask('application/x-zjson');
    const ids = new Map(
      numbered
        .map(
          (line) =>
            (JSON.parse(line) as { readonly value: { readonly channel: string; readonly channel_id: number } }).value,
        )
        .map((v) => [v.channel, v.channel_id]),
    );
    expect([...ids.values()].sort()).toEqual([0, 1]);
    expect(numbered).toEqual(
      ['End', 'Set'].flatMap((kind) =>
        ['main', 'other'].map(
          (name) => `{"type":"QueryChannel${kind}","value":{"channel":"${name}","channel_id":${ids.get(name)}}}`,
        ),
      ),
    );
  });
});

describe('channels with ctrl', () => {
  const told = async (text: string, accept = 'application/x-jsup'): Promise<string[]> => {
    const { bytes } = await query(text, undefined, { path: '/query?ctrl=T', accept });
    return bytes
      .toString()
      .split('\n')
      .filter((line) => line.includes('"QueryChannel'))
      .map((line) => {
        const {
          type,
          value: { channel, channel_id: id },
        } = JSON.parse(line) as {
          readonly type: string;
          readonly value: { readonly channel: string; readonly channel_id?: number };
        };
        return [type.slice('QueryChannel'.length), channel, ...(id === undefined ? [] : [id])].join(' ');
      });
  };
  test('a channel that ends has begun, without rows too', async () => {
    expect(await told('values 1 | where this==2')).toEqual(['Set main', 'End main']);
    expect(await told('values 1 | where this==2', 'application/x-zjson')).toEqual(['Set main 0', 'End main 0']);
    expect(await told('values 1')).toEqual(['Set main', 'End main']);
  });
  test('all channels of the query end, those without rows among them', async () => {
    expect(await told('values 1 | where this==2 | output other')).toEqual(['Set other', 'End other']);
    expect(await told('values 1 | fork ( where this==1 | output full ) ( where this==2 | output none )')).toEqual([
      'Set full',
      'End full',
      'Set none',
      'End none',
    ]);
    expect(await told('values 1 | debug this | where this==2')).toEqual([
      'Set debug',
      'End debug',
      'Set main',
      'End main',
    ]);
    expect(await told('values 1 | where this==2 | debug this')).toEqual([
      'Set main',
      'End main',
      'Set debug',
      'End debug',
    ]);
  });
});

/**
 * Part `names`: pools, branches, tags and fields whose names are hostile: what is made under a name is found under it by
 * every door, fields come back through every format that has types as they went in, and who reads an answer by ranges
 * while its pool changes gets the bytes of one answer, or a 412.
 */
import { startBuiltService } from '../../support/service/built.ts';
import { type Client, clientOf } from '../../support/service/client.ts';
import { type Random, randomOf } from '../../support/random.ts';
import type { PartRun } from '../part.ts';

const atoms = [
  ...[
    '\ufeff',
    '\u200b',
    '\u202e',
    '\u0000',
    '\n',
    '\r',
    '\t',
    ' ',
    '"',
    "'",
    '`',
    '\\',
    '/',
    '%2f',
    '%',
    '+',
    '.',
    '..',
  ],
  ...[
    '__proto__',
    'constructor',
    'toString',
    'length',
    'é',
    '🙂',
    '#',
    '?',
    '&',
    '@',
    ':',
    ';',
    ',',
    '{',
    '0x00',
    'null',
  ],
];
const someName = (random: Random): string =>
  Array.from({ length: 1 + random.below(3) }, () => random.pick(atoms)).join('') + random.hex(random.below(3));
const someNames = (random: Random, count: number): readonly string[] => [
  ...new Set(Array.from({ length: count }, () => someName(random))),
];

/** SUP of a record of whole numbers with these fields. */
const rowOf = (names: readonly string[]): string =>
  `{${names.map((name, i) => `${JSON.stringify(name)}:${i}`).join(',')}}`;

interface Tools {
  readonly address: string;
  readonly client: Client;
  readonly random: Random;
  readonly count: (name: string, n?: number) => void;
}
const bytesAt = async (url: string, init: RequestInit = {}): Promise<Uint8Array> => {
  const answer = await fetch(url, init);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${Buffer.from(bytes).toString().slice(0, 300)}`);
  return bytes;
};
const equal = (what: string, found: unknown, wanted: unknown): void => {
  if (JSON.stringify(found) !== JSON.stringify(wanted))
    throw new Error(`${what}: ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`);
};

const formats = {
  sup: 'application/x-sup',
  jsup: 'application/x-jsup',
  bsup: 'application/x-bsup',
  csup: 'application/x-csup',
  arrows: 'application/vnd.apache.arrow.stream',
  parquet: 'application/x-parquet',
};
/** Fields through each format and back. */
const throughFormats = async ({ address, client, random, count }: Tools, pool: string): Promise<void> => {
  const row = rowOf(someNames(random, 8));
  await client.createPool(pool, 'k');
  await bytesAt(`${address}/pool/${pool}/branch/main`, { method: 'POST', body: row });
  const dataOf = async (name: string, format: string): Promise<Uint8Array> =>
    bytesAt(`${address}/pool/${name}/branch/main/data?format=${format}`);
  const wanted = Buffer.from(await dataOf(pool, 'sup')).toString();
  for (const [format, type] of Object.entries(formats)) {
    const copy = `${pool}${format}`;
    await client.createPool(copy, 'k');
    const body = await dataOf(pool, format);
    await bytesAt(`${address}/pool/${copy}/branch/main`, { method: 'POST', body, headers: { 'content-type': type } });
    equal(`${format} of ${row}`, Buffer.from(await dataOf(copy, 'sup')).toString(), wanted);
    count('through a format');
  }
};

/** One name for a pool, a branch and a tag. */
const byEveryDoor = async ({ client, count }: Tools, name: string): Promise<void> => {
  const id = await client.createPool(name, 'k');
  const path = `/pool/${encodeURIComponent(name)}`;
  const tip = await client.load(id, [{ k: 1 }]);
  await client.json('POST', path, { name: `b${name}`, commit: tip });
  await client.json('POST', `${path}/tag`, { name, commit: tip });
  const quoted = JSON.stringify(name);
  equal(`from ${quoted}`, await client.query(`from ${quoted} | count()`), [1]);
  equal(`a tag ${quoted}`, await client.query(`from ${quoted}@${quoted} | count()`), [1]);
  for (const at of ['main', `b${name}`, name]) {
    const branch = `${path}/branch/${encodeURIComponent(at)}`;
    equal(branch, (await client.json<{ commit: string }>('GET', branch)).commit, tip);
    equal(`${branch}/data`, await client.json('GET', `${branch}/data`), [{ k: 1 }]);
  }
  const head = { pool: name, branch: `b${name}` };
  equal(`head ${quoted}`, await client.json('POST', '/query', { query: 'count()', head }), [1]);
  const deleted = await client.ask('DELETE', path);
  equal(`DELETE ${path}`, deleted.status, 204);
  count('names');
};

/** Reads an answer piece by piece, between which rows are loaded. */
const byRanges = async ({ client, random, count }: Tools, pool: string): Promise<void> => {
  await client.createPool(pool, 'k');
  await client.load(
    pool,
    Array.from({ length: 200 }, (_, k) => ({ k })),
  );
  const url = `/pool/${pool}/branch/main/data?format=${random.pick(['json', 'csv', 'ndjson'])}`;
  const whole = await client.ask('GET', url);
  const { headers } = await client.ask('HEAD', url);
  const changesAt = random.below(6);
  let read = '';
  for (let piece = 0; piece < 5; piece++) {
    if (piece === changesAt) await client.load(pool, [{ k: -1 }]);
    const at = Math.floor((piece * whole.body.length) / 5);
    const end = Math.floor(((piece + 1) * whole.body.length) / 5) - 1;
    const range = { range: `bytes=${at}-${end}`, 'if-match': headers.etag! };
    const { status, body } = await client.ask('GET', url, { headers: range });
    const isStale = piece >= changesAt;
    equal(`piece ${piece} of ${url}, changed at ${changesAt}`, status, isStale ? 412 : 206);
    if (!isStale) read += body;
    count(isStale ? 'pieces refused' : 'pieces');
  }
  equal(url, whole.body.startsWith(read), true);
};

export const names: PartRun = async ({ seeds, count, failed }) => {
  const service = await startBuiltService({ flags: ['-workers', '1'] });
  const client = clientOf(service.address, 4);
  try {
    for (const seed of seeds) {
      const random = randomOf(seed + 71);
      const tools: Tools = { address: service.address, client, random, count };
      const attempts = [
        () => throughFormats(tools, `formats${seed}`),
        () => byRanges(tools, `ranges${seed}`),
        ...someNames(random, 5).map((name) => () => byEveryDoor(tools, `${name}-${seed}`)),
      ];
      for (const attempt of attempts)
        await attempt().catch((problem: unknown) => {
          failed(seed, problem instanceof Error ? problem.message : String(problem));
        });
    }
  } finally {
    client.close();
    await service.stop();
  }
};

/**
 * Engines read a lake of anything whole (everything.ts), each column where `GET /pool/{pool}/iceberg` says. Of
 * vega-datasets the small files; `EVERYTHING=1` takes them all (`npm run engines`).
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { escapedName } from '../../src/http/iceberg/names.ts';
import type { Mapping } from '../../src/iceberg/kinds.ts';
import { startService, type TestService } from '../support/service/server.ts';
import { everything, type Piece } from './everything.ts';
import { type Engine, engines, lacks, readBy } from './readers.ts';
import { bearer, lakeKey, tablePath } from './support.ts';

const isWhole = process.env['EVERYTHING'] !== undefined;
/** Of a file of vega-datasets. */
const bytesMax = isWhole ? Infinity : 20_000;

interface Columns {
  readonly rows: number;
  /** How many rows have a value, by column. */
  readonly columns: Readonly<Record<string, number>>;
}
interface Described {
  readonly columns: readonly { readonly column: string; readonly iceberg: string }[];
}

let directory: string;
let service: TestService;
let key: string;
let pieces: readonly Piece[];
/** By table, what the service says: how many rows there are, and which columns the table has. */
const told = new Map<string, { readonly rows: number; readonly columns: ReadonlyMap<string, string> }>();

beforeAll(
  async () => {
    pieces = await everything(bytesMax);
    directory = await mkdtemp(join(tmpdir(), 'lake-everything-'));
    key = await lakeKey(directory, 'add', '-role', 'admin', 'admin');
    service = await startService(['-auth.keys', '-iceberg.wait', '120s'], directory);
    const ask = async (method: string, path: string, body?: string | Uint8Array, type = 'application/json') => {
      const headers = {
        ...bearer(key),
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': type }),
      };
      const answer = await service.ask(method, path, { headers, ...(body !== undefined && { body }) });
      if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
      return JSON.parse(answer.body) as unknown;
    };
    for (const { pool: name, bytes, type, layout } of pieces)
      for (const mapping of mappings) {
        const pool = tableOf(name, mapping);
        const path = `/pool/${encodeURIComponent(pool)}`;
        await ask('POST', '/pool', JSON.stringify({ name: pool, layout, iceberg: 'lazy', iceberg_mapping: mapping }));
        if (bytes.length > 0) await ask('POST', `${path}/branch/main`, bytes, type);
        await ask('GET', tablePath(escapedName(pool)));
        const query = JSON.stringify({ query: `from ${JSON.stringify(pool)} | aggregate count:=count()` });
        const [{ count }] = (await ask('POST', '/query', query)) as [{ readonly count: number }];
        const { columns } = (await ask('GET', `${path}/iceberg`)) as Described;
        const own = columns.filter(
          ({ column }) => !column.includes('.') || !/\.(?:field|element|key|value)/.test(column),
        );
        told.set(pool, { rows: count, columns: new Map(own.map(({ column, iceberg }) => [column, iceberg])) });
      }
  },
  isWhole ? 1_800_000 : 240_000,
);
afterAll(async () => {
  await service.close();
  await rm(directory, { recursive: true, force: true });
});

const mappings = ['typed', 'variant'] as const satisfies readonly Mapping[];
const tableOf = (name: string, mapping: Mapping): string => (mapping === 'typed' ? name : `${name}-variant`);

const mappingsOf = (engine: Engine | 'pyarrow'): readonly Mapping[] =>
  engine === 'pyarrow' || engines[engine].variants ? mappings : ['typed'];
const given = new Map<Engine | 'pyarrow', Promise<Readonly<Record<string, Columns | string>>>>();
/** What an engine gives of each table of all mappings that it reads: it starts once. */
const whole = (engine: Engine | 'pyarrow'): Promise<Readonly<Record<string, Columns | string>>> => {
  let found = given.get(engine);
  if (!found) given.set(engine, (found = read(engine)));
  return found;
};
const read = async (engine: Engine | 'pyarrow'): Promise<Readonly<Record<string, Columns | string>>> => {
  const cases = Object.fromEntries(
    mappingsOf(engine).flatMap((mapping) =>
      pieces.map(({ pool }) => {
        const own = tableOf(pool, mapping);
        const table = escapedName(own);
        const { rows = 0, columns } = told.get(own) ?? {};
        const variants = [...(columns ?? [])].filter(([, type]) => type.includes('variant')).map(([column]) => column);
        return [own, { warehouse: 'lake', table, whole: true, rows, variants }];
      }),
    ),
  );
  return (await readBy(engine, { url: service.url, key }, cases)) as Readonly<Record<string, Columns | string>>;
};

/** Whether an engine has what is null as a value: a list or a map that is not there is an empty one. */
const hasNone = (engine: Engine, type: string): boolean =>
  engine === 'chdb'
    ? /^(?:list|map|struct)</.test(type)
    : engine === 'pyiceberg' && /^(?:list|map)<.*struct/.test(type);

describe.each(mappings)('an engine reads all that there is: mapping %s', (mapping) => {
  for (const engine of (Object.keys(engines) as Engine[]).filter((one) => mappingsOf(one).includes(mapping)))
    test.skipIf(lacks(engine))(
      engines[engine].name,
      { timeout: isWhole || engines[engine].isJava ? 1_800_000 : 240_000 },
      async () => {
        const wanted = await whole('pyarrow');
        const found = await whole(engine);
        const faults: string[] = [];
        for (const { pool: name } of pieces) {
          const pool = tableOf(name, mapping);
          const { rows, columns } = told.get(pool)!;
          const own = found[pool];
          const file = wanted[pool];
          if (typeof own !== 'object' || typeof file !== 'object') {
            faults.push(`${pool}: ${JSON.stringify(own)} ${JSON.stringify(file)}`);
            continue;
          }
          if (own.rows !== rows) faults.push(`${pool}: ${own.rows} rows of ${rows}`);
          for (const [column, count] of Object.entries(file.columns)) {
            const type = columns.get(column);
            if (type === undefined) faults.push(`${pool}: nobody tells of ${column}`);
            const right = hasNone(engine, type ?? '') ? [count, rows] : [count];
            const got = own.columns[engine === 'trino' ? column.toLowerCase() : column];
            if (!right.includes(got ?? -1)) faults.push(`${pool}: ${column} (${type}) has ${got} values of ${count}`);
          }
        }
        expect(faults).toEqual([]);
      },
    );
});

/** A service over the fixture's catalogue, and how tests ask it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keyCommand } from '../../src/commands/key.ts';
import type { Clock } from '../../src/http/access/tokens.ts';
import { type Answer, startService, type TestService } from '../support/service/server.ts';
import { folderCatalogue } from './folder-catalogue.ts';
import type { Signer } from './sign.ts';

export interface IcebergTest {
  readonly service: TestService;
  readonly catalogue: ReturnType<typeof folderCatalogue>;
  readonly directory: string;
  /** Milliseconds by which its clock is ahead. */
  readonly clock: Clock & { aheadMs: number };
  /** Text of the keys, by name. */
  readonly keys: Readonly<Record<string, string>>;
  /** A request; the body of the answer as JSON. */
  readonly json: (method: string, path: string, headers?: Readonly<Record<string, string>>) => Promise<JsonAnswer>;
  readonly close: () => Promise<void>;
}
export interface JsonAnswer extends Answer {
  readonly value: Json;
}
/** What tests look at of a JSON value. */
export type Json = { readonly [name: string]: Json } & readonly Json[] & string;

/** Starts one; with `keys` (grants by name) there is access control. */
export const startIceberg = async ({
  keys,
  flags = [],
  tables,
  directory: given,
}: {
  readonly keys?: Readonly<Record<string, readonly string[]>>;
  readonly flags?: readonly string[];
  readonly tables?: Parameters<typeof folderCatalogue>[0];
  readonly directory?: string;
} = {}): Promise<IcebergTest> => {
  const directory = given ?? (await mkdtemp(join(tmpdir(), 'lake-iceberg-')));
  const texts: Record<string, string> = {};
  for (const [name, grants] of Object.entries(keys ?? {}))
    texts[name] = await lakeKey(directory, 'add', ...grants.flatMap((grant) => ['-role', grant]), name);
  const catalogue = folderCatalogue(tables);
  const clock = { aheadMs: 0, wallMs: () => Date.now() + clock.aheadMs, elapsedMs: () => performance.now() };
  const all = [...(keys ? ['-auth.keys'] : []), ...flags];
  const service = await startService(all, directory, undefined, undefined, undefined, { catalogue, clock });
  return {
    service,
    catalogue,
    directory,
    clock,
    keys: texts,
    json: async (method, path, headers = {}) => {
      const answer = await service.ask(method, path, { headers });
      return { ...answer, value: JSON.parse(answer.body || 'null') as Json };
    },
    close: async () => {
      await service.close();
      if (given === undefined) await rm(directory, { recursive: true, force: true });
    },
  };
};

/** Runs `lake key`; what it printed. */
export const lakeKey = async (directory: string, ...argv: readonly string[]): Promise<string> => {
  let out = '';
  const [action, ...rest] = argv;
  await keyCommand([action!, '-lake', directory, ...rest], {
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

export const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });
export const tablePath = (name: string, prefix = 'lake/'): string =>
  `/iceberg/v1/${prefix}namespaces/lake/tables/${name}`;

/** The credentials that LoadTable gives. */
export const credentialsOf = async (
  { json }: Pick<IcebergTest, 'json'>,
  table: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Signer & { readonly sessionToken: string; readonly location: string }> => {
  const { value, status, body } = await json('GET', tablePath(table), headers);
  if (status !== 200) throw new Error(body);
  const config = value['config']!;
  return {
    accessKeyId: config['s3.access-key-id']!,
    secretAccessKey: config['s3.secret-access-key']!,
    sessionToken: config['s3.session-token']!,
    location: value['metadata-location']!,
  };
};
/** The error of an answer of the catalogue. */
export const errorOf = ({ value, status }: JsonAnswer): string =>
  `${status} ${String(value['error']?.['type'])} ${String(value['error']?.['code'])}`;

/** A request whose target nobody cleans on the way. */
export const rawAsk = (
  { url }: Pick<TestService, 'url'>,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly body: string }> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    request({ hostname, port, method, path, headers }, (response) => {
      const chunks: Uint8Array[] = [];
      response.on('data', (chunk: Uint8Array) => chunks.push(chunk));
      response.on('end', () => {
        resolve({ status: response.statusCode!, body: Buffer.concat(chunks).toString() });
      });
    })
      .on('error', reject)
      .end();
  });

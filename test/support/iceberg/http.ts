/** A table as an engine sees it over HTTP, without an engine: whether what its metadata name is whole. */
import type { IcebergFile } from '../../../src/iceberg/catalogue.types.ts';
import { signedHeaders } from '../../iceberg/sign.ts';
import { tablePath } from '../../iceberg/support.ts';
import { type ReadMetadata, bytesAt, entriesOf, liveIn, rowsIn } from './tables.ts';

interface LoadedTable {
  readonly metadata: ReadMetadata;
  readonly config: Readonly<Record<string, string>>;
}
const magic = 'PAR1';

/** What is wrong with a table of a service without access control; undefined: every snapshot has its rows, in whole files. */
export const faultOfTable = async (address: string, pool: string): Promise<string | undefined> => {
  const answer = await fetch(address + tablePath(pool));
  if (answer.status !== 200) return `the table is answered ${answer.status}: ${await answer.text()}`;
  const { metadata, config } = (await answer.json()) as LoadedTable;
  const signer = {
    accessKeyId: config['s3.access-key-id']!,
    secretAccessKey: config['s3.secret-access-key']!,
    sessionToken: config['s3.session-token']!,
  };
  const source = { file: (path: string) => fileOf(`${address}/s3/lake/${path}`, signer) };
  const seen = new Set<string>();
  for (const snapshot of metadata.snapshots) {
    const files = liveIn(await entriesOf(source, snapshot));
    const told = snapshot.summary['total-records'];
    if (String(rowsIn(files)) !== told) return `a snapshot of ${told} rows has files of ${rowsIn(files)}`;
    for (const { path, size } of files) {
      if (seen.has(path)) continue;
      seen.add(path);
      const bytes = await bytesAt(source, path);
      const ends = bytes.subarray(0, magic.length).toString() + bytes.subarray(-magic.length).toString();
      if (bytes.length !== size || ends !== magic + magic)
        return `${path} is not whole: ${bytes.length} of ${size} bytes`;
    }
  }
  const head = metadata.snapshots.find((one) => one['snapshot-id'] === metadata['current-snapshot-id']);
  const query = await fetch(`${address}/query`, {
    method: 'POST',
    headers: { accept: 'application/json' },
    body: JSON.stringify({ query: `from ${pool}@${head?.summary['lake.commit']} | count()` }),
  });
  const own = (await query.text()).replace(/\D/g, '');
  return own === head?.summary['total-records'] ? undefined : `the head has ${own} rows, its snapshot another number`;
};

const fileOf = async (url: string, signer: Parameters<typeof signedHeaders>[1]): Promise<IcebergFile | undefined> => {
  const answer = await fetch(url, { headers: signedHeaders(url, signer) });
  const bytes = Buffer.from(await answer.arrayBuffer());
  if (answer.status !== 200) return undefined;
  return {
    size: bytes.length,
    etag: answer.headers.get('etag') ?? '',
    modified: new Date(answer.headers.get('last-modified') ?? 0),
    async *read(start, end) {
      yield bytes.subarray(start, end);
    },
  };
};

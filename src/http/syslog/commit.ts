/** A batch of syslog's messages becomes a commit: decoded by the workers, then committed as every load is. */
import { randomUUID } from 'node:crypto';
import type { SyslogConfig } from '../../config/serve.ts';
import { once } from '../../workers/load/small.ts';
import { ingestPool } from '../ingest/pools.ts';
import type { Service } from '../route.ts';
import type { LoadRun } from '../runs.ts';

const branch = 'main';
/** Its name in commits and the audit log. */
const author = 'syslog';

/** Commits a batch. The pool is the one of the option, which is how it was allowed. @throws why not */
export const commitBatch = async (
  service: Service,
  { pool: name, host, port }: SyslogConfig,
  batch: Uint8Array,
): Promise<void> => {
  const pool = await ingestPool({ service }, { name, keys: [['ts']], order: 'desc' });
  const id = `syslog-${randomUUID()}`;
  let run: LoadRun | undefined;
  try {
    const { pools } = await service.workers.ingest({
      protocol: 'syslog',
      pool: name,
      body: once(batch),
      whole: async () => batch,
      target: async () => {
        run = service.runs.beginLoad({
          id,
          owner: undefined,
          poolId: pool.config.id,
          pool: pool.config.name,
          branch,
          bytesTotal: batch.length,
          whenLeft: () => undefined,
        });
        run.watch.took(batch.length);
        return { pool: pool.config, watch: run.watch };
      },
    });
    const reply = pools.get(name);
    if (!reply || 'error' in reply) throw reply?.error ?? new Error('no records of a batch');
    // Where people have roles, it has that of those who may write, and no more.
    const note = { author, ...(service.access && { terms: { by: 'writer' as const } }) };
    const { commit } = await reply.settled(run!.commit(() => pool.load(branch, reply.objects, note)));
    run!.committed(commit);
    service.audit?.({
      time: new Date().toISOString(),
      request: id,
      who: author,
      from: author,
      method: 'SYSLOG',
      path: `${host}:${port}`,
      status: 200,
      pool: `0x${pool.config.id}`,
      branch,
      commit: `0x${commit}`,
    });
  } catch (error) {
    run?.rejected(error);
    throw error;
  }
};

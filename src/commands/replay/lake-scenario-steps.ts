/** What the words of a scenario of a whole lake do (lake-scenario.ts tells of them). */
import type { PoolTask } from '../../../machines/pool.events.ts';
import { LakeError } from '../../errors.ts';
import { base62 } from '../../lake/ksuid.ts';
import type {
  IcebergMapping,
  IcebergMode,
  Id,
  Identity,
  PrepareRecords,
  RecordRule,
  SortOrder,
  TransactionChange,
} from '../../lake/lake.types.ts';
import { innerSteps, type LakeStep } from '../../recording/scenario.ts';
import type { LakeStepWord } from '../../recording/scenario-words.ts';
import type { LoadReply } from '../../workers/pool.types.ts';
import { snapshotRows, type Stage } from './lake-stage.ts';

/** What came of a step. `commit`: the one it made. `inner`: of the steps inside it. */
export interface StepFound {
  readonly error?: string;
  readonly commit?: Id;
  readonly rows?: string;
  readonly objects?: number;
  readonly inner?: readonly StepFound[];
}
type Run = (stage: Stage, step: LakeStep, inner: (step: LakeStep) => Promise<StepFound>) => Promise<StepFound>;

const text = (step: LakeStep, word: string): string => {
  const value = step[word];
  if (typeof value !== 'string')
    throw new LakeError('scenario-invalid', { file: 'scenario', fault: `${JSON.stringify(step)} needs "${word}"` });
  return value;
};
const objectsOf = (stage: Stage, names: unknown): readonly Id[] =>
  (names as readonly string[]).flatMap((name) => {
    const id = stage.commit(name);
    return stage.added.get(id) ?? [id];
  });

/** A value with ids in place of the texts that name a commit: `$a`. */
const withCommits = (stage: Stage, value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (_, part: unknown) =>
    typeof part === 'string' && part.startsWith('$') ? stage.commit(part.slice(1)) : part,
  );

/** Step by `records`: rows are compared where objects do not decide it. */
const byRecords = (stage: Stage, step: LakeStep): PrepareRecords | undefined => {
  const records = step['records'] as RecordRule | true | undefined;
  return records === undefined ? undefined : stage.workers.prepareRecords(records === true ? {} : records);
};

/** Loads that are under way at once. */
const clientsMax = 64;

/** By the first word of a step. */
export const steps: Readonly<Record<LakeStepWord, Run>> = {
  'create pool': async ({ lake }, step) => {
    const order = step['order'] as SortOrder | undefined;
    const keys = step['keys'] as readonly (readonly string[])[] | undefined;
    const threshold = step['threshold'] as number | undefined;
    const identity = step['identity'] as Identity | undefined;
    await lake.createPool({
      name: text(step, 'create pool'),
      ...(order && { order }),
      ...(keys && { keys }),
      ...(threshold !== undefined && { threshold }),
      ...(identity && { identity }),
    });
    return {};
  },
  'rename pool': async ({ lake }, step) => {
    await lake.renamePool(text(step, 'rename pool'), text(step, 'to'));
    return {};
  },
  'set pool': async ({ lake }, step) => {
    const iceberg = step['iceberg'] as IcebergMode | 'off' | undefined;
    const icebergMapping = step['iceberg mapping'] as IcebergMapping | undefined;
    const identity = step['identity'] as Identity | undefined;
    await lake.setPool(text(step, 'set pool'), {
      ...(iceberg && { iceberg }),
      ...(icebergMapping && { icebergMapping }),
      ...(identity && { identity }),
    });
    return {};
  },
  'delete pool': async ({ lake }, step) => {
    await lake.deletePool(text(step, 'delete pool'));
    return {};
  },
  load: (stage, step) =>
    load(
      stage,
      text(step, 'into'),
      padded(text(step, 'load'), step['pad'] as number | undefined),
      step['breaks'] === true,
    ),
  loads: async (stage, step) => {
    const count = step['loads'] as number;
    let next = 0;
    const client = async (): Promise<void> => {
      while (next < count) await load(stage, text(step, 'into'), `{ts:${next++}}`, false);
    };
    await Promise.all(Array.from({ length: clientsMax }, client));
    return {};
  },
  delete: async (stage, step) => {
    const { pool, branch } = stage.place(text(step, 'from'));
    return pool.deleteObjects(branch, objectsOf(stage, step['delete']));
  },
  'delete where': async (stage, step) => {
    const { pool, branch } = stage.place(text(step, 'from'));
    return pool.deleteWhere(branch, stage.workers.prepareDelete(text(step, 'delete where')));
  },
  update: async (stage, step) => {
    const { pool, branch } = stage.place(text(step, 'on'));
    const update = { where: text(step, 'update'), put: text(step, 'put') };
    return pool.update(branch, stage.workers.prepareUpdate(update));
  },
  upsert: async (stage, step) => {
    const { pool, branch } = stage.place(text(step, 'into'));
    const { identity = [] } = pool.config;
    const upsert = { identity, ...(step['gone'] !== undefined && { delete: text(step, 'gone') }) };
    const body = bodyOf(text(step, 'upsert'), false);
    const reply = await stage.workers.load({ pool: pool.config, format: 'sup', form: { upsert }, body });
    const keys = [...reply.objects, ...(reply.gone ?? [])];
    return reply.settled(pool.upsert(branch, reply.objects, stage.workers.prepareUpsert(keys, identity)));
  },
  compact: async (stage, step) => {
    const { pool, branch } = stage.place(text(step, 'on'));
    const ids = objectsOf(stage, step['compact']);
    return pool.compact(branch, ids, stage.workers.prepareCompact(ids));
  },
  mark: async (stage, step) => {
    const { pool, branch } = stage.place(text(step, 'on'));
    return pool.vectors(branch, 'add', objectsOf(stage, step['mark']));
  },
  unmark: async (stage, step) => {
    const { pool, branch } = stage.place(text(step, 'on'));
    return pool.vectors(branch, 'delete', objectsOf(stage, step['unmark']));
  },
  'create branch': async (stage, step) => {
    const { commit } = await stage.lake
      .pool(text(step, 'in'))
      .createBranch(text(step, 'create branch'), stage.commit(text(step, 'at')));
    return { commit };
  },
  'delete branch': async (stage, step) => {
    await stage.lake.pool(text(step, 'in')).deleteBranch(text(step, 'delete branch'));
    return {};
  },
  reset: async (stage, step) => {
    const { pool, branch } = stage.place(text(step, 'reset'));
    await pool.reset(branch, stage.commit(text(step, 'to')));
    return {};
  },
  protect: async (stage, step) => {
    const { pool, branch } = stage.place(text(step, 'protect'));
    const verbs = (step['from'] ?? []) as readonly string[];
    await pool.protect(branch, Object.fromEntries(verbs.map((verb) => [verb, 'nobody'])));
    return {};
  },
  'create tag': async (stage, step) => {
    const { commit } = await stage.lake
      .pool(text(step, 'in'))
      .createTag(text(step, 'create tag'), stage.commit(text(step, 'at')));
    return { commit };
  },
  'delete tag': async (stage, step) => {
    await stage.lake.pool(text(step, 'in')).deleteTag(text(step, 'delete tag'));
    return {};
  },
  merge: async (stage, step) => {
    const { pool, branch } = stage.place(text(step, 'into'));
    return pool.combine({ kind: 'merge', target: branch, child: text(step, 'merge') }, {}, byRecords(stage, step));
  },
  revert: async (stage, step) => {
    const { pool, branch } = stage.place(text(step, 'on'));
    const commit = stage.commit(text(step, 'revert'));
    return pool.combine({ kind: 'revert', branch, commit }, {}, byRecords(stage, step));
  },
  pick: async (stage, step) => {
    const { pool, branch } = stage.place(text(step, 'on'));
    const picked = pool.picked(`0x${stage.commit(text(step, 'pick'))}`);
    return pool.combine({ kind: 'pick', branch, ...picked }, {}, byRecords(stage, step));
  },
  transaction: async (stage, step) => {
    const changes: TransactionChange[] = [];
    const loads: LoadReply[] = [];
    for (const part of step['transaction'] as readonly LakeStep[]) changes.push(await changeOf(stage, part, loads));
    const made = stage.lake.transact(changes).then(({ transaction }) => ({ commit: transaction }));
    await Promise.allSettled(loads.map((reply) => reply.settled(made)));
    return made;
  },
  job: async (stage, step) => {
    const { pool, ...task } = withCommits(stage, step['job']) as PoolTask & { readonly pool: string };
    const { commit, objects } = await stage.lake.pool(pool).do(task);
    return { ...(commit !== undefined && { commit }), ...(objects && { objects: objects.length }) };
  },
  vacuum: async (stage, step) => {
    const at = text(step, 'vacuum');
    const dryRun = step['dry'] === true;
    const { pool, revision } =
      step['in'] === undefined
        ? { pool: stage.place(at).pool, revision: stage.place(at).branch }
        : { pool: stage.lake.pool(text(step, 'in')), revision: base62(stage.commit(at)) };
    return { objects: (await pool.vacuum(revision, { dryRun })).length };
  },
  query: async (stage, step) => ({
    rows: await stage.query(
      text(step, 'query').replaceAll(/\$(\w+)/g, (_, name: string) => base62(stage.commit(name))),
    ),
  }),
  open: async (stage, step) => {
    const pool = text(step, 'in');
    const snapshot = await stage.lake.openSnapshot(pool, base62(stage.commit(text(step, 'open'))));
    stage.snapshots.set(text(step, 'keep'), snapshot);
    return {};
  },
  read: async (stage, step) => ({
    rows: await snapshotRows(stage.snapshots.get(text(step, 'read'))!, stage.directory),
  }),
  release: async (stage, step) => {
    stage.snapshots.get(text(step, 'release'))!.release();
    stage.snapshots.delete(text(step, 'release'));
    return {};
  },
  together: async (_, step, inner) => ({ inner: await Promise.all(innerSteps(step)!.map(inner)) }),
  close: async (stage, step, inner) => {
    const begun = innerSteps(step)!.map(inner);
    const closed = stage.lake.close();
    const found = await Promise.all(begun);
    await closed;
    await stage.close();
    return { inner: found };
  },
  restart: async (stage) => {
    await stage.reopen();
    return {};
  },
  'start again': async (stage) => {
    await (await stage.openLake(stage.directory)).close();
    return {};
  },
};

/** One commit of a transaction, in the words of the step that makes it alone. */
const changeOf = async (stage: Stage, step: LakeStep, loads: LoadReply[]): Promise<TransactionChange> => {
  const { pool, branch } = stage.place(String(step['into'] ?? step['from'] ?? step['on']));
  const change = { pool: `0x${pool.config.id}`, branch, note: {} };
  if (step['merge'] !== undefined)
    return {
      ...change,
      what: 'merge',
      child: text(step, 'merge'),
      prepare: byRecords(stage, step) ?? stage.workers.prepareRecords({}),
    };
  if (step['delete where'] !== undefined) {
    const prepare = stage.workers.prepareDelete(text(step, 'delete where'));
    return { ...change, what: 'rewrite', cause: 'delete where', brings: [], prepare };
  }
  if (step['update'] !== undefined) {
    const prepare = stage.workers.prepareUpdate({ where: text(step, 'update'), put: text(step, 'put') });
    return { ...change, what: 'rewrite', cause: 'update', brings: [], prepare };
  }
  const body = bodyOf(padded(text(step, 'load'), step['pad'] as number | undefined), false);
  const reply = await stage.workers.load({ pool: pool.config, format: 'sup', body });
  loads.push(reply);
  return { ...change, what: 'load', objects: reply.objects };
};

const load = async (stage: Stage, place: string, body: string, breaks: boolean): Promise<StepFound> => {
  const { pool, branch } = stage.place(place);
  const reply = await stage.workers.load({ pool: pool.config, format: 'sup', body: bodyOf(body, breaks) });
  return reply.settled(pool.load(branch, reply.objects));
};
async function* bodyOf(text: string, breaks: boolean): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
  if (breaks) throw new Error('the connection was lost');
}

/**
 * Rows with noise that does not compress, so that their object gets a file of its own. The same text gives the same
 * noise.
 */
const padded = (rows: string, pad: number | undefined): string => {
  if (!pad) return rows;
  let state = 12345;
  const noise = Array.from({ length: pad }, () =>
    String.fromCharCode(97 + (((state = (Math.imul(state, 1103515245) + 12345) >>> 0) >>> 16) % 26)),
  ).join('');
  return rows.replaceAll('}', `,pad:"${noise}"}`);
};

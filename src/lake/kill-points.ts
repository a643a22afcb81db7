/**
 * Named places at which the process ends itself by SIGKILL, for tests of what a crash leaves: `LAKE_KILL_AT="NAME:N"`
 * picks the n-th time that NAME is reached. Without the variable a point is a call of an empty function.
 */
const killPointNames = [
  'transaction: asked',
  'transaction: in it',
  'transaction: durable',
  'tables: written',
  'object: created',
  'object: written',
  'object: synced',
  'object: durable',
  'object: going',
  'object: gone',
  'commit: branch moved',
  'turns: one granted',
  'turns: all granted',
  'turns: one let go',
  'settled: told',
  'branch: in the tables',
  'reset: in the tables',
  'tag: in the tables',
  'pool: in the tables',
  'view: in the tables',
  'vacuum: marked',
  'vacuum: file gone',
  'purge: files gone',
  'purge: rows gone',
  'purge: done',
  'start: locked',
  'start: file copied',
  'start: tables open',
  'start: orphans found',
  'start: orphan gone',
  'close: tables closed',
  'log: segment made',
  'log: segment begun',
  'log: half written',
  'log: written',
  'log: segment gone',
  'base: half written',
  'base: written',
  'base: named',
  'rebuild: made',
  'rebuild: old tables gone',
  'rebuild: named',
  'upgrade: base written',
  'upgrade: log begun',
  'repair: rebuilt',
  'repair: old log kept',
  'repair: swapped',
  'iceberg: columns added',
  'iceberg: file made',
  'iceberg: file named',
  'iceberg: merged file made',
  'iceberg: merged file named',
  'iceberg: metadata made',
  'iceberg: metadata named',
  'iceberg: rows gone',
  'iceberg: file gone',
  'store: fenced',
  'store: object put',
  'store: segment put',
  'store: base put',
] as const;
/** A place at which the process can be made to end. */
type KillPoint = (typeof killPointNames)[number];

const [wanted, times] = (/^(.*?)(?::(\d+))?$/.exec(process.env['LAKE_KILL_AT'] ?? '') ?? []).slice(1);
let left = Number(times ?? 1);
/**
 * How often each point was reached; counted when `LAKE_KILL_AT` is `count`. The process that the crash tests kill reads
 * it.
 */
export const killCounts = new Map<KillPoint, number>();

/** Whether any point is set. */
export const killing = Boolean(wanted);

const count = (name: KillPoint): void => {
  killCounts.set(name, (killCounts.get(name) ?? 0) + 1);
};
const kill = (name: KillPoint): void => {
  if (name !== wanted || --left > 0) return;
  process.kill(process.pid, 'SIGKILL');
  // The signal may take a moment to arrive; nothing must happen in it.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
};
/** Ends the process by SIGKILL where `LAKE_KILL_AT` names this point; usually an empty call. */
export const killPoint: (name: KillPoint) => void = !wanted ? () => undefined : wanted === 'count' ? count : kill;

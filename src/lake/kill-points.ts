/**
 * Named places at which the process ends itself by SIGKILL, for tests of what a crash leaves: `LAKE_KILL_AT="NAME:N"` picks the n-th time that NAME is reached.
 * Without the variable a point is a call of an empty function.
 */
export const killPointNames = [
  'transaction: asked', 'transaction: in it', 'transaction: durable',
  'object: created', 'object: written', 'object: synced', 'object: durable', 'object: going', 'object: gone',
  'commit: objects written', 'commit: branch moved', 'commit: told',
  'vacuum: marked', 'vacuum: file gone', 'purge: files gone', 'purge: rows gone', 'purge: done',
  'pool: in the tables', 'start: locked', 'start: tables open', 'start: orphans found', 'start: orphan gone', 'close: tables closed',
  'log: segment made', 'log: half written', 'log: written', 'log: synced', 'log: base half written', 'log: base written', 'log: old generation gone',
  'repair: rebuilt', 'repair: old tables kept', 'repair: old log kept', 'repair: swapped',
] as const;
export type KillPoint = (typeof killPointNames)[number];

const [wanted, times] = (/^(.*?)(?::(\d+))?$/.exec(process.env['LAKE_KILL_AT'] ?? '') ?? []).slice(1);
let left = Number(times ?? 1);

/** Whether any point is set. */
export const killing = Boolean(wanted);

export const killPoint: (name: KillPoint) => void = !wanted ? () => undefined : (name) => {
  if (name !== wanted || --left > 0) return;
  process.kill(process.pid, 'SIGKILL');
  // The signal may take a moment to arrive; nothing must happen in it.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
};

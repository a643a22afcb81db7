/**
 * Scripts for the victim: what it does step by step, by seed. Steps that the lake refuses are part of them: they are
 * refused in every run.
 */
import { type Random, randomOf } from '../support/random.ts';

export type Step = { readonly do: string } & Readonly<Record<string, string | number | boolean | readonly number[]>>;

export const scriptCount = 40;

/** Script number `n`, of `blocks` parts. */
export const scriptOf = (n: number, blocks = 7): readonly Step[] => {
  const random = randomOf(n + 1);
  const writer = new Writer(random);
  const names = Object.keys(parts) as (keyof typeof parts)[];
  writer.steps.push({ do: 'create pool', pool: 'p' });
  writer.load('main');
  // Each part begins some script; the rest follows by chance.
  parts[names[n % names.length]!](writer);
  for (let i = 1; i < blocks; i++) parts[random.pick(names)](writer);
  return writer.steps;
};

class Writer {
  readonly steps: Step[] = [];
  readonly random: Random;
  /** Keys of main, about. */
  readonly keys: number[] = [];
  private next = 1;
  private names = 0;

  constructor(random: Random) {
    this.random = random;
  }
  key(): number {
    return this.next++;
  }
  name(): string {
    return `n${this.names++}`;
  }
  load(branch: string, large = this.random.below(3) === 0): number {
    const key = this.key();
    this.steps.push({ do: 'load', pool: 'p', branch, key, large });
    if (branch === 'main') this.keys.push(key);
    return key;
  }
  /** Some keys of main, which go. */
  take(count: number): readonly number[] {
    while (this.keys.length < count) this.load('main');
    return Array.from({ length: count }, () => this.keys.splice(this.random.below(this.keys.length), 1)[0]!);
  }
}

const parts = {
  loads: (w) => {
    for (let i = 0; i < 3; i++) w.load('main');
  },
  group: (w) => {
    const keys = Array.from({ length: 2 + w.random.below(7) }, () => w.key());
    w.steps.push({ do: 'group', pool: 'p', branch: 'main', keys });
    w.keys.push(...keys);
  },
  delete: (w) => {
    w.steps.push({ do: 'delete', pool: 'p', branch: 'main', keys: w.take(1 + w.random.below(2)) });
  },
  merge: (w) => {
    const name = w.name();
    const [gone] = w.take(1);
    w.steps.push({ do: 'create branch', pool: 'p', branch: 'main', name });
    const key = w.load(name);
    w.steps.push({ do: 'delete', pool: 'p', branch: name, keys: [gone!] });
    if (w.random.below(2) === 0) w.load('main');
    w.steps.push({ do: 'merge', pool: 'p', target: 'main', child: name });
    w.keys.push(key);
    if (w.random.below(2) === 0) w.steps.push({ do: 'delete branch', pool: 'p', name });
  },
  revert: (w) => {
    w.load('main');
    w.keys.pop();
    w.steps.push({ do: 'revert', pool: 'p', branch: 'main', step: w.steps.length - 1 });
  },
  // Both sides wrote an object anew: its records tell.
  'merge by records': (w) => {
    const name = w.name();
    const [shared] = w.take(1);
    const [theirs, ours, both] = [w.key(), w.key(), w.key()];
    w.steps.push(
      { do: 'create branch', pool: 'p', branch: 'main', name },
      { do: 'update', pool: 'p', branch: name, keys: [shared!], to: theirs },
      { do: 'update', pool: 'p', branch: 'main', keys: [shared!], to: ours },
      { do: 'merge by records', pool: 'p', branch: 'main', child: name, keys: [ours], to: both },
    );
    w.keys.push(both);
  },
  'revert by records': (w) => {
    const key = w.load('main');
    const step = w.steps.length - 1;
    w.keys.splice(w.keys.indexOf(key), 1);
    const [anew, left] = [w.key(), w.key()];
    w.steps.push(
      { do: 'update', pool: 'p', branch: 'main', keys: [key], to: anew },
      { do: 'revert by records', pool: 'p', branch: 'main', step, keys: [anew], to: left },
    );
    w.keys.push(left);
  },
  pick: (w) => {
    const name = w.name();
    w.steps.push({ do: 'create branch', pool: 'p', branch: 'main', name });
    w.load(name);
    const key = w.load(name);
    const step = w.steps.length - 1;
    w.steps.push({ do: 'pick', pool: 'p', branch: 'main', step });
    w.keys.push(key);
    // Again there is nothing to do.
    if (w.random.below(3) === 0) w.steps.push({ do: 'pick', pool: 'p', branch: 'main', step });
  },
  'pick by records': (w) => {
    const name = w.name();
    const [shared] = w.take(1);
    const [theirs, ours, both] = [w.key(), w.key(), w.key()];
    w.steps.push(
      { do: 'create branch', pool: 'p', branch: 'main', name },
      { do: 'update', pool: 'p', branch: name, keys: [shared!], to: theirs },
    );
    const step = w.steps.length - 1;
    w.steps.push(
      { do: 'update', pool: 'p', branch: 'main', keys: [shared!], to: ours },
      { do: 'pick by records', pool: 'p', branch: 'main', step, keys: [ours], to: both },
    );
    w.keys.push(both);
  },
  protection: (w) => {
    const name = w.name();
    w.steps.push({ do: 'create branch', pool: 'p', branch: 'main', name });
    for (let i = 0; i < 2; i++)
      w.steps.push({ do: 'protect', pool: 'p', branch: name, who: w.random.pick(['admin', 'nobody']) });
    if (w.random.below(2) === 0) w.steps.push({ do: 'protect', pool: 'p', branch: name, who: '' });
  },
  compaction: (w) => {
    const keys = w.take(2);
    const to = w.key();
    w.steps.push({ do: 'compact', pool: 'p', branch: 'main', keys, to, large: w.random.below(2) === 0 });
    w.keys.push(to);
  },
  'delete where': (w) => {
    const keys = w.take(1);
    const to = w.key();
    w.steps.push({ do: 'delete where', pool: 'p', branch: 'main', keys, to });
    w.keys.push(to);
  },
  update: (w) => {
    const keys = w.take(1);
    const to = w.key();
    w.steps.push({ do: 'update', pool: 'p', branch: 'main', keys, to });
    w.keys.push(to);
  },
  upsert: (w) => {
    const keys = w.take(1);
    const to = w.key();
    w.steps.push({ do: 'upsert', pool: 'p', branch: 'main', keys, to });
    w.keys.push(to);
  },
  vacuum: (w) => {
    w.load('main', true);
    w.steps.push(
      { do: 'delete', pool: 'p', branch: 'main', keys: [w.keys.pop()!] },
      { do: 'vacuum', pool: 'p', branch: 'main' },
    );
  },
  tags: (w) => {
    const name = w.name();
    const key = w.load('main', true);
    w.steps.push({ do: 'create tag', pool: 'p', branch: 'main', name });
    w.keys.splice(w.keys.indexOf(key), 1);
    w.steps.push({ do: 'delete', pool: 'p', branch: 'main', keys: [key] }, { do: 'vacuum', pool: 'p', branch: 'main' });
    // The name is taken, for branches too.
    if (w.random.below(3) === 0) w.steps.push({ do: 'create branch', pool: 'p', branch: 'main', name });
    if (w.random.below(2) === 0) w.steps.push({ do: 'merge', pool: 'p', target: 'main', child: name });
    if (w.random.below(3) > 0)
      w.steps.push({ do: 'delete tag', pool: 'p', name }, { do: 'vacuum', pool: 'p', branch: 'main' });
  },
  reset: (w) => {
    const at = w.steps.length - 1;
    const keys = [...w.keys];
    w.steps.push({ do: 'create tag', pool: 'p', branch: 'main', name: `r${at}` });
    w.load('main', true);
    w.steps.push({ do: 'reset', pool: 'p', branch: 'main', tag: `r${at}` });
    w.keys.splice(0, w.keys.length, ...keys);
    // Where it is already; then on a condition that does not hold.
    if (w.random.below(2) === 0) w.steps.push({ do: 'reset', pool: 'p', branch: 'main', tag: `r${at}` });
    if (w.random.below(2) === 0) w.steps.push({ do: 'reset', pool: 'p', branch: 'main', tag: `r${at}`, astray: true });
    w.load('main');
  },
  sweep: (w) => {
    w.steps.push({ do: 'orphan', key: w.key() }, { do: 'restart' });
  },
  pools: (w) => {
    const name = w.name();
    const to = w.name();
    w.steps.push(
      { do: 'create pool', pool: name },
      { do: 'load', pool: name, branch: 'main', key: w.key(), large: true },
      { do: 'load', pool: name, branch: 'main', key: w.key(), large: false },
    );
    w.steps.push({ do: 'rename pool', pool: name, to });
    if (w.random.below(3) > 0) w.steps.push({ do: 'delete pool', pool: to });
  },
  views: (w) => {
    const name = w.name();
    w.steps.push({ do: 'create view', name, key: w.key() });
    if (w.random.below(3) > 0) w.steps.push({ do: 'replace view', name, key: w.key() });
    // The name is taken, for pools too.
    if (w.random.below(3) === 0) w.steps.push({ do: 'create view', name, key: w.key() });
    if (w.random.below(3) === 0) w.steps.push({ do: 'create pool', pool: name });
    const last = w.random.below(4);
    if (last < 2) w.steps.push({ do: 'drop view', name }, { do: 'create pool', pool: name });
    if (last === 2) w.steps.push({ do: 'rename view', name, to: w.name() }, { do: 'create pool', pool: name });
  },
  transaction: (w) => {
    const other = w.name();
    w.steps.push({ do: 'create pool', pool: other });
    for (let i = 0; i < 2; i++) {
      const keys = w.take(1);
      const [to] = [w.key(), w.key()];
      w.steps.push({ do: 'transaction', pool: 'p', other, keys, to, large: w.random.below(2) === 0 });
      w.keys.push(to);
      if (w.random.below(2) === 0) w.load('main');
    }
    // To a pool that is gone: nothing of it comes.
    w.steps.push({ do: 'delete pool', pool: other });
    w.steps.push({ do: 'transaction', pool: 'p', other, keys: [], to: w.key(), large: true });
    w.key();
  },
} satisfies Record<string, (w: Writer) => void>;

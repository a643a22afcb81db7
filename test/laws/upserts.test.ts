/**
 * Laws of upserts and merges where the identity is the pool's key and there are thousands of rows, so that rows are
 * found by halving and runs of them are copied whole: beside a map from keys to what was written last. Half of the
 * histories write keys as what may be null now and then, as columns of Parquet are: the same keys.
 * `HISTORIES=300` runs many, the seed is told.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Random, randomOf, seedOf } from '../support/random.ts';
import { startService, type TestService } from '../support/service/server.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService(['-workers', '1']);
});
afterAll(async () => {
  await service.close();
});

const keyKinds = {
  int: (random: Random): string => String(random.below(6000)),
  float: (random: Random): string => random.pick([`${random.below(6000)}.`, `${random.below(6000)}.5`, 'NaN']),
  time: (random: Random): string => new Date(random.below(6000) * 1000).toISOString().replace('.000', ''),
  text: (random: Random): string => `"k${random.below(6000)}"`,
  // Keys are told apart by type and value: 1 and 1., 0. and -0.; NaN is one.
  mixed: (random: Random): string =>
    random.pick([
      `${random.below(3000)}`,
      `${random.below(3000)}.`,
      `"k${random.below(3000)}"`,
      `${random.below(9)}h`,
      String(2 ** 53 + random.below(3)),
      ...['NaN', '-0.', '0.', '+Inf'],
    ]),
} as const;
type KeyKind = keyof typeof keyKinds;
const typeOfKey = (key: string): string => {
  if (key.startsWith('"')) return 'string';
  if (key.endsWith('Z')) return 'time';
  if (key.endsWith('h')) return 'duration';
  return /[.NI]/.test(key) ? 'float64' : 'int64';
};

/** What a branch has: by the text of a key, the number that was written last. */
type Model = Map<string, number>;

class History {
  private readonly random: Random;
  private readonly pool: string;
  private readonly kind: KeyKind;
  private readonly hasNullable: boolean;
  private written = 0;

  constructor(random: Random, pool: string) {
    this.random = random;
    this.pool = pool;
    this.kind = random.pick(Object.keys(keyKinds) as KeyKind[]);
    this.hasNullable = random.below(2) === 0;
  }

  async begin(): Promise<Model> {
    const order = this.random.pick(['asc', 'desc']);
    const thresh = this.random.pick([20_000, 200_000, 500_000_000]);
    await this.post(
      '/pool',
      `{name:"${this.pool}",layout:{order:"${order}",keys:[["id"]]},identity:[["id"]],thresh:${thresh}}`,
    );
    const model: Model = new Map();
    await this.upsert('main', model, this.random.pick([2500, 5000]));
    return model;
  }
  private async post(path: string, body: string): Promise<string> {
    const answer = await service.ask('POST', path, { body });
    expect([path, answer.status, answer.status === 200 ? '' : answer.body]).toEqual([path, 200, '']);
    return answer.body;
  }
  private branch(name: string): string {
    return `/pool/${this.pool}/branch/${name}`;
  }
  private keys(count: number): readonly string[] {
    return [...new Set(Array.from({ length: count }, () => keyKinds[this.kind](this.random)))];
  }

  /** A key as it is written. */
  private form(key: string): string {
    return this.hasNullable && this.random.below(2) === 0 ? `${key}::(${typeOfKey(key)}|null)` : key;
  }
  private async upsert(branch: string, model: Model, count: number): Promise<void> {
    let body = '';
    for (const id of this.keys(count)) {
      const v = ++this.written;
      body += `{id:${this.form(id)},v:${v},s:"text ${v % 50}"}\n`;
      model.set(id, v);
    }
    await this.post(`${this.branch(branch)}?upsert=T`, body);
  }
  /** By the keys, by an upsert whose records say that they are gone. */
  private async remove(branch: string, model: Model): Promise<void> {
    const known = [...model.keys()];
    const gone = [...new Set(Array.from({ length: 1 + this.random.below(5) }, () => this.random.pick(known)))];
    await this.post(
      `${this.branch(branch)}?upsert=T&delete=gone`,
      gone.map((id) => `{id:${this.form(id)},gone:true}\n`).join(''),
    );
    for (const id of gone) model.delete(id);
  }
  private async change(branch: string, model: Model): Promise<void> {
    for (let left = this.random.below(3); left > 0; left--)
      if (this.random.below(4) === 0) await this.remove(branch, model);
      else await this.upsert(branch, model, this.random.pick([1, 2, 2, 3, 10, 200]));
    await this.check(branch, model);
  }
  private async check(branch: string, model: Model): Promise<void> {
    const { body } = await service.ask('POST', '/query', {
      body: `{query:"from '${this.pool}'@${branch} | values v"}`,
      headers: { accept: 'application/x-ndjson' },
    });
    const rising = (values: Iterable<number>): readonly number[] => [...values].sort((a, b) => a - b);
    const found = rising(body.split('\n').filter(Boolean).map(Number));
    const wanted = rising(model.values());
    const [has, wants] = [new Set(found), new Set(wanted)];
    const differ = {
      extra: found.filter((v, i) => !wants.has(v) || found[i - 1] === v),
      missing: wanted.filter((v) => !has.has(v)),
    };
    expect({ kind: this.kind, branch, ...differ }).toEqual({ kind: this.kind, branch, extra: [], missing: [] });
  }

  /** A branch and its origin change, and come together; gives what there is then. */
  async round(main: Model, branch: string): Promise<Model> {
    const base = new Map(main);
    const other = new Map(main);
    const { body } = await service.ask('GET', this.branch('main'), { headers: { accept: 'application/json' } });
    await this.post(
      `/pool/${this.pool}`,
      `{name:"${branch}",commit:"${(JSON.parse(body) as { commit: string }).commit}"}`,
    );
    await this.change('main', main);
    await this.change(branch, other);
    const side = this.random.pick(['ours', 'theirs']);
    const { status, body: said } = await service.ask('POST', `${this.branch('main')}/merge/${branch}?resolve=${side}`);
    if (status !== 200) {
      expect([status, said]).toEqual([409, expect.stringContaining('empty')]);
      return main;
    }
    const merged: Model = new Map();
    for (const id of new Set([...base.keys(), ...main.keys(), ...other.keys()])) {
      const [before, ours, theirs] = [base.get(id), main.get(id), other.get(id)];
      const taken = ours === before || (theirs !== before && side === 'theirs') ? theirs : ours;
      if (taken !== undefined) merged.set(id, taken);
    }
    await this.check('main', merged);
    return merged;
  }
}

const seed = seedOf(2911);
const histories = Number(process.env['HISTORIES'] ?? 8);
test(`upserts and merges of few keys among many leave one record a key (seed ${seed})`, {
  timeout: 180_000 + 5000 * histories,
}, async () => {
  for (let i = 0; i < histories; i++) {
    const history = new History(randomOf(seed + i), `u${i}`);
    let main = await history.begin();
    for (const branch of ['a', 'b', 'c']) main = await history.round(main, branch);
    await service.ask('DELETE', `/pool/u${i}`);
  }
});

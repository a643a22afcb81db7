/**
 * Part `proxied`: between a lake and its bucket the n-th request fails, in each way in which requests fail
 * (support/store/fault-proxy.ts), n = 1, 2, .. until the script ends without reaching n; once alone, and once it and all
 * behind it. One that fails alone is tried again, and the script goes on as without it. If the store stays away, what
 * was acknowledged is there, whole and once, what was not is whole or not there, the service says why it stops; and
 * never a commit names an object that is not there: whoever begins from the bucket alone reads each.
 *
 * A seed is a script and one of `slices` shares of the places in it: seeds below `scripts * slices` are all places of
 * all scripts, each in one of the ways, which take turns; the next as many seeds are all places in the next way, and so
 * on.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type BucketServer, startBucketServer } from '../../support/store/bucket-server.ts';
import { type Fault, type FaultProxy, startFaultProxy } from '../../support/store/fault-proxy.ts';
import type { PartRun } from '../part.ts';
import { canonical, faultOfState, type LakeState, type Told, victim } from '../run-victim.ts';
import { scriptOf, type Step } from '../scripts.ts';

export const scripts = 20;
export const slices = 80;
const blocks = 2;
/** A listing is also answered as it was before: the n-th of them, in each round. */
const ways = ['500', '503', 'reset', 'stall', 'cut', 'lost'] as const satisfies readonly Fault[];
/** Services side by side. */
const benches = 3;
/** Nothing comes of a request for so long; so long it is tried again; then so long is waited for the store. */
const limits = { idleMsMax: 1000, retryMsMax: 20_000, awayMs: 100 };
/** Where the store stays away all that fails is the same: it need not be tried for long. */
const limitsAway = { idleMsMax: 150, retryMsMax: 40, awayMs: 100 };
/** What a lake that was ended leaves in its process is not to add up. */
const runsMax = 100;
const hungMs = 180_000;

/** Of a request that fails: its number, how, and whether those behind it do too. */
interface Place {
  readonly n: number;
  readonly way: (typeof ways)[number] | 'old';
  readonly stays: boolean;
}
interface Known {
  readonly script: readonly Step[];
  readonly states: readonly LakeState[];
  /** What it asks without faults. */
  readonly requests: number;
  readonly listings: number;
}

export const proxied: PartRun = async ({ folder, seeds, count, failed }) => {
  const all = seeds[Symbol.iterator]();
  const known = new Map<number, Known>();
  const at = async (bench: Bench, seed: number, script: Known, place: Place): Promise<void> => {
    const { n, way, stays } = place;
    const fault = await bench.broken(script, place);
    // A base that is made in time, or not, moves those behind it.
    if (fault === 'not reached') return count(fault);
    count(stays ? 'requests from which on all fail' : 'requests that fail once');
    if (fault !== undefined) failed(seed, `request ${n}: ${way}${stays ? ' from there on' : ''}: ${fault}`);
  };
  const workAt = async (bench: Bench): Promise<void> => {
    // Each takes the next seed when it has done one.
    for (let next = all.next(); !next.done; next = all.next()) {
      const seed = next.value;
      const number = seed % scripts;
      const slice = Math.floor(seed / scripts) % slices;
      const round = Math.floor(seed / (scripts * slices));
      try {
        const script = await (known.get(number) ?? bench.reference(withMoves(scriptOf(number, blocks))));
        known.set(number, script);
        const first = 1 + ((slice + number) % slices);
        for (const stays of [false, true]) {
          for (let n = first; n <= script.requests; n += slices)
            await at(bench, seed, script, { n, way: ways[(n + round) % ways.length]!, stays });
          for (let n = first; n <= script.listings; n += slices)
            await at(bench, seed, script, { n, way: 'old', stays });
        }
      } catch (fault) {
        failed(seed, fault instanceof Error ? fault.message : String(fault));
      }
    }
  };
  // What waits for a store that is away leaves the processor to others.
  await Promise.all(
    Array.from({ length: benches }, async (_, i) => {
      const bench = new Bench(join(folder, String(i)));
      await bench.start();
      await workAt(bench);
      await bench.end();
    }),
  );
};

/** It goes on from the bucket alone in the middle and at the end, and reads what it has. */
const withMoves = (script: readonly Step[]): readonly Step[] => {
  const middle = script.length >> 1;
  // Reverts name steps by number.
  const safe = script.findIndex(({ do: what }, i) => i >= middle && what === 'revert') < 0 ? middle : script.length;
  return [...script.slice(0, safe), { do: 'move' }, ...script.slice(safe), { do: 'move' }, { do: 'read' }];
};

/** A store, a proxy before it and a victim, which does one script after the other. */
class Bench {
  private readonly folder: string;
  private server!: BucketServer;
  private proxy!: FaultProxy;
  private child: ChildProcess | undefined;
  private hear: (line: string) => void = () => undefined;
  private complaint = '';
  private runs = 0;
  /** What the run before has under way may come later: each bucket has a place of its own. */
  private prefix = '';

  constructor(folder: string) {
    this.folder = folder;
  }
  async start(): Promise<void> {
    this.server = await startBucketServer();
    this.proxy = await startFaultProxy(this.server.endpoint);
  }
  async end(): Promise<void> {
    await this.endChild();
    await this.proxy.close();
    await this.server.close();
  }
  private async endChild(): Promise<void> {
    const { child } = this;
    this.child = undefined;
    if (!child || child.exitCode !== null) return;
    await new Promise((resolve) => child.once('close', resolve).kill('SIGKILL'));
  }
  private started(): ChildProcess {
    const child = spawn(process.execPath, [victim, 'serve'], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    createInterface({ input: child.stdout }).on('line', (line) => this.hear(line));
    child.stderr.on('data', (chunk: Buffer) => {
      this.complaint = (this.complaint + chunk.toString()).slice(-2000);
    });
    return child;
  }

  /** Does a script in that folder, with the bucket as it is. */
  private async run(
    directory: string,
    script: readonly Step[],
    { endpoint, mode = '' }: { readonly endpoint: string; readonly mode?: string },
    times: typeof limits,
  ): Promise<Told> {
    if (++this.runs % runsMax === 0) await this.endChild();
    this.child ??= this.started();
    const { child } = this;
    const lines: string[] = [];
    this.complaint = '';
    const status = await new Promise<number | string>((resolve) => {
      const ended = (code: number | null, signal: string | null): void => {
        clearTimeout(timer);
        this.child = undefined;
        resolve(code ?? signal ?? '');
      };
      const timer = setTimeout(() => {
        this.complaint += ' it hung';
        child.kill('SIGKILL');
      }, hungMs);
      this.hear = (line) => {
        if (!line.startsWith('end ')) return void lines.push(line);
        clearTimeout(timer);
        child.off('close', ended);
        this.complaint += line.slice(6);
        resolve(Number(line.slice(4, 5)));
      };
      child.once('close', ended);
      const { awayMs, ...tries } = times;
      const address = {
        bucket: 'lakes',
        prefix: this.prefix,
        endpoint,
        region: 'us-east-1',
        style: 'path',
        environment: { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' },
        partBytes: 30_000,
        ...tries,
      };
      child.stdin!.write(`${JSON.stringify({ directory, script, mode, store: { address, awayMs } })}\n`);
    });
    return { status, lines, complaint: this.complaint };
  }

  private emptied(): void {
    this.server.objects.clear();
    this.server.requests.length = 0;
    this.prefix = `run-${this.runs}/`;
  }
  async reference(script: readonly Step[]): Promise<Known> {
    this.emptied();
    const { endpoint } = this.server;
    const told = await this.inFolder((lake) => this.run(lake, script, { endpoint, mode: 'states' }, limits));
    const requests = this.server.requests.length;
    const listings = this.server.requests.filter((each) => each.includes('list-type=')).length;
    const said = told.lines.find((line) => /^(stopped|wrong|fault) /.test(line));
    if (told.status !== 0 || said !== undefined)
      throw new Error(`a run without faults ended with ${told.status}: ${said ?? ''} ${told.complaint}`);
    return { script, states: statesOf(told.lines), requests, listings };
  }
  private async inFolder<T>(act: (lake: string) => Promise<T>): Promise<T> {
    const lake = join(this.folder, `lake-${this.runs}`);
    try {
      return await act(lake);
    } finally {
      rmSync(lake, { recursive: true, force: true });
    }
  }

  /** What was wrong when that request failed, if anything. */
  async broken(known: Known, { n, way, stays }: Place): Promise<string | undefined> {
    const { proxy } = this;
    const { script } = known;
    this.emptied();
    proxy.forget();
    let seen = 0;
    let isReached = false;
    proxy.faultOf = (_, path) => {
      if (way === 'old' && !path.includes('list-type=')) return undefined;
      seen++;
      if (stays ? seen < n : seen !== n) return undefined;
      isReached = true;
      return way;
    };
    const { endpoint } = proxy;
    const away = stays && way !== 'old';
    const told = await this.inFolder((lake) => this.run(lake, script, { endpoint }, away ? limitsAway : limits));
    proxy.faultOf = () => undefined;
    if (!isReached) return 'not reached';
    const stopped = told.lines.find((line) => line.startsWith('stopped '));
    const wrong = told.lines.find((line) => line.startsWith('wrong '));
    if (wrong !== undefined) return wrong;
    if (away) {
      const said = stopped ?? told.complaint;
      if (stopped === undefined && told.status !== 0 && !/^\s*store-\w+ |the service is closing/.test(said))
        return `it ended with ${told.status}: ${said}`;
    } else if (told.status !== 0 || stopped !== undefined)
      return `it stopped: ${stopped ?? `${told.status} ${told.complaint}`}`;
    return this.faultOfBucket(told, known);
  }
  /** Whoever begins from the bucket alone has what was acknowledged, and reads all of it. */
  private async faultOfBucket(told: Told, { script, states }: Known): Promise<string | undefined> {
    const { endpoint } = this.server;
    const read = await this.inFolder((lake) => this.run(lake, [{ do: 'read' }], { endpoint, mode: 'states' }, limits));
    const fault = read.lines.find((line) => /^(wrong|refused|stopped|fault) /.test(line));
    if (read.status !== 0 || fault !== undefined) return `from the bucket: ${fault ?? read.complaint}`;
    const [found] = statesOf(read.lines);
    if (!told.lines.some((line) => line.startsWith('stopped ')) && told.status === 0)
      return canonical(found!) === canonical(states.at(-1)!)
        ? undefined
        : `the bucket has ${canonical(found!)} in place of ${canonical(states.at(-1)!)}`;
    return faultOfState(found!, told.lines, script, states);
  }
}

const statesOf = (lines: readonly string[]): readonly LakeState[] =>
  lines.flatMap((line) => {
    const found = /^state (\d+) (.*)$/.exec(line);
    return found ? [JSON.parse(found[2]!) as LakeState] : [];
  });

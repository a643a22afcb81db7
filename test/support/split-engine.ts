/**
 * A host that splits plans although it has one thread: two workers take tiny shares in turn, and their answers travel
 * as they would between threads.
 */
import { pack, unpack } from '../../src/exec/carry.ts';
import { partWorker, secondHalfOf } from '../../src/exec/compile.ts';
import type { Division, HalfAnswer, HalfPlan, PartAnswer, PartPlan } from '../../src/exec/source.ts';
import { LakeError } from '../../src/errors.ts';
import type { ExecutionContext } from '../../src/exec/context.ts';
import type { ExecutionHost, ScanRequest } from '../../src/exec/source.ts';
import type { Scan } from '../../src/query/plan/plan.ts';
import { type Vector, slice } from '../../src/vectors/vector.ts';

/** Rows of a share. */
const shareRows = 2;

const arrived = (answer: PartAnswer): PartAnswer => {
  const { content, buffers } = pack(answer);
  return unpack(structuredClone(content, { transfer: [...buffers] })) as PartAnswer;
};

const sent = <T>(value: T): T => {
  const { content, buffers } = pack(value);
  return unpack(structuredClone(content, { transfer: [...buffers] })) as T;
};

/** `usual` with half of the groups made by another run, from the second batch on, as another thread would. */
export const halving = (usual: ExecutionHost, batchRows: number, memoryBytesMax = 1 << 30): ExecutionHost => {
  // Standard input can be read once.
  const read = new Map<unknown, Vector[]>();
  const scan: ExecutionHost['scan'] = async function* scan(source, request) {
    let rows = read.get(source.handle);
    if (!rows) {
      read.set(source.handle, (rows = []));
      for await (const batch of usual.scan(source, request)) rows.push(batch);
    }
    yield* rows;
  };
  return {
    ...usual,
    groupHelper: (part) => {
      let plan: HalfPlan | undefined;
      return {
        isAsking: false,
        isRefused: false,
        heldBytes: 0,
        get helpsBy() {
          return plan?.key;
        },
        consider: (key) => {
          plan ??= sent({ ...part, key });
        },
        answer: () => otherHalf({ ...usual, scan }, plan!, { batchRows, memoryBytesMax }),
        leave: () => undefined,
      };
    },
    scan,
  };
};
const otherHalf = async (
  usual: ExecutionHost,
  plan: HalfPlan,
  limits: Pick<ExecutionContext, 'batchRows' | 'memoryBytesMax'>,
): Promise<HalfAnswer | undefined> => {
  const { signal } = new AbortController();
  const { spill: _, ...host } = usual;
  const source = (plan.ops[0] as Scan).sources[0]!;
  try {
    const scan = (request: ScanRequest): AsyncIterable<Vector> => host.scan(source, request);
    return sent(await secondHalfOf(plan, scan, { host, signal, names: new Map(), ...limits }));
  } catch (error) {
    if (error instanceof LakeError && error.code === 'query-memory') return undefined;
    throw error;
  }
};

/** `usual` with its scans split. */
export const splitting = (usual: ExecutionHost, batchRows: number): ExecutionHost => ({
  ...usual,
  divide: (part) => divide(usual, part, batchRows),
});

const divide = async (usual: ExecutionHost, part: PartPlan, batchRows: number): Promise<Division> => {
  const scan = part.ops[0] as Scan;
  const shares: Vector[] = [];
  const { signal } = new AbortController();
  for await (const rows of usual.scan(scan.sources[0]!, { ordered: scan.ordered, signal })) {
    for (let at = 0; at < rows.length; at += shareRows)
      shares.push(slice(rows, at, Math.min(rows.length, at + shareRows)));
  }
  const share = async function* share(...rows: readonly (Vector | undefined)[]): AsyncGenerator<Vector> {
    for (const r of rows) if (r) yield r;
  };
  const context: ExecutionContext = {
    host: { ...usual, divide: undefined },
    signal,
    batchRows,
    memoryBytesMax: 1 << 30,
    names: new Map(),
  };
  const helper = partWorker(unpack(structuredClone(pack(part).content)) as PartPlan, context, 1).work;
  let passed = 0;
  return {
    thread: 0,
    // The helper is one share ahead, so answers come out of order.
    answers: async function* answers(own, heard) {
      const ready = new Map<number, PartAnswer>();
      for (let k = 0; k < shares.length; k++) {
        for (const j of [k + 1 - (k % 2), k - (k % 2)]) {
          if (ready.has(j) || j < k || j >= shares.length) continue;
          const answer =
            j % 2 === 1 ? arrived(await helper(() => share(shares[j]))) : await own(() => share(shares[j]));
          heard(answer);
          ready.set(j, answer);
        }
        passed = k + 1;
        yield ready.get(k)!;
      }
    },
    rest: () => share(...shares.slice(passed)),
  };
};

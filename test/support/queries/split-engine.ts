/**
 * A host that splits plans although it has one thread: two workers take tiny shares in turn, and their answers travel
 * as they would between threads.
 */
import { pack, unpack } from '../../../src/exec/carry.ts';
import { partWorker } from '../../../src/exec/compile.ts';
import type { Division, PartAnswer, PartPlan } from '../../../src/exec/source.ts';
import type { ExecutionContext } from '../../../src/exec/context.ts';
import type { ExecutionHost } from '../../../src/exec/source.ts';
import type { Scan } from '../../../src/query/plan/plan.ts';
import { type Vector, slice } from '../../../src/vectors/vector.ts';

/** Rows of a share. */
const shareRows = 2;

const arrived = (answer: PartAnswer): PartAnswer => {
  const { content, buffers } = pack(answer);
  return unpack(structuredClone(content, { transfer: [...buffers] })) as PartAnswer;
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

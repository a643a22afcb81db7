/**
 * Runs plans on vectors at hand: the real engine, a host that serves sources from memory. Batches and vectors can be
 * forced into odd sizes and forms.
 */
import { execute } from '../../../src/exec/compile.ts';
import type { ChannelBatch, ExecutionHost, SpillRun } from '../../../src/exec/source.ts';
import type { SpillBytes } from '../../../src/exec/spill-bytes.ts';
import type { ExecutionContext } from '../../../src/exec/context.ts';
import type { Pipeline, Plan, PlanOp, ResolvedSource } from '../../../src/query/plan/plan.ts';
import { supText } from '../../../src/vectors/sup/print.ts';
import { parseSupValues } from '../../../src/vectors/sup/parse.ts';
import { type Vector, slice, valueAt } from '../../../src/vectors/vector.ts';
import { concat } from '../../../src/vectors/concat.ts';
import { vectorOf } from '../../../src/vectors/builder.ts';
import { type ForcedForm, forced } from './forced-forms.ts';

export interface RunPlanOptions {
  readonly batchRows?: number;
  /** Of the vectors that the sources give and of those between operators. */
  readonly forceForm?: ForcedForm;
  readonly memoryBytesMax?: number;
  /** Spilled batches are kept in memory. */
  readonly spill?: boolean;
  readonly signal?: AbortSignal;
  readonly host?: Partial<ExecutionHost>;
}

/** The source whose rows are the input of that name. */
export const inputSource = (name: string): ResolvedSource => ({ kind: 'file', name, handle: name });
/** A plan of these ops over the input `input`. */
export const planOf = (ops: readonly PlanOp[], functions: Plan['functions'] = []): Plan => ({
  pipeline: { ops: [scanOf('input'), ...ops] },
  functions,
});
export const scanOf = (name: string): PlanOp => ({ kind: 'scan', sources: [inputSource(name)], ordered: true });
export const pipelineOf = (...ops: readonly PlanOp[]): Pipeline => ({ ops });

/** Batches that the plan gives, by its inputs. */
export const runPlan = async (
  plan: Plan,
  inputs: Readonly<Record<string, Vector>>,
  options: RunPlanOptions = {},
): Promise<ChannelBatch[]> => {
  const out: ChannelBatch[] = [];
  for await (const batch of execute(plan, contextOf(inputs, options))) out.push(batch);
  return out;
};
/** The rows of the main channel as SUP, one a line. */
export const runSup = async (
  plan: Plan,
  inputs: Readonly<Record<string, string>>,
  options: RunPlanOptions = {},
): Promise<string> => {
  const vectors = Object.fromEntries(
    Object.entries(inputs).map(([name, text]) => [name, vectorOf(parseSupValues(text))]),
  );
  return supOf((await runPlan(plan, vectors, options)).filter((b) => b.channel === 'main').map((b) => b.batch));
};
export const supOf = (batches: readonly Vector[]): string => {
  let text = '';
  for (const b of batches) for (let i = 0; i < b.length; i++) text += `${supText(valueAt(b, i))}\n`;
  return text;
};

export const contextOf = (inputs: Readonly<Record<string, Vector>>, options: RunPlanOptions = {}): ExecutionContext => {
  const { batchRows = 4096, forceForm, memoryBytesMax = 1 << 30, signal = new AbortController().signal } = options;
  async function* serve(name: string): AsyncGenerator<Vector> {
    const all = inputs[name];
    if (!all) throw new Error(`no input ${name}`);
    for (let at = 0; at < all.length; at += batchRows) yield slice(all, at, Math.min(at + batchRows, all.length));
  }
  const host: ExecutionHost = {
    scan: (source) => serve(source.handle),
    open: (name) => serve(name),
    debug: () => undefined,
    load: () => Promise.reject(new Error('nothing to load into')),
    progress: { bytesRead: 0, bytesMatched: 0, recordsRead: 0, recordsMatched: 0 },
    ...(options.spill && { spill: { open: memoryRun, bytes: memoryBytes } }),
    ...options.host,
  };
  return {
    host,
    signal,
    batchRows,
    memoryBytesMax,
    names: new Map(),
    ...(forceForm && { reshape: (v: Vector) => forced(v, forceForm) }),
  };
};

const memoryRun = (): SpillRun => {
  let held: Vector[] = [];
  return {
    append: (batch) => {
      held.push(concat([batch]));
      return Promise.resolve(batch.length);
    },
    async *read() {
      yield* held;
    },
    close: () => {
      held = [];
      return Promise.resolve();
    },
  };
};

/** What is spilled as bytes, held in memory. */
export const memoryBytes = (): SpillBytes => {
  let held = Buffer.alloc(0);
  return {
    append: (bytes) => {
      held = Buffer.concat([held, bytes]);
    },
    read: (at, length) => Uint8Array.from(held.subarray(at, at + length)),
    close: () => {
      held = Buffer.alloc(0);
    },
  };
};

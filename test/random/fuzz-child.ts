/**
 * Reads hostile inputs in a process of its own, since some faults end the process. Told by its arguments which; says on
 * file descriptor 3 what it is at, before it begins: `START target index`, `FAULT target index text`, `DONE`. Its
 * parent knows by that what killed it.
 */
import { writeSync } from 'node:fs';
import { LakeError } from '../../src/errors.ts';
import { CompileError } from '../../src/query/parse/error.ts';
import { compile } from '../../src/query/analyze.ts';
import { type ContentCoding, contentCodings } from '../../src/formats/codings/encoding.ts';
import { type InputName, isIngestName, isFormatName, openReader } from '../../src/formats/formats.ts';
import { supText } from '../../src/vectors/sup/print.ts';
import { typeText } from '../../src/vectors/type.ts';
import { typeAt, valueAt } from '../../src/vectors/vector.ts';
import { pieces } from '../support/formats/convert.ts';
import { lakeEnvironment } from '../support/queries/environment.ts';
import { hostileInputs } from './hostile-inputs.ts';

/** What the parent asks for. `only`: this input alone. */
export interface Work {
  readonly seed: number;
  readonly jobs: readonly { readonly target: string; readonly start: number; readonly end: number }[];
  readonly cpuMsMax: number;
  readonly residentBytesMax: number;
}

const work = JSON.parse(process.argv[2]) as Work;
const tell = (line: string): void => {
  writeSync(3, `${line}\n`);
};

/** Rows that are looked at: a few bytes may rightly stand for very many. */
const rowsMax = 50;
const batchesMax = 2_000;
const textRowsMax = 5;

const readAll = async (target: string, bytes: Uint8Array, index: number): Promise<void> => {
  const isCoding = (contentCodings as readonly string[]).includes(target);
  const format: InputName | 'auto' = isFormatName(target) || isIngestName(target) ? target : isCoding ? 'sup' : 'auto';
  const options = { ...(isCoding && { contentCodings: [target as ContentCoding] }), expandedBytesMax: 64 << 20 };
  const pieceBytes = index % 5 === 0 ? 1 + (index % 97) : Math.max(1, bytes.length);
  let batches = 0;
  for await (const batch of await openReader(format, pieces(bytes, pieceBytes), options)) {
    const step = Math.max(1, Math.floor(batch.length / rowsMax));
    for (let row = 0; row < batch.length; row += step) typeText(typeAt(batch, row));
    for (let row = 0; row < Math.min(batch.length, textRowsMax); row++) supText(valueAt(batch, row));
    if (++batches > batchesMax) return;
  }
};

/** Pools that are not there are refused as the service does. */
const environment = lakeEnvironment();
const queries: typeof environment = {
  ...environment,
  resolve: (request) =>
    environment.resolve(request).catch(() => {
      throw new LakeError('pool-not-found', { pool: '?' });
    }),
};
const compileQuery = async (bytes: Uint8Array): Promise<void> => {
  await compile(Buffer.from(bytes).toString(), queries);
};

for (const { target, start, end } of work.jobs) {
  const make = hostileInputs(target, work.seed);
  for (let index = start; index < end; index++) {
    tell(`START ${target} ${index}`);
    const bytes = make(index);
    const before = process.cpuUsage();
    try {
      await (target === 'query' ? compileQuery(bytes) : readAll(target, bytes, index));
    } catch (problem) {
      if (!(problem instanceof LakeError || problem instanceof CompileError))
        tell(
          `FAULT ${target} ${index} ${JSON.stringify(problem instanceof Error ? (problem.stack?.split('\n').slice(0, 5).join(' ') ?? problem.message) : String(problem))}`,
        );
      else if (problem.message.length > 20_000)
        tell(`FAULT ${target} ${index} "an error text of ${problem.message.length} characters"`);
    }
    // Types that nobody holds any more are forgotten between turns of the event loop.
    if (index % 16 === 0)
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    const { user, system } = process.cpuUsage(before);
    const cpuMs = (user + system) / 1000;
    if (cpuMs > work.cpuMsMax) tell(`FAULT ${target} ${index} "took ${Math.round(cpuMs)} ms of ${bytes.length} bytes"`);
    const resident = process.resourceUsage().maxRSS * 1024;
    if (resident > work.residentBytesMax) {
      tell(`FAULT ${target} ${index} "${Math.round(resident / 2 ** 20)} MB resident after ${bytes.length} bytes"`);
      // The highest mark stays: the rest needs a fresh process.
      process.exit(4);
    }
  }
}
tell('DONE');
process.exit(0);

/**
 * Reads requests of OTLP: logs, traces and metrics, as bytes of Protocol Buffers and as JSON. A request is read when it
 * is there as a whole, within a limit; the rows come in batches.
 */
import { LakeError } from '../../errors.ts';
import type { Vector } from '../../vectors/vector.ts';
import { type ReadOptions, type Reader, type WholeReader, readLimits } from '../format.types.ts';
import { ReadMemory, wholeBody } from '../read-memory.ts';
import { BytesFault } from '../columns/type-bytes.ts';
import { ValueMemory } from '../value-memory.ts';
import { JsonFault, wireOfJson } from './json.ts';
import { type RequestRows, requestRows } from './rows.ts';
import type { Signal } from './schema.ts';

/** What is sent, and how. */
export interface OtlpForm {
  readonly signal: Signal;
  readonly encoding: 'protobuf' | 'json';
}

/** Of the specification: what a server is recommended to take at least. */
const bodyBytesDefault = 64 << 20;

/** A reader of whole bodies. @throws LakeError format-broken, format-memory from what it gives */
export const otlpWhole =
  (form: OtlpForm): WholeReader =>
  (body, options) =>
    rowsOf(body, form, options, options.memory ?? new ReadMemory());

/** A reader of bodies as they come. @throws LakeError format-limit, format-broken, format-memory from what it gives */
export const otlpReader = (form: OtlpForm): Reader =>
  async function* read(input: AsyncIterable<Uint8Array>, options: ReadOptions): AsyncGenerator<Vector> {
    const memory = options.memory ?? new ReadMemory();
    const limit = options.ingestBodyBytesMax ?? bodyBytesDefault;
    let held = 0;
    try {
      const body = await wholeBody(input, {
        bytesMax: limit,
        tooLong: () => new LakeError('format-limit', { format: 'otlp', what: 'request', limit, place: '' }),
        hold: (bytes) => {
          memory.hold(bytes, { format: 'otlp', what: 'request' });
          held += bytes;
        },
        ...(options.alone && { alone: options.alone }),
      });
      yield* rowsOf(body, form, options, memory);
    } finally {
      memory.free(held);
    }
  };

function* rowsOf(
  body: Uint8Array,
  { signal, encoding }: OtlpForm,
  options: ReadOptions,
  memory: ReadMemory,
): Generator<Vector> {
  const { batchRows, nestingMax } = readLimits(options);
  const ofBody = new ValueMemory(memory, 'otlp', () => 'request');
  const ofRow = new ValueMemory(memory, 'otlp', () => `value ${rows + 1}`);
  const work = <T>(task: () => T): T => (options.turn ? options.turn(task) : task());
  let rows = 0;
  let reader: RequestRows | undefined;
  try {
    const bytes = encoding === 'json' ? work(() => wireOfJson(body, signal, { memory: ofBody, nestingMax })) : body;
    reader = requestRows(signal);
    const hold = (size: number): void => {
      ofBody.hold(size);
    };
    for (const batch of reader.read(bytes, { batchRows, nestingMax, memory: ofRow, turn: options.turn }, hold)) {
      yield batch;
      rows += batch.length;
    }
  } catch (problem) {
    if (!(problem instanceof BytesFault)) throw problem;
    const at = problem instanceof JsonFault ? problem.at : encoding === 'json' ? undefined : reader?.wire.at;
    const place = at === undefined ? '' : ` (byte ${at})`;
    throw new LakeError(
      'format-broken',
      { format: `otlp ${signal}`, fault: problem.message, place, values: rows },
      { cause: problem },
    );
  } finally {
    ofRow.free();
    ofBody.free();
  }
}

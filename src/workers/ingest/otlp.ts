/** Requests of OTLP: their reader is a format's (formats/otlp), and all of a request goes to one pool. */
import { type IngestName, openReader, wholeReaderOf } from '../../formats/formats.ts';
import type { Vector } from '../../vectors/vector.ts';
import { once, smallBodyBytesMax } from '../load/small.ts';
import type { DecodeContext, Decoder, OtlpTold } from './ingest.types.ts';

/** Reads requests of a signal in an encoding; one without records is none of a pool. @throws format-broken, format-limit */
export const otlpDecoder =
  (format: IngestName): Decoder<OtlpTold> =>
  async (input, { options, pool = '', emit }: DecodeContext): Promise<OtlpTold> => {
    const whole = wholeReaderOf(format);
    const body = await begun(input);
    const batches: AsyncIterable<Vector> | Iterable<Vector> =
      body instanceof Uint8Array && whole
        ? whole(body, options)
        : await openReader(format, body instanceof Uint8Array ? once(body) : body, options);
    let records = 0;
    for await (const batch of batches) {
      if (batch.length === 0) continue;
      records += batch.length;
      await emit(pool, batch);
    }
    return { records };
  };

/** A body that is small, which is read at once; else all of it, as it comes. One that is packed unannounced is none. */
const begun = async (input: AsyncIterable<Uint8Array>): Promise<Uint8Array | AsyncIterable<Uint8Array>> => {
  const chunks = input[Symbol.asyncIterator]();
  const first = await chunks.next();
  if (first.done) return joined([], chunks);
  const second = await chunks.next();
  if (second.done && first.value.length <= smallBodyBytesMax && first.value[0] !== gzipMark) return first.value;
  return joined(second.done ? [first.value] : [first.value, second.value], chunks);
};
const gzipMark = 0x1f;
async function* joined(
  ahead: readonly Uint8Array[],
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* ahead;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

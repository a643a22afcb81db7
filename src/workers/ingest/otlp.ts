/** Requests of OTLP: their reader is a format's (formats/otlp), and all of a request goes to one pool. */
import { type IngestName, openReader } from '../../formats/formats.ts';
import type { DecodeContext, Decoder } from './ingest.types.ts';

/** What the answer is told. */
export interface OtlpTold {
  readonly records: number;
}

/** Reads requests of a signal in an encoding; one without records is none of a pool. @throws format-broken, format-limit */
export const otlpDecoder =
  (format: IngestName): Decoder<OtlpTold> =>
  async (input, { options, pool = '', emit }: DecodeContext): Promise<OtlpTold> => {
    let records = 0;
    for await (const batch of await openReader(format, input, options)) {
      if (batch.length === 0) continue;
      records += batch.length;
      await emit(pool, batch);
    }
    return { records };
  };

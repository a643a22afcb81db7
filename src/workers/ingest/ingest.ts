/** Bodies of shippers become objects of the pools that they name, in a worker thread or where they came in. */
import { createHash } from 'node:crypto';
import { decoded } from '../../formats/codings/encoding.ts';
import type { ReadOptions } from '../../formats/format.types.ts';
import { withTimes } from '../load/times.ts';
import { toWire } from '../messages.ts';
import { decodeBulk } from './bulk.ts';
import { decodeHec, decodeHecRaw } from './hec.ts';
import type { Decoder, IngestForm, IngestOutcome, PoolOutcome, Protocol, Told } from './ingest.types.ts';
import { decodeLokiJson, decodeLokiProtobuf } from './loki.ts';
import { otlpDecoder } from './otlp.ts';
import { decodeSyslog } from './syslog.ts';
import { type PoolLoadTools, PoolLoads } from './pool-loads.ts';

const decoders: { readonly [P in Protocol]: Decoder<Told[P]> } = {
  bulk: decodeBulk,
  hec: decodeHec,
  'hec-raw': decodeHecRaw,
  'loki-json': decodeLokiJson,
  'loki-protobuf': decodeLokiProtobuf,
  syslog: decodeSyslog,
  'otlp-logs': otlpDecoder('otlp-logs'),
  'otlp-logs-json': otlpDecoder('otlp-logs-json'),
  'otlp-traces': otlpDecoder('otlp-traces'),
  'otlp-traces-json': otlpDecoder('otlp-traces-json'),
  'otlp-metrics': otlpDecoder('otlp-metrics'),
  'otlp-metrics-json': otlpDecoder('otlp-metrics-json'),
};

/** `read`: called when all of the body was read. */
interface IngestTools extends PoolLoadTools {
  /** @throws why it may not be asked */
  identityOf(pool: string): Promise<string | null | undefined>;
  readonly read?: () => void;
}
/** Reads a body into objects of its pools. When it rejects, no file is left. */
export const ingest = async (
  body: AsyncIterable<Uint8Array>,
  { protocol, pool, time, defaults = {}, utf8, contentCodings: codings = [] }: IngestForm,
  options: ReadOptions,
  tools: IngestTools,
): Promise<IngestOutcome> => {
  const loads = new PoolLoads(tools);
  const hash = createHash('sha256');
  const plain = decoded(body, { codings, bytesMax: options.expandedBytesMax ?? Infinity });
  try {
    const told = await decoders[protocol](
      hashed(plain, (chunk) => hash.update(chunk)),
      {
        options: utf8 ? { ...options, utf8 } : options,
        pool,
        time,
        defaults,
        emit: (name, batch, field) =>
          loads.emit(name, time === undefined || field !== undefined ? batch : withTimes(batch, time), field),
        identity: (name) => tools.identityOf(name),
      },
    );
    tools.read?.();
    const loaded = await loads.end();
    const pools = new Map<string, PoolOutcome>();
    for (const [name, found] of loaded) pools.set(name, 'error' in found ? { error: toWire(found.error) } : found);
    return { pools, told, digest: hash.digest('hex') };
  } catch (error) {
    await loads.abort(error);
    throw error;
  }
};

async function* hashed(
  input: AsyncIterable<Uint8Array>,
  came: (chunk: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of input) {
    came(chunk);
    yield chunk;
  }
}

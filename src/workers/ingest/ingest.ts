/** Bodies of shippers become objects of the pools that they name, in a worker thread or where they came in. */
import { createHash, hash } from 'node:crypto';
import { LakeError } from '../../errors.ts';
import { decoded } from '../../formats/codings/encoding.ts';
import type { ReadOptions } from '../../formats/format.types.ts';
import { once } from '../load/small.ts';
import { withTimes } from '../load/times.ts';
import { toWire } from '../messages.ts';
import { decodeBulk } from './bulk.ts';
import { decodeHec, decodeHecRaw } from './hec.ts';
import type { Decoder, IngestForm, IngestOutcome, PoolOutcome, Protocol, Told } from './ingest.types.ts';
import { decodeLokiJson, decodeLokiProtobuf } from './loki.ts';
import { otlpDecoder } from './otlp.ts';
import { decodeSyslog } from './syslog.ts';
import type { BodyLoads } from './pool-loads.ts';

/**
 * Records that one body of a shipper may have: an empty one takes two bytes of it, and as long to commit as another.
 * Messages of syslog are no body of anybody's: they are as many as had come.
 */
export const bodyRecordsMax = 1_000_000;

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

/** `loads`: of the pools; `read`: called when all of the body was read. */
interface IngestTools {
  readonly loads: BodyLoads;
  /** @throws why it may not be asked */
  identityOf(pool: string): Promise<string | null | undefined>;
  readonly read?: () => void;
}
/** Reads a body into objects of its pools. When it rejects, no file is left. */
export const ingest = (
  body: AsyncIterable<Uint8Array>,
  form: IngestForm,
  options: ReadOptions,
  tools: IngestTools,
): Promise<IngestOutcome> => {
  const digest = createHash('sha256');
  const codings = form.contentCodings ?? [];
  const plain = decoded(body, { codings, bytesMax: options.expandedBytesMax ?? Infinity });
  const came = hashed(plain, (chunk) => digest.update(chunk));
  return ingestPlain(came, () => digest.digest('hex'), { form, options, tools });
};
/** The same of a body that is there as a whole, without a coding. */
export const ingestWhole = (
  body: Uint8Array,
  form: IngestForm,
  options: ReadOptions,
  tools: IngestTools,
): Promise<IngestOutcome> => ingestPlain(once(body), () => hash('sha256', body), { form, options, tools });

/** `digest`: of the body, once all of it was read. */
const ingestPlain = async (
  body: AsyncIterable<Uint8Array>,
  digest: () => string,
  {
    form: { protocol, pool, time, defaults = {}, utf8 },
    options,
    tools: { loads, identityOf, read },
  }: { readonly form: IngestForm; readonly options: ReadOptions; readonly tools: IngestTools },
): Promise<IngestOutcome> => {
  let records = 0;
  try {
    const told = await decoders[protocol](body, {
      options: utf8 ? { ...options, utf8 } : options,
      pool,
      time,
      defaults,
      emit: (name, batch, field) => {
        records += batch.length;
        if (records > bodyRecordsMax && protocol !== 'syslog') throw tooMany(protocol);
        return loads.emit(name, time === undefined || field !== undefined ? batch : withTimes(batch, time), field);
      },
      identity: (name) => identityOf(name),
    });
    read?.();
    const loaded = await loads.end();
    const pools = new Map<string, PoolOutcome>();
    for (const [name, found] of loaded) pools.set(name, 'error' in found ? { error: toWire(found.error) } : found);
    return { pools, told, digest: digest() };
  } catch (error) {
    await loads.abort(error);
    throw error;
  }
};

const tooMany = (protocol: Protocol): LakeError =>
  new LakeError('format-too-large', {
    format: protocol,
    fault: `more than ${bodyRecordsMax} records in a request`,
    place: '',
  });

async function* hashed(
  input: AsyncIterable<Uint8Array>,
  came: (chunk: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of input) {
    came(chunk);
    yield chunk;
  }
}

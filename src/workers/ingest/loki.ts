/**
 * The body of Loki's push: streams, each a set of labels with lines and their times. Each line becomes a record: `ts`,
 * `labels`, `line`, and `metadata` where a line has some of its own.
 *
 * Invariants:
 * - A body is held whole, within -ingest.body.max; what a block of Snappy says of its length is checked
 *   against that before there is room for it.
 * - Texts stay what they were, bytes that are no UTF-8 too.
 */
import { LakeError } from '../../errors.ts';
import { type Builder, shapeOf } from '../../vectors/builder.ts';
import { types } from '../../vectors/type.ts';
import { gather } from './gathered.ts';
import { Labels, type LokiEntry } from './loki-entry.ts';
import { jsonStreams } from './loki-json.ts';
import { protobufStreams } from './loki-protobuf.ts';
import type { DecodeContext, LokiTold } from './ingest.types.ts';
import { wholeBytesMax, wholeMessage } from './whole-body.ts';

const plain = shapeOf([{ name: 'ts' }, { name: 'labels' }, { name: 'line' }]);
const withMetadata = shapeOf([{ name: 'ts' }, { name: 'labels' }, { name: 'line' }, { name: 'metadata' }]);

/** Reads a body of JSON. @throws format-broken, format-limit */
export const decodeLokiJson = async (input: AsyncIterable<Uint8Array>, context: DecodeContext): Promise<LokiTold> =>
  pushed(jsonStreams(await wholeMessage(input, 'loki', context.options)), context);
/** Reads a body of Protocol Buffers in a block of Snappy. @throws format-broken, format-limit */
export const decodeLokiProtobuf = async (input: AsyncIterable<Uint8Array>, context: DecodeContext): Promise<LokiTold> =>
  pushed(protobufStreams(await wholeMessage(input, 'loki', context.options), wholeBytesMax(context.options)), context);
const pushed = async (entries: Iterable<LokiEntry>, context: DecodeContext): Promise<LokiTold> => {
  const lines = await gather(entries, context.pool ?? '', context, write);
  if (lines === 0) throw new LakeError('loki-empty');
  return { lines };
};

const write = ({ labels, seconds, nanos, line, metadata }: LokiEntry, builder: Builder): number => {
  const hasMetadata = metadata.length > 0;
  const record = builder.record(hasMetadata ? withMetadata : plain);
  const [ts, labelsField, lineField, metadataField] = record.fields;
  ts!.seconds(types.time, seconds, nanos);
  labels.write(labelsField!);
  lineField!.text(line);
  if (hasMetadata) new Labels(metadata).write(metadataField!);
  record.end();
  return line.length;
};

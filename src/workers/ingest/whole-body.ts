/** Bodies that are one message. */
import { LakeError } from '../../errors.ts';
import type { ReadOptions } from '../../formats/format.types.ts';
import { wholeBody } from '../../formats/read-memory.ts';

const bodyBytesDefault = 64 << 20;
/** How long such a body may be, before and after it is unpacked. */
export const wholeBytesMax = ({ ingestBodyBytesMax = bodyBytesDefault }: ReadOptions): number => ingestBodyBytesMax;
/** What one is that is longer. */
export const longMessage = (format: string, limit: number): LakeError =>
  new LakeError('format-limit', { format, what: 'a request', limit, place: ' (option -ingest.body.max)' });

/** All of a body. @throws format-limit when it is longer than allowed */
export const wholeMessage = (
  input: AsyncIterable<Uint8Array>,
  format: string,
  options: ReadOptions,
): Promise<Uint8Array> => {
  const bytesMax = wholeBytesMax(options);
  const tooLong = (): LakeError => longMessage(format, bytesMax);
  return wholeBody(input, { bytesMax, tooLong, ...(options.alone && { alone: options.alone }) });
};

/** What is wrong with a message. */
export const brokenMessage = (format: string, fault: string, place = ''): LakeError =>
  new LakeError('format-broken', { format, fault, place: place === '' ? '' : ` (${place})`, values: 0 });

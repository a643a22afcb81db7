/** Bodies that are one message. */
import { LakeError } from '../../errors.ts';
import type { ReadOptions } from '../../formats/format.types.ts';

const bodyBytesDefault = 64 << 20;
/** How long such a body may be, before and after it is unpacked. */
export const wholeBytesMax = ({ ingestBodyBytesMax = bodyBytesDefault }: ReadOptions): number => ingestBodyBytesMax;
/** What one is that is longer. */
export const longMessage = (format: string, limit: number): LakeError =>
  new LakeError('format-limit', { format, what: 'a request', limit, place: ' (option -ingest.body.max)' });

/** All of a body. @throws format-limit when it is longer than allowed */
export const wholeBody = async (
  input: AsyncIterable<Uint8Array>,
  format: string,
  limit: number,
): Promise<Uint8Array> => {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of input) {
    length += chunk.length;
    if (length > limit) throw longMessage(format, limit);
    chunks.push(chunk);
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
};

/** What is wrong with a message. */
export const brokenMessage = (format: string, fault: string, place = ''): LakeError =>
  new LakeError('format-broken', { format, fault, place: place === '' ? '' : ` (${place})`, values: 0 });

/** What is wrong with the head of a request whatever it asks for: its body, or whom it is for, could be read in two ways. */
import type { IncomingMessage } from 'node:http';
import { LakeError } from '../errors.ts';

/** Checks a request's head, before anything of its body is read. @throws transfer-coding-unknown */
export const checkHead = ({ headers }: Pick<IncomingMessage, 'headers'>): void => {
  const codings = headers['transfer-encoding'];
  if (codings !== undefined) checkTransferCodings(codings);
};

/** Node takes any coding before `chunked` and undoes none of them: what it gives as the body would still be encoded (RFC 9112, 6.1). */
const checkTransferCodings = (header: string): void => {
  const codings = header.split(',').map((coding) => coding.trim()).filter((coding) => coding !== ''), isChunked = (coding: string): boolean => coding.toLowerCase() === 'chunked';
  if (codings.length === 1 && isChunked(codings[0]!)) return;
  throw new LakeError('transfer-coding-unknown', { coding: codings.find((coding) => !isChunked(coding)) ?? header });
};

/** Formats of requests and responses by their headers. */
import { LakeError } from '../errors.ts';
import { type FormatName, formatOfMediaType, mediaTypeOf } from '../formats/formats.ts';
import { parseMediaType } from './media.ts';

/** A format and the media type under which it goes out. */
export interface ResponseFormat { readonly format: FormatName; readonly mediaType: string }

const fallback = (format: FormatName): ResponseFormat => ({ format, mediaType: mediaTypeOf(format) });

/**
 * The format of the response: the first type of the list that is known; empty and any (`*`/`*`) mean the default. Quality values do not count.
 * `extra` types (`text/event-stream`) mean the default too.
 * @throws accept-unknown
 */
export const responseFormat = (accept: string | undefined, defaultFormat: FormatName, extra?: string): ResponseFormat => {
  if (accept === undefined) return fallback(defaultFormat);
  for (const item of accept.split(',')) {
    if (item.trim() === '') return fallback(defaultFormat);
    const media = parseMediaType(item);
    if ('fault' in media) continue;
    if (media.type === '*/*' || media.type === extra) return fallback(defaultFormat);
    const format = formatOfMediaType(media.type);
    if (format) return { format: format.name, mediaType: media.type };
  }
  throw new LakeError('accept-unknown');
};

/**
 * The format of a request body; `auto` where the client leaves it open (no type, any, or curl's form-urlencoded).
 * @throws content-type-unknown, content-type-malformed, content-type-response-only
 */
export const requestFormat = (contentType: string | undefined): FormatName | 'auto' => {
  if (contentType === undefined || contentType.trim() === '') return 'auto';
  const media = parseMediaType(contentType);
  if ('fault' in media) throw new LakeError('content-type-malformed', { fault: media.fault });
  if (media.type === '*/*' || media.type === 'application/x-www-form-urlencoded') return 'auto';
  const format = formatOfMediaType(media.type);
  if (!format) throw new LakeError('content-type-unknown', { type: media.type });
  if (format.responseOnly) throw new LakeError('content-type-response-only', { format: format.name, instead: mediaTypeOf('json') });
  return format.name;
};

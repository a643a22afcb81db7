/** Formats of requests and responses by their headers. */
import { LakeError } from '../errors.ts';
import { type FormatName, formatOfMediaType, mediaTypeOf } from '../formats/formats.ts';
import { remembered } from './known.ts';
import { parseMediaType } from './media.ts';

/** A format and the media type under which it goes out. */
export interface ResponseFormat { readonly format: FormatName; readonly mediaType: string }

const fallback = remembered((format): ResponseFormat => ({ format: format as FormatName, mediaType: mediaTypeOf(format as FormatName) }));

/**
 * The format of the response: the first type of the list that is known; empty and any (`*`/`*`) mean the default. Quality values do not count.
 * `extra` types (`text/event-stream`) mean the default too.
 * @throws accept-unknown
 */
export const responseFormat = (accept: string | undefined, defaultFormat: FormatName, extra?: string): ResponseFormat => {
  const chosen = accept === undefined ? 'default' : extra === undefined ? accepted(accept) : firstAccepted(accept, extra);
  return chosen === 'default' ? fallback(defaultFormat) : chosen;
};

const firstAccepted = (accept: string, extra?: string): ResponseFormat | 'default' => {
  for (const item of accept.split(',')) {
    if (item.trim() === '') return 'default';
    const media = parseMediaType(item);
    if ('fault' in media) continue;
    if (media.type === '*/*' || media.type === extra) return 'default';
    const format = formatOfMediaType(media.type);
    if (format) return { format: format.name, mediaType: media.type };
  }
  throw new LakeError('accept-unknown');
};
const accepted = remembered((accept) => firstAccepted(accept));

/**
 * The format of a request body; `auto` where the client leaves it open (no type, any, or curl's form-urlencoded).
 * @throws content-type-unknown, content-type-malformed, content-type-response-only
 */
export const requestFormat = (contentType: string | undefined): FormatName | 'auto' => (contentType === undefined ? 'auto' : formatOf(contentType));

const formatOf = remembered((contentType): FormatName | 'auto' => {
  if (contentType.trim() === '') return 'auto';
  const media = parseMediaType(contentType);
  if ('fault' in media) throw new LakeError('content-type-malformed', { fault: media.fault });
  if (media.type === '*/*' || media.type === 'application/x-www-form-urlencoded') return 'auto';
  const format = formatOfMediaType(media.type);
  if (!format) throw new LakeError('content-type-unknown', { type: media.type });
  if (format.responseOnly) throw new LakeError('content-type-response-only', { format: format.name, instead: mediaTypeOf('json') });
  return format.name;
});

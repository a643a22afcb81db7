/** Formats of requests and responses by their headers. */
import { LakeError } from '../../errors.ts';
import {
  arrowFileType,
  type FormatName,
  formatNames,
  formatOfMediaType,
  formatTable,
  mediaTypeOf,
} from '../../formats/formats.ts';
import { foreignCharset } from '../../formats/codings/charset.ts';
import { remembered } from '../known.ts';
import { charsetOf, parseMediaType } from './media.ts';

/** A format and the media type under which it goes out. */
export interface ResponseFormat {
  readonly format: FormatName;
  readonly mediaType: string;
}

/** What writers are told of an answer beside its format: two media types may be two forms of one. */
export const formOf = ({ mediaType }: ResponseFormat): { readonly arrowFile?: true } =>
  mediaType === arrowFileType ? { arrowFile: true } : {};

const first: readonly FormatName[] = ['sup', 'json', 'csv'];
/** What an answer may come as; those before others are preferred where a client leaves it open. */
const candidates: readonly ResponseFormat[] = [...first, ...formatNames].flatMap((format) =>
  formatTable[format].mediaTypes.map((mediaType) => ({ format, mediaType })),
);
const byDefault = new Map<
  FormatName,
  { readonly response: ResponseFormat; readonly of: (accept: string) => ResponseFormat }
>();

/**
 * The format of the response by the Accept header (RFC 9110, 12.5.1): the one of highest quality; of equal ones the
 * first in the header, where a range such as `text/*` means the default format if that is within it. Empty is as
 * absent: the default. `extra`: a media type that says nothing of the format (`text/event-stream`): what stands beside
 * it does, and without that the default is meant.
 * @throws accept-unknown
 */
export const responseFormat = (
  accept: string | undefined,
  defaultFormat: FormatName,
  extra?: string,
): ResponseFormat => {
  let known = byDefault.get(defaultFormat);
  if (!known) {
    const response = { format: defaultFormat, mediaType: mediaTypeOf(defaultFormat) };
    byDefault.set(
      defaultFormat,
      (known = { response, of: remembered((text) => accepted(text, [response, ...candidates])) }),
    );
  }
  if (accept === undefined) return known.response;
  if (extra === undefined && !wantsProblem(accept)) return known.of(accept);
  const others = accept.split(',').filter((item) => {
    const type = item.split(';', 1)[0].trim().toLowerCase();
    return type !== '' && type !== extra && type !== problemType;
  });
  return others.length === 0 ? known.response : accepted(others.join(), [known.response, ...candidates]);
};

/** The media type of errors for clients that ask for it (RFC 9457); it says nothing of the format of other answers. */
export const problemType = 'application/problem+json';
/** Whether a client asks for it. */
export const wantsProblem = (accept: string | undefined): boolean =>
  accept !== undefined && accept.toLowerCase().includes(problemType);

interface MediaRange {
  readonly type: string;
  readonly quality: number;
}

const accepted = (accept: string, offered: readonly ResponseFormat[]): ResponseFormat => {
  const items = accept.split(',').filter((item) => item.trim() !== '');
  const ranges = items.flatMap(rangeOf);
  if (items.length === 0) return offered[0];
  let best: { readonly offer: ResponseFormat; readonly quality: number; readonly at: number } | undefined;
  for (const offer of offered) {
    const quality = qualityOf(ranges, offer.mediaType);
    const at = ranges.findIndex(({ type }) => within(offer.mediaType).includes(type));
    if (quality > 0 && (!best || quality > best.quality || (quality === best.quality && at < best.at)))
      best = { offer, quality, at };
  }
  if (!best) throw new LakeError('accept-unknown');
  return best.offer;
};

/** None where the item is malformed. A quality that is no number is 1. */
const rangeOf = (item: string): MediaRange[] => {
  const media = parseMediaType(item);
  const quality = Number(/;\s*q\s*=\s*([0-9.]+)\s*(?:;|$)/i.exec(item)?.[1] ?? 1);
  return 'fault' in media ? [] : [{ type: media.type, quality: Number.isNaN(quality) ? 1 : quality }];
};

/** The ranges that a media type is within, the narrowest first. */
const within = (mediaType: string): readonly string[] => [
  mediaType,
  `${mediaType.slice(0, mediaType.indexOf('/'))}/*`,
  '*/*',
];
/** What the narrowest range says that the header has; 0 if it has none. */
const qualityOf = (ranges: readonly MediaRange[], mediaType: string): number => {
  for (const wanted of within(mediaType)) {
    const range = ranges.find(({ type }) => type === wanted);
    if (range) return range.quality;
  }
  return 0;
};

/**
 * The format of a request body; `auto` where the client leaves it open. @throws content-type-unknown,
 * content-type-malformed
 */
export const requestFormat = (contentType: string | undefined): FormatName | 'auto' =>
  contentType === undefined ? 'auto' : formatOf(contentType);

const formatOf = remembered((contentType): FormatName | 'auto' => {
  if (contentType.trim() === '') return 'auto';
  const media = parseMediaType(contentType);
  if ('fault' in media) throw new LakeError('content-type-malformed', { fault: media.fault });
  if (media.type === '*/*' || media.type === 'application/x-www-form-urlencoded') return 'auto';
  const format = formatOfMediaType(media.type);
  if (!format) throw new LakeError('content-type-unknown', { type: media.type });
  return format.readAs ?? format.name;
});

/** Types of data that say nothing, from clients that do not know. */
const unsaidTypes: ReadonlySet<string> = new Set(['application/octet-stream', 'text/plain']);
/** Whether a Content-Type is this one, whatever its parameters. */
export const isMediaType = (contentType: string | undefined, ...types: readonly string[]): boolean =>
  contentType !== undefined && types.includes(contentType.split(';', 1)[0].trim().toLowerCase());

/** The same for data. @throws content-type-unknown, content-type-malformed */
export const dataFormat = (contentType: string | undefined): FormatName | 'auto' =>
  isMediaType(contentType, ...unsaidTypes) ? 'auto' : requestFormat(contentType);

/**
 * The encoding of a text body that is not UTF-8, by the parameter `charset`; a format that is not text has none.
 * @throws charset-unknown
 */
export const requestCharset = (contentType: string | undefined, format: FormatName | 'auto'): string | undefined =>
  format !== 'auto' && formatTable[format].isBinary ? undefined : foreignCharset(charsetOf(contentType));

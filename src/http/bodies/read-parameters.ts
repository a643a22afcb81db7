/** Parameters of addresses that answer with rows: in which format, how many of them, as one record type or not. */
import { Type } from 'typebox';
import { type ErrorCode, LakeError } from '../../errors.ts';
import { arrowFileType, formatNames, isFormatName, mediaTypeOf } from '../../formats/formats.ts';
import type { Ending } from '../../query/analyze.ts';
import type { Answer } from '../route.ts';
import type { ResponseFormat } from './negotiate.ts';
import { boolParameter, boolSchema } from './parameters.ts';

/** Other names of formats: as people know them, and the form of one that is a file. */
const aliases: Readonly<Record<string, ResponseFormat>> = {
  arrow: { format: 'arrows', mediaType: arrowFileType },
  jsonl: { format: 'ndjson', mediaType: 'application/jsonl' },
};
const names = formatNames.filter((name) => name !== 'db');

/** Their schemas. */
export const readParameters = {
  format: Type.Optional(
    Type.Enum([...names, ...Object.keys(aliases)], {
      description: 'format of the answer; default: what `Accept` says',
    }),
  ),
  fuse: Type.Optional(boolSchema('T: all rows as one record type, as files of columns need it')),
  limit: Type.Optional(Type.String({ pattern: '^[0-9]{1,15}$', description: 'rows at most', examples: ['1000'] })),
};
/** What is wrong with them, and with what is asked for of the answer. */
export const readErrors: readonly ErrorCode[] = [
  'parameter-bool',
  'parameter-limit',
  'answer-format-unknown',
  'answer-long',
  'answer-moved',
  'range-none',
];
/** Headers that they look at. */
export const readHeaders = ['Accept-Encoding', 'If-None-Match', 'If-Range', 'Range'] as const;
/** What they answer; `example`: some rows. */
export const readAnswers = (example: readonly unknown[]): Readonly<Record<number, Answer>> => ({
  200: { text: 'The rows.', rows: true, headers: ['Cache-Control'], example },
  206: { text: 'The bytes of that range.', rows: true, headers: ['Accept-Ranges', 'Content-Range', 'ETag'] },
  304: { text: 'The answer is the one of that tag.', headers: ['ETag'] },
});

/** What is done with the rows. @throws parameter-bool, parameter-limit */
export const readTerms = (query: {
  readonly fuse?: string | undefined;
  readonly limit?: string | undefined;
}): { readonly ending?: Ending } => {
  const fuse = boolParameter('fuse', query.fuse);
  const { limit } = query;
  if (limit !== undefined && !/^[0-9]{1,15}$/.test(limit)) throw new LakeError('parameter-limit', { value: limit });
  return fuse || limit !== undefined
    ? { ending: { ...(fuse && { fuse }), ...(limit !== undefined && { limit: Number(limit) }) } }
    : {};
};

/** The format of a name. @throws format-unknown */
export const formatNamed = (name: string): ResponseFormat => {
  if (Object.hasOwn(aliases, name)) return aliases[name];
  if (isFormatName(name) && name !== 'db') return { format: name, mediaType: mediaTypeOf(name) };
  throw new LakeError('answer-format-unknown', { format: name, known: [...names, ...Object.keys(aliases)].join(', ') });
};

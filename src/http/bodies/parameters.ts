/** Query and path parameters: their schemas, and how they are read, in the words that clients know. */
import { type TOptional, type TString, Type } from 'typebox';
import { errorsParameter, isErrorsRule, rejectedParameter } from '../../config/faults.ts';
import { isUtf8Rule, utf8Parameter } from '../../config/utf8.ts';
import { type CsvParameterName, csvParameters, wrongCsvParameter } from '../../config/csv.ts';
import { LakeError } from '../../errors.ts';
import type { Id } from '../../lake/lake.types.ts';
import { type CsvDialect, dialectOf } from '../../formats/csv/dialect.ts';
import { isDelimiter } from '../../formats/csv/reader.ts';
import type { FaultRule } from '../../formats/faults/faults.ts';
import { parseId } from '../../lake/ksuid.ts';
import { didYouMean } from '../../query/analyze/suggest.ts';
import { idPattern, idText } from '../schemas.ts';
import { queryPairs } from '../url.ts';

/** The path parameter that names a pool. */
export const poolParameter = Type.String({ description: 'id or name of the pool', examples: ['movies'] });
/** The parameters of a path that names a pool alone. */
export const poolParams = Type.Object({ pool: poolParameter });
/** The path parameter that names a branch. */
export const branchParameter = Type.String({ description: 'name of the branch', examples: ['main'] });
/** The path parameter that names a branch, a tag or a commit. */
export const revisionParameter = Type.String({
  description: 'name of a branch or tag, id of a commit, or a time: then where main was',
  examples: ['main'],
});
/** The path parameter that names a commit, in either spelling of its id. */
export const commitParameter = { ...idText, description: 'id of the commit' };
/** A name that something new is to have. @throws name-long */
export const checkName = (what: 'pool' | 'view' | 'branch' | 'tag', name: string, limit: number): void => {
  const length = Buffer.byteLength(name);
  if (length > limit) throw new LakeError('name-long', { what, length, limit });
};
/** Ids with commas between them. */
export const idListPattern = `^${idPattern}(,${idPattern})*$`;

/**
 * Checks the query of a request's target before anything is done: what a client misspelled must not be done without it.
 * @throws parameter-unknown, parameter-empty, parameter-twice, parameter-malformed, parameter-not-utf8
 */
export const checkParameters = (url: string, known: readonly string[]): void => {
  const seen = new Set<string>();
  for (const { raw, name, value, fault } of queryPairs(url)) {
    if (!known.includes(name)) throw new LakeError('parameter-unknown', { name, instead: insteadOf(name, known) });
    if (value === undefined) throw new LakeError('parameter-malformed', { name, pair: raw });
    if (fault) throw new LakeError('parameter-not-utf8', { name, byte: fault.byte.toString(16), at: fault.at });
    if (value === '') throw new LakeError('parameter-empty', { name });
    if (seen.has(name)) throw new LakeError('parameter-twice', { name });
    seen.add(name);
  }
};
const insteadOf = (name: string, known: readonly string[]): string =>
  didYouMean(name, known) ??
  (known.length === 0 ? 'there are none here' : `here ${known.length === 1 ? 'is' : 'are'} ${known.join(', ')}`);

/** A boolean in the spellings that Go takes; absent is false. */
const booleans: ReadonlyMap<string, boolean> = new Map([
  ...['0', 'f', 'F', 'FALSE', 'false', 'False'].map((text) => [text, false] as const),
  ...['1', 't', 'T', 'TRUE', 'true', 'True'].map((text) => [text, true] as const),
]);
/** A query parameter that `boolParameter` reads. */
export const boolSchema = (description: string) => Type.Enum([...booleans.keys()], { description });
/** @throws parameter-bool */
export const boolParameter = (name: string, text: string | undefined): boolean => {
  if (text === undefined) return false;
  const value = booleans.get(text);
  if (value === undefined) throw new LakeError('parameter-bool', { name, value: text });
  return value;
};

/** The query parameter that `delimiterParameter` reads. */
export const delimiterSchema = Type.String({
  pattern: '^[^"\\r\\n]$',
  description:
    'field delimiter of CSV: one character, no quote or line break; default: what the first lines show, else a comma',
});
/** One character. @throws csv-delimiter */
export const delimiterParameter = (text: string | undefined): string | undefined => {
  if (text !== undefined && !isDelimiter(text))
    throw new LakeError('csv-delimiter', {
      fault:
        Array.from(text).length === 1
          ? 'a quote, a line break or U+FFFD cannot be it'
          : 'must be exactly one character',
    });
  return text;
};

/** The query parameters that `dialectParameters` reads. */
export const dialectSchemas = Object.fromEntries(
  csvParameters.map(({ name, pattern, text }) => [name, Type.Optional(Type.String({ pattern, description: text }))]),
) as Readonly<Record<CsvParameterName, TOptional<TString>>>;
/** What a request says of its CSV; undefined: it is plain. @throws csv-dialect */
export const dialectParameters = (
  query: Partial<Readonly<Record<CsvParameterName, string>>>,
): CsvDialect | undefined => {
  const wrong = wrongCsvParameter(query);
  if (wrong) throw new LakeError('csv-dialect', { ...wrong });
  return dialectOf(query);
};

/** The query parameter that `utf8Refused` reads. */
export const utf8Schema = Type.String({ pattern: utf8Parameter.pattern, description: utf8Parameter.text });
/** Whether bytes that are no UTF-8 are refused. @throws utf8-rule */
export const utf8Refused = (text: string | undefined): boolean => {
  if (text !== undefined && !isUtf8Rule(text)) throw new LakeError('utf8-rule', { value: text });
  return text === 'refuse';
};

/** The query parameter that `errorsRule` reads. */
export const errorsSchema = Type.String({ pattern: errorsParameter.pattern, description: errorsParameter.text });
/** What is done with faulty records; undefined: they are refused. @throws errors-rule */
export const errorsRule = (text: string | undefined): FaultRule | undefined => {
  if (text === undefined || text === 'refuse') return undefined;
  if (!isErrorsRule(text)) throw new LakeError('errors-rule', { value: text });
  return text;
};
/** The query parameter that names the pool of faulty records. */
export const rejectedSchema = Type.String({
  minLength: 1,
  description: rejectedParameter.text,
  examples: ['events.rejected'],
});

/** The id of the commit that a body names, in either spelling. @throws commit-invalid */
export const commitOf = (text: string): Id => {
  const id = parseId(text);
  if (id === undefined) throw new LakeError('commit-invalid', { id: text });
  return id;
};
/** Hexadecimal digits of an id in either spelling. @throws id-invalid */
export const idOf = (text: string): Id => {
  const id = parseId(text);
  if (id === undefined) throw new LakeError('id-invalid', { id: text });
  return id;
};

/** The same for a path parameter. @throws path-id */
export const pathId = (name: string, text: string): Id => {
  const id = parseId(text);
  if (id === undefined) throw new LakeError('path-id', { name, id: text });
  return id;
};

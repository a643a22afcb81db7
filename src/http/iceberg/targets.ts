/**
 * Request targets of the catalogue and its bucket. They belong to specifications of others, so nothing here is moved,
 * mended or read in two ways: a path is taken apart as it was sent, which is also how it was signed.
 */
import { LakeError } from '../../errors.ts';
import { lakeName } from './names.ts';

/** Where the catalogue is; engines add `/v1`. */
export const catalogueRoot = '/iceberg';
/** Where the bucket is, for clients that take an endpoint with a path. */
export const filesRoot = '/s3';
/** The same for those that take the first segment for the bucket (ClickHouse). */
export const bucketRoot = `/${lakeName}`;

/** A target taken apart. */
export interface Target {
  /** As it was sent, without the query. */
  readonly path: string;
  readonly query: string;
}

/** Without the origin of an absolute target and without a fragment. */
export const splitTarget = (raw: string): Target => {
  const start = /^https?:\/\/[^/?#]*/i.exec(raw)?.[0].length ?? 0;
  const target = raw.slice(start).split('#', 1)[0];
  const mark = target.indexOf('?');
  return mark < 0 ? { path: target, query: '' } : { path: target.slice(0, mark), query: target.slice(mark + 1) };
};

/** Whose a target is; undefined: of the service's own routes. */
export const ownerOf = (raw: string): 'catalogue' | 's3' | undefined => {
  // Nearly all targets are none of these.
  if (!/^(?:https?:\/\/[^/?#]*)?\/(?:iceberg|s3|lake)(?:[/?#]|$)/i.test(raw)) return undefined;
  const { path } = splitTarget(raw);
  const isBelow = (root: string): boolean => path === root || path.startsWith(`${root}/`);
  if (isBelow(catalogueRoot)) return 'catalogue';
  return isBelow(filesRoot) || isBelow(bucketRoot) ? 's3' : undefined;
};

/** Whether a target is the bucket's. */
export const isOfBucket = (raw: string): boolean => ownerOf(raw) === 's3';

/** Percent-decodes; undefined for what cannot be. `plus`: it is a blank, as forms write it. */
export const percentDecoded = (text: string, { plus = false } = {}): string | undefined => {
  try {
    return decodeURIComponent(plus ? text.replaceAll('+', ' ') : text);
  } catch {
    return undefined;
  }
};

/** Most parameters of a target: each costs something before anybody has shown who they are. */
const parametersMax = 100;
/** Parameters by name, each with its values. @throws iceberg-parameter */
export const parametersOf = (query: string): ReadonlyMap<string, readonly string[]> => {
  const out = new Map<string, string[]>();
  const pairs = query.split('&').filter((pair) => pair !== '');
  if (pairs.length > parametersMax)
    throw new LakeError('iceberg-parameter', {
      name: '..',
      value: `${pairs.length} parameters`,
      wanted: `at most ${parametersMax}`,
    });
  for (const pair of pairs) {
    const equals = pair.indexOf('=');
    const name = percentDecoded(equals < 0 ? pair : pair.slice(0, equals), { plus: true });
    const value = percentDecoded(equals < 0 ? '' : pair.slice(equals + 1), { plus: true });
    if (name === undefined || value === undefined)
      throw new LakeError('iceberg-parameter', {
        name: name ?? pair,
        value: pair,
        wanted: 'percent encoding of UTF-8',
      });
    out.set(name, [...(out.get(name) ?? []), value]);
  }
  return out;
};
/** The same, in the bucket's words. @throws s3-argument */
export const bucketParameters = (query: string): ReadonlyMap<string, readonly string[]> => {
  try {
    return parametersOf(query);
  } catch (error) {
    if (!(error instanceof LakeError)) throw error;
    const { name = '', value = '', wanted = '' } = error.parameters;
    throw new LakeError('s3-argument', { name, value, wanted });
  }
};

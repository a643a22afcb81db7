/** One file on its way into a branch, and the same request as a line for curl. */
import type { LookOptions, PoolInfo } from '../../../src/client/client.ts';
import { mediaTypes } from '../../../src/client/query.ts';
import { formatOfName, type RequestFormatName } from '../../../src/format-names.ts';
import { curlName, curlOf } from '../action.ts';
import { shellWord } from '../curl.ts';
import { keysOf, layoutOf, type Order } from '../pool/dialogs.tsx';
import { faultText } from '../text.ts';
import { arrayElements, type FaultLine, faultPlace, type FileFacts, linesAt } from './file-text.ts';
import { type Faulty, newId, upload, UploadFailure, UploadLost, type UploadState } from './upload.ts';

/** A file of the dialog, and how far it is. */
export interface Item {
  readonly file: File;
  readonly facts: FileFacts | undefined;
  readonly state: 'waiting' | 'preparing' | 'loading' | 'done' | 'failed' | 'cancelled';
  readonly progress?: UploadState;
  readonly commit?: string;
  /** The commit was made by a try before, whose answer was lost. */
  readonly isRepeat?: boolean;
  /** Records that could not be read, and what is wrong with the first. */
  readonly faulty?: Faulty | undefined;
  readonly fault?: string;
  readonly hint?: string | undefined;
  readonly lines?: readonly FaultLine[] | undefined;
  readonly ms?: number;
  /** Of a try whose end is not known: its key, and what was asked for by it. */
  readonly lost?: { readonly onceKey: string; readonly request: string } | undefined;
}

/** How files are sent, as the dialog has it. */
export interface LoadOptions {
  /** Empty: by the file's name, else the service finds it out. */
  readonly format: string;
  /** How CSV is read: parameters of the load. */
  readonly csv: Readonly<Record<string, string>>;
  /** Texts with bytes that are not UTF-8 are refused; else they are kept. */
  readonly refusesBytes: boolean;
  /** What becomes of records that cannot be read; empty: they refuse the file. */
  readonly errors: string;
  /** The elements of a JSON array become records. */
  readonly asElements: boolean;
  readonly author: string;
  readonly message: string;
}

/** Whether a file is read as CSV. */
export const isCsv = (format: string, name: string): boolean =>
  format === 'csv' || (format === '' && /\.csv(\.gz)?$/i.test(name));
const mediaTypeFor = (format: string, isSplit: boolean, name: string): string => {
  const named = format === '' ? formatOfName(name) : (format as RequestFormatName);
  return named !== undefined ? mediaTypes[named] : isSplit ? mediaTypes.json : '';
};

/** Parameters of the load of a file. */
const parametersOf = (
  { format, csv, refusesBytes, errors }: Pick<LoadOptions, 'format' | 'csv' | 'refusesBytes' | 'errors'>,
  name: string,
): Readonly<Record<string, string>> => ({
  ...(isCsv(format, name) && csv),
  ...(refusesBytes && { utf8: 'refuse' }),
  ...(errors !== '' && { errors }),
});

/** How the service is to look into a file before it is loaded: as the load would be read. */
export const lookOf = (
  { file, facts }: Pick<Item, 'file' | 'facts'>,
  reading: Pick<LoadOptions, 'format' | 'csv' | 'refusesBytes' | 'errors' | 'asElements'>,
): LookOptions => {
  const split = (facts?.isArray ?? false) && reading.asElements;
  const format = reading.format === '' ? (formatOfName(file.name) ?? (split ? 'json' : undefined)) : reading.format;
  const { errors: _, ...parameters } = parametersOf(reading, file.name);
  return {
    ...(format !== undefined && { format: format as NonNullable<LookOptions['format']> }),
    ...(facts?.gzip && { encoding: 'gzip' }),
    // In an array of records there is no way around one that cannot be read: the load takes it apart before.
    ...(reading.errors !== '' && !split && { errors: reading.errors as 'skip' | 'wrap' }),
    parameters: { ...parameters, ...(split && { unnest: 'T' }) },
  };
};

/**
 * Loads a file; `update` is told how far it is, `running` how it can be cancelled, then undefined. Never throws: what
 * goes wrong is told to `update`.
 */
export const loadFile = async (
  { file, facts, lost }: Item,
  into: { readonly pool: PoolInfo; readonly branch: string },
  options: LoadOptions,
  {
    update,
    running,
  }: {
    readonly update: (change: Partial<Item>) => void;
    readonly running: (cancel: (() => void) | undefined) => void;
  },
): Promise<void> => {
  const { format, asElements, author, message } = options;
  const began = performance.now();
  const split = (facts?.isArray ?? false) && asElements;
  update({
    state: split ? 'preparing' : 'loading',
    fault: undefined,
    lines: undefined,
    progress: undefined,
  } as Partial<Item>);
  const mediaType = mediaTypeFor(format, split, file.name);
  const query = parametersOf(options, file.name);
  const request = JSON.stringify([into.pool.id, into.branch, split, mediaType, query, author, message]);
  const onceKey = lost?.request === request ? lost.onceKey : newId();
  try {
    const body: Blob = split ? await arrayElements(file) : file;
    update({ state: 'loading' });
    const { done, cancel } = upload(
      {
        ...into,
        body,
        gzip: (facts?.gzip ?? false) && !split,
        query,
        mediaType,
        onceKey,
        note: { ...(author !== '' && { author }), ...(message !== '' && { body: message }) },
      },
      (progress) => {
        update({ progress });
      },
    );
    running(cancel);
    const { commit, isRepeat, faulty } = await done;
    update({ state: 'done', commit, isRepeat, faulty, ms: performance.now() - began });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') {
      update({ state: 'cancelled' });
      return;
    }
    const fault = faultText(error);
    const place = faultPlace(fault);
    update({
      state: 'failed',
      fault,
      lost: error instanceof UploadLost ? { onceKey, request } : undefined,
      hint: error instanceof UploadFailure ? error.hint : undefined,
    });
    // Where the file was made into values, lines are others: the byte tells.
    if (place) update({ lines: await linesAt(file, split && place.byte !== undefined ? { byte: place.byte } : place) });
  } finally {
    running(undefined);
  }
};

/**
 * The dialog's load of its first file as a line for a shell; `pool` undefined: one of this name, key and order is made before.
 */
export const loadLine = (
  first: Item | undefined,
  {
    pool,
    branch,
    name,
    key,
    order,
  }: {
    readonly pool: PoolInfo | undefined;
    readonly branch: string;
    readonly name: string;
    readonly key: string;
    readonly order: Order;
  },
  options: LoadOptions & { readonly headers: Readonly<Record<string, string>> },
): string => {
  const { format, asElements, headers } = options;
  const file = first?.file.name ?? 'FILE';
  const query = parametersOf(options, file);
  const isGzip = first?.facts?.gzip ?? false;
  const piped = (first?.facts?.isArray ?? false) && asElements;
  const curl = curlOf({
    method: 'POST',
    path: ['pool', pool ? curlName(pool) : name || 'POOL', 'branch', pool ? branch : 'main'],
    headers: {
      ...headers,
      'Content-Type': mediaTypeFor(format, piped, file) || '*/*',
      ...(isGzip && !piped && { 'Content-Encoding': 'gzip' }),
    },
    ...(Object.keys(query).length > 0 && { query }),
    file,
  });
  const elements = "jq -c '.[]'";
  const reader = `${isGzip ? 'gzip -dc' : elements} ${shellWord(file.startsWith('-') ? `./${file}` : file)}${isGzip ? ` | ${elements}` : ''}`;
  const load = piped ? `${reader} | ${curl.slice(0, curl.lastIndexOf(' < '))}` : curl;
  return pool
    ? load
    : `${curlOf({ method: 'POST', path: ['pool'], json: { name: name || 'POOL', layout: layoutOf(keysOf(key), order) } })} && ${load}`;
};

/** The service that `lake load` sends to: where, as whom, and one request as all of its parts send it. */
import type { LoadOptions } from '../../config/tables.ts';
import { csvParameters } from '../../config/csv.ts';
import { errorsParameter, rejectedParameter } from '../../config/faults.ts';
import { utf8Parameter } from '../../config/utf8.ts';
import { inputFormatNamed } from '../format-options.ts';
import { type FormatName } from '../../formats/formats.ts';
import { noAnswerText } from '../no-answer.ts';
import { addressIn, poolAndBranch, serviceOf } from './address.ts';

/** Where to load, and what goes with each load. */
export interface Target {
  readonly service: URL;
  readonly pool: string;
  readonly branch: string;
  /** Path and parameters of a load. */
  readonly path: string;
  /** Those that say who is asking, and for what commit. */
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: by the name of each input, else by its bytes. */
  readonly format: FormatName | undefined;
}

/** @throws ConfigError */
export const targetOf = ({ values }: LoadOptions): Target => {
  const { pool, branch } = poolAndBranch(values['use']);
  const token = values['token'];
  const given = Object.entries({ author: values['user'], body: values['message'], meta: values['meta'] }).filter(
    ([, value]) => value !== '',
  );
  const query = new URLSearchParams();
  for (const name of ['csv.delim', ...loadParameters] as const) if (values[name] !== '') query.set(name, values[name]);
  if (values['upsert']) query.set('upsert', 'T');
  if (values['delete'] !== '') query.set('delete', values['delete']);
  const parameters = query.toString();
  return {
    service: serviceOf(values['lake']),
    pool,
    branch,
    path: `/pool/${encodeURIComponent(pool)}/branch/${encodeURIComponent(branch)}${parameters && `?${parameters}`}`,
    headers: {
      accept: 'application/json',
      ...(token !== '' && { authorization: `Bearer ${token}` }),
      ...(given.length > 0 && { 'superdb-commit': asciiJson(Object.fromEntries(given)) }),
    },
    format: inputFormatNamed(values['i']),
  };
};
const loadParameters = [utf8Parameter, errorsParameter, rejectedParameter, ...csvParameters].map(({ name }) => name);

/** No answer came: the service may have got the request, or not. */
export class NoAnswer extends Error {}
/** The service refused. */
export class Refused extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** One request; the answer's body as it was read. @throws NoAnswer, Refused */
export const ask = async (
  { service }: Pick<Target, 'service'>,
  path: string,
  init: RequestInit,
): Promise<{ readonly headers: Headers; readonly body: unknown }> => {
  let response: Response;
  let text: string;
  try {
    response = await fetch(addressIn(service, path), init);
    text = await response.text();
  } catch (cause) {
    throw noAnswer(service, cause);
  }
  const body = parsed(text);
  if (!response.ok) {
    const { error, hint } = body as { readonly error?: string; readonly hint?: string };
    throw new Refused(
      response.status,
      `${error ?? `${response.status} ${text}`}${hint === undefined ? '' : `\nhint: ${hint}`}`,
    );
  }
  return { headers: response.headers, body };
};

/** Headers hold ASCII alone. */
export const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replace(/[^\x20-\x7e]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return {};
  }
};
/** The fault of a service that `fetch` had no answer from. */
export const noAnswer = (service: URL, cause: unknown): NoAnswer =>
  new NoAnswer(noAnswerText(service, cause), { cause });

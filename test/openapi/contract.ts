/** Holds answers against the document of the API: what an endpoint answers is what it says that it answers. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { openApiDocument } from '../../src/http/openapi/document.ts';
import { routes } from '../../src/http/routes/routes.ts';

export type Json = { readonly [name: string]: Json } & Readonly<Record<string, unknown>>;
interface Answered {
  readonly method: string;
  /** Of the request line. */
  readonly url: string;
  readonly status: number;
  readonly contentType?: string | undefined;
  readonly headers?: Readonly<Record<string, unknown>>;
  /** Absent: not looked at. */
  readonly body?: string;
}

export const document = (guarded = false): Json => openApiDocument(routes, { version: 'v0.0.0-test', guarded }) as Json;
const shown = document();
const paths = shown['paths'] as Readonly<Record<string, Json>>;
const patterns = Object.keys(paths)
  .map((path) => ({ path, pattern: new RegExp(`^${path.replaceAll(/[.]/g, '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`) }))
  .sort((a, b) => Number(a.path.includes('{')) - Number(b.path.includes('{')));
const errorTexts = shown['components']!['x-errors'] as Readonly<Record<string, { readonly text: string }>>;

const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema({ $id: 'document', components: shown['components'] });
const validators = new Map<string, ValidateFunction>();
/** What is wrong with a value by a schema of the document; undefined: nothing. */
export const faultOf = (schema: object, value: unknown): string | undefined => {
  const text = JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/');
  let validate = validators.get(text);
  if (!validate) validators.set(text, (validate = ajv.compile(JSON.parse(text) as object)));
  return validate(value) ? undefined : ajv.errorsText(validate.errors);
};

/** What an answer has that the document does not say; undefined: nothing. */
export const undocumented = (answered: Answered): string | undefined => {
  const { method, url, status, contentType, headers, body } = answered;
  const path = url.replace(/[?#].*$/s, '');
  // A bad escape is no request, dot segments and doubled slashes are sent to the clean path.
  const found = /%(?![0-9a-fA-F]{2})|\/\/|\/\.\.?(\/|$)/.test(path)
    ? undefined
    : patterns.find(({ pattern }) => pattern.test(path))?.path;
  // What is no path has answers of its own.
  if (found === undefined)
    return [301, 400, 404, 431, 200].includes(status) ? undefined : `${status} for a path that is none`;
  const item = paths[found]!;
  const operation = item[method.toLowerCase()] ?? (method === 'HEAD' && status === 200 ? item['get'] : undefined);
  if (!operation)
    return status === 405 || method === 'OPTIONS' || (method !== 'GET' && '/version /status'.includes(found))
      ? undefined
      : `${status} for a method that is not there`;
  const answer = operation['responses']![String(status)];
  if (!answer) return `${status}: not a status of it (${Object.keys(operation['responses']!).join(', ')})`;
  for (const name of Object.keys((answer['headers'] ?? {}) as object)) {
    if (headers && shown['components']!['headers']![name]!['required'] && headers[name.toLowerCase()] === undefined)
      return `${status}: no header ${name}`;
  }
  const type = contentType?.split(';')[0]!.trim().toLowerCase();
  const content = answer['content'] as unknown as Readonly<Record<string, { readonly schema?: object }>> | undefined;
  if (type !== undefined && method !== 'HEAD' && !content?.[type]) return `${status}: not a media type of it: ${type}`;
  if (body === undefined || type === undefined || !/^application\/json$/.test(type)) return undefined;
  const value = JSON.parse(body) as unknown;
  const { schema } = content![type]!;
  const fault = schema && faultOf(schema, value);
  if (fault !== undefined) return `${status}: ${fault}: ${body.slice(0, 300)}`;
  const codes = answer['x-errors'] as unknown as readonly string[] | undefined;
  const text = (value as { readonly error?: string }).error;
  if (codes && text !== undefined && !codes.some((code) => matchesTemplate(errorTexts[code]!.text, text)))
    return `${status}: an error that it does not list: ${text.slice(0, 300)}`;
  return undefined;
};

const matchesTemplate = (template: string, text: string): boolean =>
  new RegExp(
    `^${template
      .split(/\{\w+\}/)
      .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('[^]*')}$`,
  ).test(text);

/** As they went out: those that the framework hands over with the status are not among the response's own. */
const sentHeaders = (response: ServerResponse): Readonly<Record<string, string>> =>
  Object.fromEntries(
    ((response as { readonly _header?: string })._header ?? '')
      .split('\r\n')
      .slice(1)
      .flatMap((line) =>
        line === ''
          ? []
          : [[line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()] as const],
      ),
  );

/**
 * Looks at every answer of the servers of this process until `stop`, which gives what was wrong with them, each once.
 */
export const watchAnswers = (): { readonly stop: () => readonly string[] } => {
  const faults = new Set<string>();
  const look = (message: unknown): void => {
    const { request, response } = message as { readonly request: IncomingMessage; readonly response: ServerResponse };
    const url = (request as { originalUrl?: string }).originalUrl ?? request.url ?? '/';
    const headers = sentHeaders(response);
    // A target that the router must not see has another address by now.
    if (url.startsWith('/.')) return;
    // A store that a test keeps in its own process is asked by the service alone.
    if (request.headers.authorization?.startsWith('AWS4-HMAC-SHA256')) return;
    const fault = undocumented({
      method: request.method!,
      url,
      status: response.statusCode,
      contentType: headers['content-type'],
      headers,
    });
    if (fault !== undefined) faults.add(`${request.method} ${url.slice(0, 200)}: ${fault}`);
  };
  subscribe('http.server.response.finish', look);
  return {
    stop: () => {
      unsubscribe('http.server.response.finish', look);
      return [...faults];
    },
  };
};

/**
 * The service's OpenAPI 3.1 document, made from the route table: from the schemas that requests are read by, the
 * answers that rows list, and the error table.
 *
 * - @fastify/swagger is not used: it would make the document from Fastify's own route options, and ours say more in the
 *   route table, where each row has one place.
 * - Statuses are exact: there is no `default` and no range, so that what is not listed is a fault of ours.
 * - `x-writes`: the endpoint is there to change something.
 * - `x-errors` of an answer lists its errors by code, those of the components say what they are; `x-events` of the
 *   event feed the events, with their schemas; `x-role` of an endpoint is the role that it asks for (names of roles
 *   beside a scheme are OpenAPI's own way since 3.1, which tools take for scopes that are not declared).
 */
import type { TSchema } from 'typebox';
import { type ErrorCode, errorTable } from '../../errors.ts';
import { type Format, formatTable } from '../../formats/formats.ts';
import {
  type AnswerHeader,
  type AnswerHeaderRow,
  answerHeaderTable,
  type RequestHeader,
  type RequestHeaderRow,
  requestHeaderTable,
} from './headers.ts';
import type { Answer, Route, Tag } from '../route.ts';
import { errorsByStatus, errorsOf } from '../route-errors.ts';
import { problemType } from '../bodies/negotiate.ts';
import { commitMessageExample, ErrorBody, eventTable, ProblemBody, Rows } from '../schemas.ts';

/** Of which service the document is. */
interface DocumentOptions {
  readonly version: string;
  /** Whether there is access control: what one has to show is said only where it is asked for. */
  readonly guarded: boolean;
}
type Json = Readonly<Record<string, unknown>>;

/** The document as plain JSON. */
export const openApiDocument = (routes: readonly Route[], { version, guarded }: DocumentOptions): Json => {
  const components = new Map<string, Json>();
  const refs = (schema: TSchema): Json => referenced(schema, components);
  const paths: Record<string, Record<string, Json>> = {};
  const parameters = headerParameters(refs);
  const headers = answerHeaders(refs);
  for (const row of routes) {
    const item = (paths[pathOf(row)] ??= {});
    item[row.method.toLowerCase()] = operation(row, refs, guarded);
    if (row.anyMethod) for (const method of otherMethods) item[method] = sameAs(row, method, refs, guarded);
  }
  return {
    openapi: '3.1.0',
    jsonSchemaDialect: 'https://spec.openapis.org/oas/3.1/dialect/base',
    info: {
      title: 'Lake data service',
      version,
      contact: { name: 'The Lake data service project' },
      license: { name: 'BSD-3-Clause', identifier: 'BSD-3-Clause' },
      summary: 'A lake of records of any shape, versioned like git, queried over HTTP',
      description: introduction,
    },
    servers: [{ url: '.', description: 'This service' }],
    tags: Object.entries(tagTexts).map(([name, description]) => ({ name, description })),
    paths,
    ...(!guarded && { security: [] }),
    components: {
      schemas: Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
      parameters,
      headers,
      ...(guarded && { securitySchemes }),
      'x-errors': Object.fromEntries([...new Set(routes.flatMap(errorsOf))].map((code) => [code, errorTable[code]])),
    },
  };
};

/** The path as OpenAPI writes it: `/pool/{pool}` for `/pool/:pool`. */
export const pathOf = ({ path }: Pick<Route, 'path'>): string => path.replaceAll(/:(\w+)/g, '{$1}');
const otherMethods = ['head', 'post', 'put', 'patch', 'delete', 'options'] as const;

const introduction = `Pools hold records of any shape in the order of a key. Each pool has branches, a branch is a line of commits, and every commit stays readable.
Queries in SuperSQL or SQL read one or many pools; every change is an event.

**Formats.** An answer comes in the format that \`Accept\` rates highest, of equal ones in the first; without it in SUP (option \`-defaultfmt\`). A body is read as what its \`Content-Type\` says; without one it is SUP, or for data it is found out.
The schemas here are those of JSON. In SUP ids are written without quotes, and time and types are types.

**Errors** are JSON whatever is accepted; \`kind\` tells programs what \`error\` tells people. What is no request of an endpoint has answers of its own: 301 to the clean path for doubled slashes and dot segments, 404 with a plain text
for unknown paths, 405 with \`Allow\` for other methods, 400 or 431 in plain text for what is no HTTP or has headers that are too long.

**Web pages** of other origins are refused (403) unless option \`-cors.origin\` lists their origin: they may neither read nor change anything. A preflight (OPTIONS) is answered on \`/query\`, \`/query/describe\`
and the open endpoints.`;

const tagTexts = {
  Pools: 'Make, rename, delete and measure pools',
  Branches: 'Make, look at, merge, revert and delete branches',
  Data: 'Load and delete records; tidy up data objects',
  Queries: 'Ask, watch, cancel; understand a text',
  Shippers: 'What other programs send by protocols of their own',
  Events: 'What changes, as it happens',
  Service: 'Health, version, figures, this document',
  Access: 'Who one is',
  Pages: 'For people with a browser',
} as const satisfies Record<Tag, string>;

const securitySchemes = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key (`lake key add`) or a token of the issuer that the service trusts.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'lake_session',
    description: 'The cookie that `POST /auth/session` gives, for pages of the service itself.',
  },
} as const;

const operation = (row: Route, refs: (schema: TSchema) => Json, guarded: boolean): Json => ({
  operationId: row.id,
  tags: [row.tag],
  summary: row.summary,
  ...descriptionOf(row),
  ...parametersOf(row, refs),
  ...(row.body !== undefined && { requestBody: requestBody(row, refs) }),
  responses: responses(row, refs),
  ...(row.writes && { 'x-writes': true }),
  ...(guarded &&
    (row.need === 'open'
      ? { security: [] }
      : { security: [{ bearer: [] }, { session: [] }], ...(row.need !== 'known' && { 'x-role': row.need }) })),
  ...(row.path === '/events' && {
    'x-events': Object.fromEntries(
      Object.entries(eventTable).map(([name, { data, superdb, when }]) => [name, { when, superdb, data: refs(data) }]),
    ),
  }),
});

/** A health check that sends another method gets the same answer. */
const sameAs = (
  row: Route,
  method: (typeof otherMethods)[number],
  refs: (schema: TSchema) => Json,
  guarded: boolean,
): Json => {
  const { [200]: good, ...others } = responses(row, refs) as Readonly<Record<number, Json>>;
  const bare = ({ content: _, ...rest }: Json): Json => rest;
  const answers = {
    200: good,
    ...(method === 'options' && row.preflight && { 204: { description: 'A preflight of a web page is answered.' } }),
    ...others,
  } as Readonly<Record<string, Json>>;
  return {
    operationId: `${row.id}By${method[0].toUpperCase()}${method.slice(1)}`,
    tags: [row.tag],
    summary: `${row.summary} (the same by ${method.toUpperCase()})`,
    ...descriptionOf(row),
    'x-same-as': row.id,
    responses:
      method === 'head'
        ? Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, bare(answer)]))
        : answers,
    ...(guarded && { security: [] }),
  };
};

const needTexts: Readonly<Record<Route['need'], string>> = {
  open: '',
  known: 'With access control: any token; what one may read decides.',
  reader: 'With access control: a reader of the lake.',
  writer: 'With access control: a writer of the lake.',
  admin: 'With access control: an admin of the lake.',
  'reader of pool': 'With access control: a reader of the pool.',
  'writer of pool': 'With access control: a writer of the pool.',
  'admin of pool': 'With access control: an admin of the pool.',
};
const descriptionOf = ({ description, need }: Route): Json => {
  const text = [description, needTexts[need]].filter((part) => part !== undefined && part !== '').join('\n\n');
  return text === '' ? {} : { description: text };
};

interface ObjectShape {
  readonly properties?: Readonly<Record<string, TSchema & { readonly description?: string }>>;
  readonly required?: readonly string[];
}
const parametersOf = (row: Route, refs: (schema: TSchema) => Json): Json => {
  const from = (schema: TSchema | undefined, place: 'path' | 'query'): Json[] => {
    const { properties = {}, required = [] } = (schema ?? {}) as ObjectShape;
    return Object.entries(properties).map(([name, shape]) => {
      const { description, ...rest } = refs(shape);
      return {
        name,
        in: place,
        ...(required.includes(name) && { required: true }),
        ...(description !== undefined && { description }),
        schema: place === 'path' ? { minLength: 1, ...rest } : rest,
      };
    });
  };
  const names: readonly RequestHeader[] = [
    'X-Request-ID',
    ...(row.open ? [] : (['Lake-After'] satisfies RequestHeader[])),
    ...(row.body === undefined ? [] : (['Content-Encoding'] satisfies RequestHeader[])),
    ...(row.takes ?? []),
  ];
  const headers = names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
  const all = [...from(row.params, 'path'), ...from(row.query, 'query'), ...headers];
  return all.length === 0 ? {} : { parameters: all };
};

const httpFormats = Object.values(formatTable).filter((format) => format.mediaTypes.length > 0);
/** Formats that a body of one record cannot have: they hold no records, or are for answers. */
const noRecord: ReadonlySet<string> = new Set(['line', 'ndjson']);
const ofFormats = (formats: readonly Format[], content: (format: Format) => Json): Json =>
  Object.fromEntries(formats.flatMap((format) => format.mediaTypes.map((type) => [type, content(format)])));
/** Of formats whose schema is not that of JSON. */
const otherContent = ({ isBinary }: Format): Json => (isBinary ? {} : { schema: { type: 'string' } });

const requestBody = ({ body, examples, textField, mediaTypes }: Route, refs: (schema: TSchema) => Json): Json => {
  const shown = (values: Readonly<Record<string, unknown>> | undefined): Json =>
    values === undefined
      ? {}
      : {
          examples: Object.fromEntries(
            Object.entries(values).map(([summary, value]) => [nameOf(summary), { summary, value }]),
          ),
        };
  if (mediaTypes)
    return {
      required: true,
      description: 'As the protocol has it.',
      content: Object.fromEntries(
        Object.entries(mediaTypes).map(([type, schema]) => [type, schema ? { schema: refs(schema) } : {}]),
      ),
    };
  if (body === 'data' || body === undefined) {
    return {
      required: true,
      description:
        "Records in any format. Without a Content-Type (or with `*/*`, or curl's form-urlencoded) the format is found out. gzip is recognised by its first bytes.",
      content: ofFormats(httpFormats, (format) =>
        format.name === 'json'
          ? { schema: {}, ...shown(examples) }
          : { ...otherContent(format), ...shown(dataExamples[format.name]) },
      ),
    };
  }
  const schema = refs(body);
  const formats = httpFormats.filter(({ name }) => !noRecord.has(name));
  const isRequired = ['required', 'anyOf', 'oneOf'].some((word) => word in body);
  return {
    ...(isRequired && { required: true }),
    description:
      'One record. Without a Content-Type it is SUP. In CSV and TSV a column `layout.order` is the field of `layout`, and lists are SUP (`[["a","b"]]`) or items with commas between them (`a.b,c`).',
    content: {
      ...ofFormats(formats, ({ name }) =>
        name === 'json' ? { schema, ...shown(examples) } : name === 'sup' ? { schema } : {},
      ),
      ...(textField !== undefined && { 'application/sql': { schema: { type: 'string', format: 'superql' } } }),
    },
  };
};
const dataExamples: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  sup: {
    'Two records of unlike shapes':
      '{ts:2026-11-21T12:00:00Z,level:"info"}\n{ts:2026-11-21T12:00:01Z,level:"warn",peer:10.0.0.7}\n',
  },
  csv: { 'A header and two rows': 'ts,level\n2026-11-21T12:00:00Z,info\n2026-11-21T12:00:01Z,warn\n' },
};
const nameOf = (summary: string): string =>
  summary
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');

const responses = (row: Route, refs: (schema: TSchema) => Json): Json => {
  const out: Record<string, Json> = {};
  for (const [status, answer] of Object.entries(row.answers)) out[status] = success(row, answer, refs);
  for (const [status, codes] of errorsByStatus(row)) {
    const failure = failed(row, status, codes, refs);
    const plain = out[status];
    // A row may have an answer of its own for a status that errors have too: /ready is 503.
    out[status] = plain
      ? {
          ...failure,
          description: `${plain['description'] as string}; or: ${failure['description'] as string}`,
          content: { ...(plain['content'] as Json), ...(failure['content'] as Json) },
        }
      : failure;
  }
  return out;
};

const success = (
  row: Route,
  { text, value, rows, content, headers = [], example, links }: Answer,
  refs: (schema: TSchema) => Json,
): Json => {
  const schema = value ?? (rows ? Rows : undefined);
  const bodies = schema
    ? ofFormats(httpFormats, (format) =>
        format.name === 'json'
          ? { schema: refs(schema), ...(example !== undefined && { example }) }
          : otherContent(format),
      )
    : content &&
      Object.fromEntries(
        Object.entries(content).map(([type, each]) => [
          type,
          { schema: refs(each), ...(example !== undefined && { example }) },
        ]),
      );
  return {
    description: text,
    ...headersOf([
      'X-Request-ID',
      ...(row.open ? [] : (['Lake-Event'] as const)),
      ...(schema ? (['Content-Encoding', 'Vary'] as const) : []),
      ...headers,
    ]),
    ...(bodies && { content: bodies }),
    ...(links &&
      Object.keys(links).length > 0 && {
        links: Object.fromEntries(
          Object.entries(links).map(([name, { to, parameters }]) => [name, { operationId: to, parameters }]),
        ),
      }),
  };
};

const failed = (row: Route, status: number, codes: readonly ErrorCode[], refs: (schema: TSchema) => Json): Json => {
  const kinds = [...new Set(codes.map((code) => errorTable[code].kind))];
  return {
    description: statusTexts[status] ?? 'It was not done.',
    ...headersOf([
      'X-Request-ID',
      ...(row.refuse ? [] : (['Link'] as const)),
      ...(status === 405 ? (['Allow'] as const) : []),
      ...(status === 401 ? (['WWW-Authenticate'] as const) : []),
      ...(status === 503 && Object.keys(row.answers).every((s) => s !== '503') ? (['Retry-After'] as const) : []),
    ]),
    content: row.refusal
      ? Object.fromEntries(Object.entries(row.refusal).map(([type, each]) => [type, { schema: refs(each) }]))
      : row.refuse
        ? Object.fromEntries(Object.keys(row.mediaTypes ?? {}).map((type) => [type, {}]))
        : {
            'application/json': { schema: { ...refs(ErrorBody), properties: { kind: { enum: kinds } } } },
            [problemType]: { schema: refs(ProblemBody) },
          },
    'x-errors': codes,
  };
};
const statusTexts: Readonly<Record<number, string>> = {
  400: 'The request is wrong',
  401: 'It is not clear who asks',
  403: 'Who asks may not do this',
  404: 'It is not there',
  408: 'The body stopped coming',
  409: 'It is in conflict with what is there',
  410: 'It was there and is gone',
  412: 'The branch is not where If-Match says',
  413: 'More than a limit allows',
  417: 'The Expect header has an unknown expectation',
  422: 'The Idempotency-Key was used for another request',
  426: 'It is a WebSocket',
  429: 'Too much at once: send it again',
  499: 'It was cancelled',
  500: 'The service is at fault',
  501: 'The body has a transfer coding that is not known',
  421: 'This service takes no writes: another one does',
  503: 'Not now: try again',
  504: 'The event that Lake-After names did not come in time',
  507: 'The disk is full',
};

const headersOf = (names: readonly AnswerHeader[]): Json =>
  names.length === 0
    ? {}
    : {
        headers: Object.fromEntries(
          [...new Set(names)].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
        ),
      };

const headerParameters = (refs: (schema: TSchema) => Json): Json =>
  Object.fromEntries(
    Object.entries(requestHeaderTable as Readonly<Record<string, RequestHeaderRow>>).map(
      ([name, { description, schema, example, json }]) => [
        name,
        {
          name,
          in: 'header',
          description,
          ...(json
            ? { content: { 'application/json': { schema: refs(schema), example: commitMessageExample } } }
            : { schema: refs(schema), ...(example !== undefined && { example }) }),
        },
      ],
    ),
  );
const answerHeaders = (refs: (schema: TSchema) => Json): Json =>
  Object.fromEntries(
    Object.entries(answerHeaderTable as Readonly<Record<string, AnswerHeaderRow>>).map(
      ([name, { description, schema, always }]) => [
        name,
        { description, ...(always && { required: true }), schema: refs(schema) },
      ],
    ),
  );

/** A schema with its named parts as references; these become components. */
const referenced = (schema: TSchema, components: Map<string, Json>): Json => {
  const walk = (x: unknown): unknown => {
    if (Array.isArray(x)) return x.map(walk);
    if (typeof x !== 'object' || x === null) return x;
    const { $id, ...rest } = x as { readonly $id?: string };
    const plain = (): Json => Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, walk(value)]));
    if ($id === undefined) return plain();
    if (!components.has($id)) {
      components.set($id, {});
      components.set($id, { title: $id, ...plain() });
    }
    return { $ref: `#/components/schemas/${$id}` };
  };
  return walk(schema) as Json;
};

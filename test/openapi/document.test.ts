/** The document of the API: that it is whole, well-formed by OpenAPI 3.1, and true. */
import { describe, expect, test } from 'vitest';
import { errorTable } from '../../src/errors.ts';
import { pathOf } from '../../src/http/openapi/document.ts';
import { routes } from '../../src/http/routes/routes.ts';
import { document, faultOf, type Json, undocumented } from './contract.ts';

const shown = document();
const guarded = document(true);
const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'];
interface Operation {
  readonly path: string;
  readonly method: string;
  readonly operation: Json;
}
const operationsOf = (doc: Json): readonly Operation[] =>
  Object.entries(doc['paths'] as Readonly<Record<string, Json>>).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation: operation as Json })),
  );
const operations = operationsOf(shown);
const resolved = (x: Json): Json => {
  const ref = x['$ref'] as unknown;
  return typeof ref === 'string'
    ? ref
        .slice(2)
        .split('/')
        .reduce<Json>((at, name) => at[name]!, shown)
    : x;
};
/** All objects below, with where they are. */
const walk = function* (x: unknown, at = '#'): Generator<readonly [string, Json]> {
  if (typeof x !== 'object' || x === null) return;
  if (!Array.isArray(x)) yield [at, x as Json];
  for (const [name, value] of Object.entries(x)) yield* walk(value, `${at}/${name}`);
};
const parametersOf = ({ operation }: Operation): readonly Json[] =>
  ((operation['parameters'] ?? []) as unknown as readonly Json[]).map(resolved);

describe('the document', () => {
  test('has every row of the route table, and nothing else', () => {
    const rows = routes.flatMap((row) =>
      (row.anyMethod ? methods : [row.method.toLowerCase()]).map((method) => `${method} ${pathOf(row)}`),
    );
    expect(operations.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(rows.sort());
    for (const row of routes) {
      const names = parametersOf({
        path: pathOf(row),
        method: row.method.toLowerCase(),
        operation: operations.find((o) => o.path === pathOf(row) && o.method === row.method.toLowerCase())!.operation,
      }).map((p) => p['name'] as unknown);
      for (const schema of [row.params, row.query])
        expect(names, row.path).toEqual(
          expect.arrayContaining(
            Object.keys((schema as { readonly properties?: object } | undefined)?.properties ?? {}),
          ),
        );
    }
  });

  test('has the parts that OpenAPI 3.1 asks for', () => {
    expect(shown).toMatchObject({
      openapi: '3.1.0',
      info: { title: expect.any(String), version: 'v0.0.0-test', license: { identifier: 'BSD-3-Clause' } },
      servers: [{ url: '.' }],
    });
    const tags = (shown['tags'] as unknown as readonly { readonly name: string }[]).map((tag) => tag.name);
    const ids = operations.map(({ operation }) => operation['operationId'] as unknown as string);
    expect(ids.filter((id, i) => ids.indexOf(id) !== i || !/^[a-z][A-Za-z]+$/.test(id))).toEqual([]);
    for (const one of operations) {
      const { path, method, operation } = one;
      const at = `${method} ${path}`;
      const parameters = parametersOf(one);
      expect(methods, at).toContain(method);
      expect(tags, at).toEqual(expect.arrayContaining(operation['tags'] as unknown as string[]));
      expect(typeof operation['summary'], at).toBe('string');
      expect(
        parameters
          .filter((p) => (p['in'] as unknown) === 'path')
          .map((p) => p['name'] as unknown)
          .sort(),
        at,
      ).toEqual([...path.matchAll(/\{(\w+)\}/g)].map((m) => m[1]!).sort());
      for (const p of parameters) {
        expect(['path', 'query', 'header'], at).toContain(p['in'] as unknown);
        expect(Number('schema' in p) + Number('content' in p), `${at} ${String(p['name'])}`).toBe(1);
        if ((p['in'] as unknown) === 'path') expect(p['required'] as unknown, at).toBe(true);
        if ((p['in'] as unknown) === 'header')
          expect(['accept', 'content-type', 'authorization'], at).not.toContain(
            (p['name'] as unknown as string).toLowerCase(),
          );
      }
      expect(new Set(parameters.map((p) => `${String(p['in'])} ${String(p['name'])}`)).size, at).toBe(
        parameters.length,
      );
      if (operation['requestBody'])
        expect(Object.keys(operation['requestBody']['content']!).length, at).toBeGreaterThan(0);
    }
  });

  test('lists exact statuses alone, each with its text and its media types', () => {
    for (const { path, method, operation } of operations) {
      const answers = Object.entries(operation['responses']!);
      expect(
        // What is off answers nothing else.
        answers.some(([status]) => /^[12]/.test(status)) || path.endsWith('/collector/ack'),
        `${method} ${path}`,
      ).toBe(true);
      for (const [status, answer] of answers) {
        expect(status).toMatch(/^[1-5]\d\d$/);
        expect(((answer as Json)['description'] as unknown as string).length).toBeGreaterThan(1);
        for (const type of Object.keys((answer as Json)['content'] ?? {}))
          expect(type).toMatch(/^[a-z]+\/[a-z0-9.+-]+$/);
      }
    }
  });

  test('refers only to what is there', () => {
    const ids = new Map(operations.map((one) => [one.operation['operationId'] as unknown as string, one]));
    for (const [at, x] of walk(shown)) {
      const ref = x['$ref'] as unknown;
      if (typeof ref === 'string') expect(resolved(x), `${at}: ${ref}`).toBeTypeOf('object');
      // A field of a schema may have the name, too.
      if (!at.endsWith('/links') || at.endsWith('/properties/links')) continue;
      for (const link of Object.values(x) as Json[]) {
        const target = ids.get(link['operationId'] as unknown as string);
        expect(target, at).toBeDefined();
        expect(
          parametersOf(target!)
            .filter((p) => (p['in'] as unknown) === 'path')
            .map((p) => p['name'] as unknown)
            .sort(),
          at,
        ).toEqual(Object.keys(link['parameters']!).sort());
      }
    }
  });

  test('has schemas that are schemas, and examples that fit them', () => {
    let examples = 0;
    for (const [at, x] of walk(shown)) {
      const schema = x['schema'] as object | undefined;
      if (schema === undefined || typeof schema !== 'object' || at.endsWith('/properties')) continue;
      faultOf(schema, undefined);
      const values = [
        ...('example' in x ? [x['example']] : []),
        ...Object.values((x['examples'] ?? {}) as Readonly<Record<string, { readonly value: unknown }>>).map(
          (e) => e.value,
        ),
      ];
      for (const value of values) {
        examples++;
        expect(faultOf(schema, value), `${at}: ${JSON.stringify(value)}`).toBeUndefined();
      }
    }
    expect(examples).toBeGreaterThan(40);
  });

  test('says who may ask only where that is asked', () => {
    expect([...walk(shown)].filter(([, x]) => 'security' in x || 'securitySchemes' in x)).toEqual([['#', shown]]);
    expect(shown['security']).toEqual([]);
    expect(Object.keys(guarded['components']!['securitySchemes']!)).toEqual(['bearer', 'session']);
    for (const { path, method, operation } of operationsOf(guarded)) {
      const row = routes.find((r) => pathOf(r) === path && (r.method.toLowerCase() === method || r.anyMethod))!;
      const asked = row.need === 'open' ? [] : [{ bearer: [] }, { session: [] }];
      expect(operation['security'] as unknown, `${method} ${path}`).toEqual(asked);
      expect(operation['x-role'] as unknown, `${method} ${path}`).toBe(
        row.need === 'open' || row.need === 'known' ? undefined : row.need,
      );
      if (row.need !== 'open') expect(Object.keys(operation['responses']!)).toEqual(expect.arrayContaining(['401']));
    }
  });

  /**
   * Errors of the command line, of start-up and of recordings, which no request provokes; and those of the Iceberg
   * catalogue and its bucket, which are described by specifications of their own.
   */
  const elsewhere =
    /^(iceberg-(?!unknown)|oauth-|s3-|source-(regexp|meta)-files|recording-invalid|replay-partial|scenario-invalid|load-without-lake|lake-(locked|newer|unreadable)|repair-forbidden|store-(strange|diverged|empty|unconditional|held)|replica-late|format-not-read|method-not-allowed)/;
  test('has every error that a request can provoke', () => {
    const listed = new Set(
      [...walk(shown)].flatMap(([, x]) =>
        Array.isArray(x['x-errors']) ? (x['x-errors'] as unknown as readonly string[]) : [],
      ),
    );
    expect(Object.keys(errorTable).filter((code) => !listed.has(code) && !elsewhere.test(code))).toEqual([]);
  });
});

describe('the check of answers', () => {
  const answer = {
    method: 'POST',
    url: '/pool/p/branch/main?csv.delim=a',
    status: 200,
    contentType: 'application/json',
    body: '{"commit":"0x178f59ec85db0a8c7d3d5ed926f7f4d11add9066","warnings":[]}',
  };
  test('finds a status, a media type, a body, a header and an error that are not documented', () => {
    expect(undocumented(answer)).toBeUndefined();
    expect(undocumented({ ...answer, status: 418 })).toMatch(/^418: not a status of it/);
    expect(undocumented({ ...answer, contentType: 'image/png' })).toBe('200: not a media type of it: image/png');
    expect(undocumented({ ...answer, body: '{"commit":1,"warnings":null}' })).toMatch(/^200: .*commit must be string/);
    expect(undocumented({ ...answer, headers: { etag: 'x' } })).toBe('200: no header X-Request-ID');
    expect(
      undocumented({
        ...answer,
        status: 404,
        body: '{"type":"Error","kind":"item does not exist","error":"p: pool not found"}',
      }),
    ).toBeUndefined();
    expect(
      undocumented({
        ...answer,
        status: 404,
        body: '{"type":"Error","kind":"item does not exist","error":"all is well"}',
      }),
    ).toMatch(/an error that it does not list/);
    expect(
      undocumented({ ...answer, status: 404, body: '{"type":"Error","kind":"gone","error":"p: pool not found"}' }),
    ).toMatch(/kind must be equal to one of/);
    expect(undocumented({ ...answer, method: 'PATCH' })).toBe('200 for a method that is not there');
  });
});

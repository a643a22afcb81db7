/**
 * Runs test/cases/http/*.yaml over real sockets. A file has `setup` requests and `cases`; a case is one request with
 * the answer that must come, whole. Ids and times in answers are masked (`<id>`, `<time>`: one with a fraction of a
 * second). With `unchanged: true` the lake must be the same afterwards: no event, no other answer to "what is in it".
 * Every answer is held against the document of the API.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readFileSync, readdirSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { parse } from 'yaml';
import { undocumented } from './openapi/contract.ts';
import { type TestService, startService } from './support/service/server.ts';

interface Exchange {
  /** `POST /pool/p/branch/main`. */
  readonly request: string;
  /** Several values are several lines. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
  readonly base64?: string;
  readonly gzip?: boolean;
  /** Send the body in chunks. */
  readonly chunked?: boolean;
}
interface Case extends Exchange {
  readonly fact: string;
  readonly why?: string;
  readonly status: number;
  /** Media type with parameters, as it stands in the header. */
  readonly type?: string;
  /** Text, or JSON that the body must parse to. */
  readonly answer?: unknown;
  /** `<any>`: there is one; null: there is none. */
  readonly answerHeaders?: Readonly<Record<string, string | null>>;
  readonly unchanged?: boolean;
}
interface CaseFile {
  readonly flags?: readonly string[];
  readonly setup?: readonly Exchange[];
  readonly cases: readonly Case[];
}
interface Got {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

const folder = fileURLToPath(new URL('cases/http/', import.meta.url));

const send = (base: string, exchange: Exchange): Promise<Got> =>
  new Promise((resolve, reject) => {
    const blank = exchange.request.indexOf(' ');
    const plain =
      exchange.base64 !== undefined
        ? Buffer.from(exchange.base64, 'base64')
        : exchange.body !== undefined
          ? Buffer.from(exchange.body)
          : undefined;
    const body = plain && exchange.gzip ? gzipSync(plain) : plain;
    const { hostname, port } = new URL(base);
    const client = httpRequest(
      {
        hostname,
        port,
        method: exchange.request.slice(0, blank),
        path: exchange.request.slice(blank + 1),
        agent: false,
        headers: {
          ...exchange.headers,
          ...(body && !exchange.chunked && { 'content-length': String(body.length) }),
          ...(exchange.chunked && { 'transfer-encoding': 'chunked' }),
        },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }));
        response.on('error', reject);
      },
    );
    client.on('error', reject);
    client.end(body);
  });

const masked = (text: string): string =>
  text
    .replaceAll(/0x(?!0{40})[0-9a-f]{40}/g, '<id>')
    .replaceAll(/20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{4,9}Z/g, '<time>');

for (const name of readdirSync(folder)
  .filter((f) => f.endsWith('.yaml'))
  .sort()) {
  const { flags = [], setup = [], cases } = parse(readFileSync(folder + name, 'utf8')) as CaseFile;
  describe(name, () => {
    let service: TestService;
    beforeAll(async () => {
      service = await startService(flags);
      for (const exchange of setup) {
        const got = await send(service.url, exchange);
        expect(got.status, `${exchange.request}: ${got.body}`).toBeLessThan(300);
      }
    });
    afterAll(() => service?.close());
    const state = async (): Promise<unknown> => ({
      lastEvent: service.lake.lastEventId(),
      branches: service.lake.pools().map((pool) => [pool, service.lake.pool(`0x${pool.id}`).branches()]),
    });
    for (const c of cases) {
      test(c.fact, async () => {
        const before = c.unchanged ? await state() : undefined;
        const got = await send(service.url, c);
        const body = masked(got.body);
        expect({
          status: got.status,
          ...(c.answer !== undefined && { body: typeof c.answer === 'string' ? body : (JSON.parse(body) as unknown) }),
        }).toEqual({ status: c.status, ...(c.answer !== undefined && { body: c.answer }) });
        if (c.type !== undefined) expect(got.headers['content-type']).toBe(c.type);
        for (const [header, value] of Object.entries(c.answerHeaders ?? {}))
          expect(got.headers[header.toLowerCase()] ?? null, header).toEqual(
            value === '<any>' ? expect.stringMatching(/./) : value,
          );
        const blank = c.request.indexOf(' ');
        const type = got.headers['content-type'] as string | undefined;
        expect(
          undocumented({
            method: c.request.slice(0, blank),
            url: c.request.slice(blank + 1),
            status: got.status,
            contentType: type,
            headers: got.headers,
            body: got.body,
          }),
        ).toBeUndefined();
        if (before) expect(await state()).toEqual(before);
      });
    }
  });
}

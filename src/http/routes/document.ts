/** The document of the API, made from the table of routes that it belongs to. */
import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import { matchesTag } from '../bodies/tags.ts';
import { openApiDocument } from '../openapi/document.ts';
import { sendText } from '../reply.ts';
import { type Route, route, type Service } from '../route.ts';

/** `table` gives all rows, those of this file too. */
export const documentRoutes = (table: () => readonly Route[]): readonly Route[] => {
  // It says the same as long as the service runs.
  const texts = new WeakMap<Service, string>();
  const textOf = (service: Service): string => {
    let text = texts.get(service);
    if (text === undefined)
      texts.set(
        service,
        (text = `${JSON.stringify(openApiDocument(table(), { version: service.version, guarded: service.access !== undefined }))}\n`),
      );
    return text;
  };
  return [
    route({
      id: 'document',
      tag: 'Service',
      method: 'GET',
      path: '/openapi.json',
      summary: 'This document: OpenAPI 3.1',
      description: 'It is made from the table by which requests are checked.',
      need: 'open',
      open: true,
      preflight: true,
      takes: ['If-None-Match'],
      answers: {
        304: { text: 'It is still the same.', headers: ['ETag'] },
        200: {
          text: 'The document.',
          content: { 'application/json': Type.Object({ openapi: Type.String() }) },
          headers: ['Cache-Control'],
        },
      },
      errors: [],
      handler: async ({ service, request, reply }) => {
        const text = textOf(service);
        const tag = createHash('sha256').update(text).digest('base64url').slice(0, 22);
        reply.headers({ 'cache-control': 'no-cache', etag: `"${tag}"` });
        return matchesTag(request.headers['if-none-match'], tag)
          ? reply.code(304).send()
          : sendText(reply, 200, 'application/json', text);
      },
    }),
  ];
};

/**
 * The browser pages: what vite made of visualize/, served from the folder beside the program.
 *
 * - A page stands alone: its content security policy lets it load from its own origin and nothing else, no script or
 *   style stands in the HTML.
 * - Addresses in pages are relative, so that they work behind a path prefix: a page at `/inspect` finds `./assets/`
 *   beside it.
 * - Assets have their content's hash in their names and are kept forever; pages are asked for again each time.
 */
import { existsSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LakeError } from '../errors.ts';

/** Pages by path; the file is in the folder of the built pages. */
export const pages = [
  {
    id: 'inspectPage',
    path: '/inspect',
    file: 'inspect.html',
    summary: 'The state machines, live, from a recording or a scenario: a page for browsers',
    description: 'It shows ids and counts, never records; with access control it asks for a key.',
  },
  {
    id: 'docsPage',
    path: '/docs',
    file: 'docs.html',
    summary: 'The manual and the API: a page for browsers',
    description: 'Endpoints, formats, the language, errors and options of exactly this service.',
  },
] as const;

/** The page at `/`, for browsers: clients of the interface get there what it says. */
export const consoleFile = 'console.html';
/** Whether a request to `/` comes from a browser that opens a page, by its Accept. */
export const wantsPage = (accept: string | undefined): boolean =>
  accept !== undefined && accept.split(',').some((type) => type.split(';')[0].trim().toLowerCase() === 'text/html');

const assetsPath = '/assets';
const yearSeconds = 365 * 24 * 3600;
const policy = [
  "default-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data: blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "object-src 'none'",
].join('; ');
const pageHeaders = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
};

/** Seen from this file: in the sources, compiled (`dist/src/http`), and in the bundle (`dist/bundle`). */
const pagesFolders: Readonly<Record<string, string>> = {
  '.ts': '../../dist/visualize/',
  '.js': '../../visualize/',
  '.cjs': '../visualize/',
};
const pagesFolder = (): string => fileURLToPath(new URL(pagesFolders[extname(import.meta.url)], import.meta.url));

/** Lets `sendPage` find its files and serves the assets. */
export const addPages = (app: FastifyInstance, folder: string = pagesFolder()): void => {
  const there = existsSync(join(folder, assetsPath));
  void app.register(fastifyStatic, {
    root: there ? join(folder, assetsPath) : folder,
    prefix: `${assetsPath}/`,
    serve: there,
    index: false,
    immutable: true,
    maxAge: yearSeconds * 1000,
    decorateReply: true,
    setHeaders: (response) => {
      for (const [name, value] of Object.entries(pageHeaders)) response.setHeader(name, value);
    },
  });
  app.decorate('pagesFolder', folder);
};

/** The error of a range that a page or an asset has nothing of, with the header that tells its size. */
export const rangeFaultOf = (request: FastifyRequest, reply: FastifyReply, fault: unknown): LakeError | undefined => {
  const { statusCode, headers } = fault as { readonly statusCode?: number; readonly headers?: Record<string, string> };
  const sizes = statusCode === 416 ? headers?.['Content-Range'] : undefined;
  if (sizes === undefined) return undefined;
  reply.header('content-range', sizes);
  return new LakeError('range-none', { range: request.headers.range ?? '', size: sizes.replace(/^.*\//, '') });
};

/**
 * Whether a fault is that of an address which is no asset's: one that leads out of their folder is told apart from the
 * others by nothing.
 */
export const isNoAsset = ({ routeOptions: { url } }: FastifyRequest, fault: unknown): boolean =>
  url?.startsWith(`${assetsPath}/`) === true &&
  fault instanceof Error &&
  'statusCode' in fault &&
  typeof fault.statusCode === 'number' &&
  fault.statusCode < 500;

/** Whether a page was built. */
export const hasPage = (reply: FastifyReply, file: string): boolean =>
  existsSync(join((reply.server as FastifyInstance & { readonly pagesFolder: string }).pagesFolder, file));

/** Answers with a page. @throws page-missing when the pages were not built */
export const sendPage = (reply: FastifyReply, file: string): FastifyReply => {
  const folder = (reply.server as FastifyInstance & { readonly pagesFolder: string }).pagesFolder;
  if (!existsSync(join(folder, file))) throw new LakeError('page-missing', { file });
  return reply.headers({ ...pageHeaders, 'cache-control': 'no-cache' }).sendFile(file, folder, { cacheControl: false });
};

import { describe, expect, test } from 'vitest';
import { routes } from '../../../src/http/routes/routes.ts';
import { routeConfig } from '../../../src/http/server.ts';
import { queryParameters, shownTarget, targetOf } from '../../../src/http/url.ts';

describe('request targets', () => {
  test('segments are decoded once and escaped so that the router reads them right', () => {
    const routed = (raw: string): unknown => {
      const target = targetOf(raw);
      return target.kind === 'route' ? target.url.split('/').map(decodeURIComponent) : target;
    };
    expect(routed('/pool/my+pool/branch/a%2Bb')).toEqual(['', 'pool', 'my pool', 'branch', 'a+b']);
    expect(routed('/pool/a%2Fb')).toEqual(['', 'pool', 'a/b']);
    expect(routed('/pool/100%25')).toEqual(['', 'pool', '100%']);
    expect(routed('/pool/%252F')).toEqual(['', 'pool', '%2F']);
    expect(routed('/pool/%ff')).toEqual(['', 'pool', '\ufffd']);
    expect(routed('/pool/%2e%2e/branch/main')).toEqual(['', 'pool', '..', 'branch', 'main']);
    expect(routed('/pool/日本')).toEqual(['', 'pool', '日本']);
    expect(routed('http://host:1/version?x=1')).toEqual(['', 'version?x=1']);
  });
  test('empty and dot segments are sent to the clean path with the query', () => {
    expect(['//version', '/pool/../version?x=1', '/pool/./rt/branch/main', '/../..', '/a//'].map(targetOf)).toEqual(
      ['/version', '/version?x=1', '/pool/rt/branch/main', '/', '/a/'].map((location) => ({ kind: 'moved', location })),
    );
  });
  test('a bad escape is malformed, a slash at the end is unknown', () => {
    expect(['/pool/100%', '/pool/%zz', '/pool/', '/version/', 'a'].map((raw) => targetOf(raw).kind)).toEqual([
      'malformed',
      'malformed',
      'unknown',
      'unknown',
      'unknown',
    ]);
    expect(targetOf('*')).toEqual({ kind: 'server' });
    expect(targetOf('/version?x=%zz')).toEqual({ kind: 'route', url: '/version?x=%zz' });
  });
});

test('query parameters: the first value counts, bad escapes and raw semicolons drop the pair', () => {
  const parameters = (url: string): unknown => Object.fromEntries(queryParameters(url));
  expect(parameters('/x?a=1&a=2&b&c=%3B&d=%zz&e=+')).toEqual({ a: '1', b: '', c: ';', e: ' ' });
  expect(parameters('/x?a=1;b=2&c=3')).toEqual({ c: '3' });
  expect(parameters('/x?csv.delim=;')).toEqual({ 'csv.delim': ';' });
  expect(parameters('/x')).toEqual({});
});

test('the text of a query is not shown, what else an endpoint takes is', () => {
  const { query } = routes.find(({ id }) => id === 'readQuery')!;
  const config = routeConfig({ ...(query && { query }) });
  expect(config.parameters).toContain('query');
  const originalUrl = '/query?query=from+secret&format=csv&token=t&limit=3';
  expect(shownTarget({ originalUrl, routeOptions: { config } as never })).toBe('/query?format=csv&limit=3');
});

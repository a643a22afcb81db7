import { describe, expect, test } from 'vitest';
import {
  checkHost,
  checkOrigin,
  corsHeaders,
  isForeign,
  preflightHeaders,
  type OriginRules,
} from '../../../src/http/connections/origin.ts';

const hosts = ['127.0.0.1'];
const open: OriginRules = { origins: [], hosts };
const listed: OriginRules = { origins: ['http://a', 'http://*.b'], hosts };

describe('CORS', () => {
  test('without a list no origin is told that it may read; with * any may, without cookies', () => {
    expect([corsHeaders(open, 'http://x'), corsHeaders(open, 'null'), corsHeaders(open, undefined)]).toEqual([
      {},
      {},
      {},
    ]);
    expect(corsHeaders({ origins: ['*'], hosts }, 'http://x')).toEqual({
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'ETag, Lake-Event, X-Request-Id',
    });
  });
  test('with a list the origin is echoed if it matches', () => {
    expect(corsHeaders(listed, 'http://x.b')).toMatchObject({ 'access-control-allow-origin': 'http://x.b' });
    expect([
      corsHeaders(listed, 'http://other'),
      corsHeaders(listed, 'http://x.b.evil'),
      corsHeaders(listed, 'http://b'),
    ]).toEqual([{}, {}, {}]);
  });
  test('a preflight gets what it asks for, or nothing', () => {
    const ask = (method: string, headers?: string): unknown =>
      preflightHeaders(listed, {
        origin: 'http://a',
        'access-control-request-method': method,
        'access-control-request-headers': headers,
      });
    expect(ask('POST', 'content-type, authorization')).toMatchObject({
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'Content-Type, Authorization',
    });
    expect(ask('POST', 'if-match,idempotency-key')).toMatchObject({
      'access-control-allow-headers': 'If-Match, Idempotency-Key',
    });
    expect(ask('TRACE')).toEqual({ vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers' });
    expect(ask('POST', 'x-special')).toEqual({
      vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
    });
  });
});

describe('Host and Origin', () => {
  const refused = (rules: OriginRules, host: string): boolean => {
    try {
      checkHost(rules, host);
      return false;
    } catch {
      return true;
    }
  };
  test('only names of this machine are served, unless the list names the host', () => {
    expect(
      ['localhost:9867', '127.0.0.1:9867', '[::1]:9867', 'x.localhost', '127.9.9.9'].filter((host) =>
        refused(open, host),
      ),
    ).toEqual([]);
    expect(
      ['evil.example:9867', '10.0.0.1', 'localhost.evil', '127.0.0.1.evil'].filter((host) => !refused(open, host)),
    ).toEqual([]);
    expect(['a', 'x.b', 'a:9867'].filter((host) => refused(listed, host))).toEqual([]);
    expect(refused({ origins: [], hosts: ['10.0.0.1'] }, '10.0.0.1:1')).toBe(false);
    expect(refused({ origins: ['*'], hosts: ['0.0.0.0'] }, 'db.example')).toBe(false);
  });
  test('a page of another origin is refused, the own one and listed ones are not', () => {
    const headers = (origin?: string): { host: string; origin?: string } => ({
      host: '127.0.0.1:9867',
      ...(origin && { origin }),
    });
    expect(isForeign(open, headers())).toBe(false);
    expect(isForeign(open, headers('http://127.0.0.1:9867'))).toBe(false);
    expect(isForeign(open, headers('http://127.0.0.1:80'))).toBe(true);
    expect(isForeign(listed, headers('http://a'))).toBe(false);
    expect(isForeign(open, headers('null'))).toBe(true);
    expect(
      [{}, { origins: ['*'] }].map((more) =>
        isForeign({ ...open, ...more }, { ...headers(), 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }),
      ),
    ).toEqual([true, false]);
    // Cookies are the user's: any page must not use them.
    expect(
      ['http://a', 'http://x'].map((origin) =>
        isForeign({ origins: ['*', 'http://a'], hosts }, headers(origin), 'cookie'),
      ),
    ).toEqual([false, true]);
    expect(() => checkOrigin(open, headers('http://evil'))).toThrow(
      'origin http://evil: web pages of another origin are refused',
    );
  });
});

import { describe, expect, test } from 'vitest';
import { parseFsck } from '../../src/config/fsck.ts';
import { fileOptions } from '../../src/config/file.ts';
import { commands, optionsText } from '../../src/config/help.ts';
import {
  ConfigError,
  environmentName,
  parseAddress,
  parseBytes,
  parseDurationMs,
  parseOptions,
} from '../../src/config/options.ts';
import { parseServe } from '../../src/config/serve.ts';
import { parseListen } from '../../src/config/listen.ts';
import { keyOptions, loadOptions, queryOptions, serveOptions } from '../../src/config/tables.ts';

const fault = (argv: readonly string[], environment: Readonly<Record<string, string>> = {}): string => {
  try {
    parseServe(argv, environment);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as ConfigError).exitStatus).toBe(2);
    expect((error as ConfigError).message).not.toContain('\n');
    return (error as ConfigError).message;
  }
  return 'no error';
};

describe('flags of lake serve', () => {
  test('without flags everything has its default', () => {
    expect(parseServe([])).toMatchObject({
      lakeDirectory: './lake-data',
      listen: [{ kind: 'tcp', host: '127.0.0.1', port: 9867 }],
      defaultFormat: 'sup',
      logLevel: 'info',
      corsOrigins: [],
      memoryBytesMax: 256 * 2 ** 20,
      queryStatusMs: 10_000,
      headerBytesMax: 2 ** 20,
      bodyBytesMax: 2 ** 20,
      heartbeatMs: 45_000,
    });
  });
  test('indexes count as the language has it, or from 0 or 1', () => {
    expect(
      [[], ['-index.base', 'auto'], ['-index.base', '0'], ['-index.base', '1']].map(
        (argv) => (parseServe(argv) as { readonly indexBase?: number }).indexBase,
      ),
    ).toEqual([undefined, undefined, 0, 1]);
  });
  test('objects of compactions are compressed, or all, or none', () => {
    expect(
      [[], ['-compress', 'none'], ['-compress', 'all']].map(
        (argv) => (parseServe(argv) as { readonly compress: string }).compress,
      ),
    ).toEqual(['compacted', 'none', 'all']);
    expect(fault(['-compress', 'some'])).toContain('some');
  });
  test('one dash, two dashes, a blank and an equals sign mean the same', () => {
    for (const argv of [['-lake', 'x'], ['--lake', 'x'], ['-lake=x'], ['--lake=x']])
      expect(parseServe(argv)).toMatchObject({ lakeDirectory: 'x' });
  });
  test('a list collects, other options take the last value', () => {
    expect(
      parseServe(['-cors.origin', 'http://a', '-cors.origin=http://*.b', '-l', ':1', '-l', '[::1]:2']),
    ).toMatchObject({
      corsOrigins: ['http://a', 'http://*.b'],
      listen: [
        { kind: 'tcp', host: '0.0.0.0', port: 1 },
        { kind: 'tcp', host: '::1', port: 2 },
      ],
    });
  });
  test('the environment is read, and a flag wins over it', () => {
    const environment = { LAKE_QUERY_STATUS_TTL: '2s', LAKE_LAKE: '/data', LAKE_CORS_ORIGIN: 'http://a, http://b' };
    expect(parseServe(['-lake', '/flag'], environment)).toMatchObject({
      queryStatusMs: 2000,
      lakeDirectory: '/flag',
      corsOrigins: ['http://a', 'http://b'],
    });
  });
  test('the configuration cannot be changed', () => {
    expect(Object.isFrozen(parseServe([]))).toBe(true);
  });
  test('mistakes are one clear line', () => {
    expect(fault(['-nope'])).toBe('unknown option: -nope (lake help lists them)');
    expect(fault(['-loglevel', 'info'])).toBe('unknown option: -loglevel (did you mean -log.level?)');
    expect(fault(['-lake'])).toBe('option -lake needs a value');
    expect(fault(['-l', 'nowhere'])).toBe(
      'bad value for -l: "nowhere" (HOST:PORT with a port of 0 to 65535, or unix:PATH)',
    );
    expect(fault(['-l', 'h:70000'])).toBe(
      'bad value for -l: "h:70000" (HOST:PORT with a port of 0 to 65535, or unix:PATH)',
    );
    // A longer one would be cut by the system, and be another file.
    const path = `/run/${'x'.repeat(102)}`;
    expect(parseListen(`unix:${path}?mode=660`)).toMatchObject({ path });
    expect(fault(['-l', `unix:${path}y`])).toBe(
      `bad value for -l: "unix:${path}y" (a path of at most 107 bytes, as the system has it)`,
    );
    expect(fault(['-log.level', 'loud'])).toBe(
      'bad value for -log.level: "loud" (one of trace, debug, info, warn, error, fatal, silent)',
    );
    for (const url of ['lake', 'ftp://h/x', 'https://a:b@h', 'https://h/x?y', 'https://h/#z'])
      expect(fault(['-iceberg.url', url])).toBe(
        `bad value for -iceberg.url: ${JSON.stringify(url)} (http:// or https://, a host and at most a path)`,
      );
    expect(fault(['-workers', 'two'])).toBe('bad value for -workers: "two" (a whole number)');
    expect(fault(['-memory', '1'])).toBe('bad value for -memory: "1" (at least 16777216)');
    // 0 is no limit here, and 0.4 is none of what is meant.
    expect(fault(['-cache.max', '0.4'])).toBe(
      'bad value for -cache.max: "0.4" (a number of bytes such as 65536, 64KiB or 256MB)',
    );
    expect(fault(['-query.status.ttl', 'soon'])).toBe(
      'bad value for -query.status.ttl: "soon" (a time such as 500ms, 10s or 2m)',
    );
    expect(fault(['-query.time', '25d'])).toBe('bad value for -query.time: "25d" (at most 24d)');
    expect(fault(['-retry.keep', '11ms'])).toBe('bad value for -retry.keep: "11ms" (at least 1s)');
    expect(fault(['-retry.keep', '3651d'])).toBe('bad value for -retry.keep: "3651d" (at most 3650d)');
    expect(fault([], { LAKE_DEFAULTFMT: 'xml' })).toContain('bad value for LAKE_DEFAULTFMT: "xml" (one of arrows, ');
    expect(fault(['stray'])).toBe('lake serve takes options only: "stray" is none');
  });
  test('times that are only compared with the clock may be longer than a timer can wait', () => {
    expect(parseServe(['-retry.keep', '30d', '-auth.session.ttl', '90d', '-query.time', '24d'])).toMatchObject({
      retryKeepMs: 30 * 864e5,
      queryMsMax: 24 * 864e5,
    });
    expect(parseOptions(keyOptions, ['-ttl', '3650d']).values).toMatchObject({ ttl: 3650 * 864e5 });
  });
  test('-h asks for help, whatever else is there', () => {
    expect(parseServe(['-h'])).toEqual({ help: optionsText('serve', serveOptions) });
    // The example is an option of which it is true.
    expect(optionsText('serve', serveOptions)).toContain('come from the environment too: -lake is LAKE_LAKE.');
    expect(optionsText('load', loadOptions)).toContain('come from the environment too: -token is LAKE_TOKEN.');
    expect(parseFsck(['--help'])).toMatchObject({ help: expect.stringContaining('usage: lake fsck') as string });
  });
});

describe('flags of lake query', () => {
  test('switches need no value, the order of -c and -I is kept, options may stand behind other arguments', () => {
    const parsed = parseOptions(queryOptions, [
      '-s',
      '-c',
      'a',
      '-I',
      'f.spq',
      '-c',
      'b',
      '-pretty=0',
      '-e=false',
      '-',
      'x',
      '-i',
      'csv',
      '-1',
      '--',
      '-y',
    ]);
    expect(parsed.order).toEqual([
      { name: 'c', value: 'a' },
      { name: 'I', value: 'f.spq' },
      { name: 'c', value: 'b' },
    ]);
    expect(parsed.values).toMatchObject({ s: true, c: ['a', 'b'], pretty: 0, e: false, 'csv.delim': '' });
    expect(parsed.rest).toEqual(['-', 'x', '-1', '-y']);
    expect([...parsed.given]).toEqual(['s', 'c', 'I', 'pretty', 'e', 'i']);
    expect(() => parseOptions(queryOptions, ['x', '-nope'])).toThrow('unknown option: -nope');
  });
});

describe('a file of options', () => {
  const of = (text: string) => fileOptions('lake.yaml', text, serveOptions);
  test('names them nested or with dots; environment and flags win over it', () => {
    const file = of(
      'memory: 128MiB\nquery:\n  time: 5s\n  text.max: 1000\ncors.origin: [http://a, http://b]\nauth.keys: true\n',
    );
    expect(parseServe([], {}, file)).toMatchObject({
      memoryBytesMax: 128 << 20,
      queryMsMax: 5000,
      queryTextMax: 1000,
      corsOrigins: ['http://a', 'http://b'],
      auth: { keys: true },
    });
    expect(parseServe(['-query.time', '7s'], { LAKE_MEMORY: '64MiB' }, file)).toMatchObject({
      memoryBytesMax: 64 << 20,
      queryMsMax: 7000,
    });
    expect(parseServe([], {}, of(''))).toEqual(parseServe([]));
  });
  test.each([
    ['memry: 1', 'lake.yaml: memry: no such option (lake serve -h lists them)'],
    ['query: {tim: 1s}', 'lake.yaml: query.tim: no such option (lake serve -h lists them)'],
    ['memory: [1, 2]', 'lake.yaml: memory: one value is wanted, not a list'],
    ['- memory', 'lake.yaml: options by name are wanted, such as memory: 512MiB'],
    ['a: [b', 'lake.yaml: Flow sequence in block collection'],
  ])('%s is refused with its place', (text, fault) => {
    expect(() => of(text)).toThrow(fault);
  });
  test('a bad value in it is told with its name', () => {
    expect(() => parseServe([], {}, of('memory: lots'))).toThrow('bad value for memory in lake.yaml: "lots"');
  });
});

test('sizes, times and addresses have units and bounds', () => {
  expect(['100', '64KiB', '1.5k', '256MB', 'x', '1.1.1', '-1'].map(parseBytes)).toEqual([
    100,
    65536,
    1536,
    256e6,
    undefined,
    undefined,
    undefined,
  ]);
  expect(['0', '500ms', '1m30s', '2h', '5', 's'].map(parseDurationMs)).toEqual([
    0,
    500,
    90_000,
    7_200_000,
    undefined,
    undefined,
  ]);
  expect([':80', 'h:1', '[::1]:2', 'h', 'h:', '::1:2'].map(parseAddress)).toEqual([
    { host: '0.0.0.0', port: 80 },
    { host: 'h', port: 1 },
    { host: '::1', port: 2 },
    undefined,
    undefined,
    undefined,
  ]);
});

test('every option of every command has its own name, a text and a default that is allowed', () => {
  for (const { options } of commands) {
    expect(new Set(options.map((o) => o.name)).size).toBe(options.length);
    for (const option of options) expect(option.text).not.toBe('');
    expect(() => parseOptions(options, [])).not.toThrow();
  }
  expect(environmentName('query.status.ttl')).toBe('LAKE_QUERY_STATUS_TTL');
});

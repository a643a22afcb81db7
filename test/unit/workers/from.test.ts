/**
 * What `from` may read besides pools: the policy by itself, real requests to servers of this machine, files behind
 * links.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expandGlob, fileBytes, findFile } from '../../../src/workers/from/files.ts';
import { type HostAddress, type OpenUrlOptions, type UrlRequest, openUrl } from '../../../src/workers/from/http.ts';
import {
  type HttpPolicy,
  type HttpRule,
  allowedUrl,
  isPublicAddress,
  parseHttpRule,
} from '../../../src/workers/from/policy.ts';

const rules = (...entries: readonly string[]): readonly HttpRule[] => entries.map((entry) => parseHttpRule(entry)!);
const policy = (entries: readonly string[], limits: Partial<HttpPolicy> = {}): HttpPolicy => ({
  rules: rules(...entries),
  bytesMax: 1 << 20,
  waitMsMax: 5000,
  ...limits,
});

describe('entries of -from.http', () => {
  const allows = (entry: string, url: string): boolean => isAllowed(url, entry);
  const isAllowed = (url: string, ...entries: readonly string[]): boolean => {
    try {
      allowedUrl(url, policy(entries));
      return true;
    } catch {
      return false;
    }
  };
  test.each([
    ['a.example', 'http://a.example/x', 'http://A.example./x', 'https://a.example/x'],
    ['*', 'http://a.example/', 'https://10.0.0.1/x'],
    ['*.example', 'https://a.example/', 'https://a.b.example/x'],
    ['a.example:8080', 'http://a.example:8080/x'],
    ['a.example:*', 'http://a.example:1/', 'https://a.example/'],
    ['http://a.example:80', 'http://a.example/'],
    ['https://a.example/data', 'https://a.example/data', 'https://a.example/data/x?q', 'https://a.example/b/../data/x'],
    ['https://a.example/data/', 'https://a.example/data/x'],
    ['[::1]:8', 'http://[::1]:8/', 'http://[0:0:0:0:0:0:0:1]:8/'],
    ['127.0.0.1', 'http://127.0.0.1/', 'http://0x7f.1/', 'http://2130706433/'],
  ])('%s allows what it names', (entry, ...urls) => expect(urls.filter((url) => !allows(entry, url))).toEqual([]));
  test.each([
    [
      'a.example',
      'http://b.example/',
      'http://a.example:8080/',
      'http://a.example.evil/',
      'http://xa.example/',
      'http://a.example@evil/',
      'http://user@a.example/',
      'ftp://a.example/',
      'nonsense',
    ],
    ['*.example', 'http://example/', 'http://badexample/', 'http://a.example:81/'],
    [
      'https://a.example/data',
      'http://a.example/data',
      'https://a.example/database',
      'https://a.example/data/../x',
      'https://a.example/data/%2e%2e/x',
      'https://a.example/',
    ],
  ])('%s allows nothing else', (entry, ...urls) => expect(urls.filter((url) => allows(entry, url))).toEqual([]));
  test('what is no host or URL is no entry', () => {
    expect(
      ['', 'a b', 'http://', 'ftp://a', 'a:99999999', 'http://user@a/', 'a*b', 'http://a/?q', 'file:///etc'].map(
        parseHttpRule,
      ),
    ).toEqual(Array.from({ length: 9 }, () => undefined));
  });
  test('a path that another program could read as one outside of the folder is refused', () => {
    const listed = ['http://h/data/', 'http://h/public'];
    const outside = [
      'data/..%2fsecret',
      'data/..%2Fsecret',
      'data/%2e%2e%2fsecret',
      'data/%2e%2e/secret',
      'data/../secret',
      'data/x/%2e%2E%5csecret',
      'data/..%5csecret',
      'data\\..\\..\\secret',
      'data/..\\secret',
      'data/%252e%252e%252fsecret',
      'data/%25252e%25252e%25252fsecret',
      'data/a%2fb',
      'data/a%5cb',
      'data/..;/secret',
      'data/..;x=1/secret',
      'data/%2e%2e;/secret',
      'data/..%3b/secret',
      'data/.;/a',
      'data//etc/secret',
      'data/%2fetc/secret',
      'data/..%00/secret',
      'data/a%00',
      'data/a%0a',
      'data/%c0%ae%c0%ae%c0%afsecret',
      'data/%ff',
      'data/..%ef%bc%8fsecret',
      'data/\u2025/secret',
      'data/.\t./secret',
      'da\nta/a',
      '/data/a',
      'data',
      'DATA/a',
      'data/a%zz',
      'public%2f..%2fsecret',
      'publicity',
      'public/..%2fsecret',
    ];
    expect(outside.filter((path) => isAllowed(`http://h/${path}`, ...listed))).toEqual([]);
    const inside = [
      'data/',
      'data/a',
      'data/a/b.json',
      'data/a/',
      'data/a%20b',
      'data/a b',
      'data/%C3%A4',
      'data/\u00e4',
      'data/..a',
      'data/a..b',
      'data/...',
      'data/a;v=1',
      'data/100%25',
      'data/a?x=..%2f..%2f#/../',
      'public',
      'public/a',
      'data/x/../a',
    ];
    expect(inside.filter((path) => !isAllowed(`http://h/${path}`, ...listed))).toEqual([]);
    expect(isAllowed('http://h/projects/a%2fb', 'h')).toBe(true);
    expect(isAllowed('http://h/data/a%2fb', 'h', 'http://h/data/')).toBe(true);
  });
  test('a URL is refused where programs differ about what its host is; an address may be spelled in its ways', () => {
    const spelled = [
      'http://@h/',
      'http://:@h/',
      'http://u@h/',
      'http://u:p@h/',
      'http://h\\@evil/',
      'http://evil\\@h/',
      'http:\\\\h\\',
      'ht\ttp://h/',
      'http://h\t/',
      'http://h\n.evil/',
      '\u0001http://h/',
      'http://h./',
      'http://h.:80/',
      'http://h../',
      'http://h%00/',
    ];
    expect(spelled.filter((url) => isAllowed(url, 'h'))).toEqual([]);
    const loopback = [
      'http://2130706433/',
      'http://0x7f.1/',
      'http://0177.0.0.1/',
      'http://127.1/',
      'http://127.0.0.1./',
      'http://[0:0:0:0:0:0:0:1]/',
      'http://\uff11\uff12\uff17.0.0.1/',
    ];
    expect(loopback.filter((url) => !isAllowed(url, '127.0.0.1', '[::1]'))).toEqual([]);
    expect(loopback.filter((url) => isAllowed(url, '127.0.0.2', '[::2]', 'h', '*.h'))).toEqual([]);
    expect(
      [
        'http://H/',
        'HTTP://h/',
        'http://h:80/',
        'http://m\u00fcller.example/',
        'http://xn--mller-kva.example./',
      ].filter((url) => !isAllowed(url, 'h', 'm\u00fcller.example')),
    ).toEqual([]);
  });
});

test('addresses that are not public', () => {
  const inside = [
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.0.1',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    'fe80::1',
    'fc00::1',
    'fd12::1',
    'ff02::1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '2001::1',
    '2001:db8::1',
    'nonsense',
  ];
  expect(inside.filter(isPublicAddress)).toEqual([]);
  expect(
    ['8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700:4700::1111', '2a00:1450::1'].filter((a) => !isPublicAddress(a)),
  ).toEqual([]);
});

describe('URLs', () => {
  const servers: Server[] = [];
  const serve = async (handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<number> => {
    const server = createServer(handler);
    servers.push(server);
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    return (server.address() as AddressInfo).port;
  };
  afterAll(() => {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  });

  const reached: string[] = [];
  let inner = 0;
  let outer = 0;
  beforeAll(async () => {
    inner = await serve((request, response) => {
      reached.push(request.url!);
      response.end('secret');
    });
    outer = await serve((request, response) => {
      const { pathname, searchParams } = new URL(request.url!, 'http://x');
      switch (pathname) {
        case '/to':
          response
            .writeHead(Number(searchParams.get('status') ?? 302), { location: searchParams.get('url')! })
            .end('moved');
          break;
        case '/round':
          response.writeHead(302, { location: '/round' }).end();
          break;
        case '/gzip':
          response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('zipped'));
          break;
        case '/long':
          response.end('x'.repeat(5000));
          break;
        case '/slow':
          response.write('begun');
          break;
        case '/silent':
          break;
        case '/none':
          response.writeHead(404).end('no');
          break;
        case '/cut':
          response.writeHead(200, { 'content-length': '100' });
          response.write('half');
          setTimeout(() => {
            response.destroy();
          }, 20);
          break;
        default: {
          const chunks: Buffer[] = [];
          request.on('data', (chunk: Buffer) => {
            chunks.push(chunk);
          });
          request.on('end', () => {
            response.end(
              `${request.method} ${request.url} ${request.headers.host?.replace(/:\d+$/, '')} ${request.headers['x-key'] ?? '-'} ${Buffer.concat(chunks).toString()}`,
            );
          });
        }
      }
    });
  });

  const read = async (request: UrlRequest | string, options: OpenUrlOptions): Promise<string> => {
    const { bytes } = await openUrl(typeof request === 'string' ? { url: request } : request, options);
    const chunks: Uint8Array[] = [];
    for await (const chunk of bytes) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  };
  const fault = (request: UrlRequest | string, options: OpenUrlOptions): Promise<string> =>
    read(request, options).then(
      (text) => `read: ${text}`,
      (error: Error) => error.message,
    );
  const at = (path: string, host = '127.0.0.1', port = outer): string => `http://${host}:${port}${path}`;

  test('a host that is listed is read, with method, headers and body', async () => {
    expect(await read(at('/a?b=c'), { policy: policy([`127.0.0.1:${outer}`]) })).toBe('GET /a?b=c 127.0.0.1 - ');
    expect(
      await read(
        { url: at('/a'), method: 'post', headers: { 'X-Key': ['k'] }, body: 'text' },
        { policy: policy([`127.0.0.1:${outer}`]) },
      ),
    ).toBe('POST /a 127.0.0.1 k text');
    const gzip = await openUrl({ url: at('/gzip') }, { policy: policy([`127.0.0.1:${outer}`]) });
    expect(gzip.codings).toEqual(['gzip']);
    for await (const chunk of gzip.bytes) expect(chunk[0]).toBe(0x1f);
  });
  test('a host that is not listed is not asked, and neither is another port', async () => {
    expect(await fault(at('/', '127.0.0.1', inner), { policy: policy([]) })).toBe(
      `http://127.0.0.1:${inner}/: not a URL that option -from.http allows`,
    );
    expect(await fault(at('/', '127.0.0.1', inner), { policy: policy([`127.0.0.1:${outer}`, '127.0.0.1']) })).toMatch(
      /not a URL that option/,
    );
    expect(reached).toEqual([]);
  });
  test('a wildcard never leads to an address inside, by number or by name', async () => {
    expect(await fault(at('/', '127.0.0.1', inner), { policy: policy(['*:*']) })).toBe(
      `http://127.0.0.1:${inner}/: 127.0.0.1 has the address 127.0.0.1, which is not public (option -from.http allows it if it names the host itself)`,
    );
    expect(await fault(at('/', 'localhost', inner), { policy: policy(['*:*']) })).toMatch(
      /localhost has the address (127\.0\.0\.1|::1), which is not public/,
    );
    expect(await fault(at('/', '[::ffff:127.0.0.1]', inner), { policy: policy(['*:*']) })).toMatch(
      /which is not public/,
    );
    const resolve = async (): Promise<readonly HostAddress[]> => [
      { address: '8.8.8.8', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ];
    expect(await fault(at('/', 'a.example', inner), { policy: policy(['*.example:*']), resolve })).toMatch(
      /a\.example has the address 127\.0\.0\.1/,
    );
    expect(reached).toEqual([]);
  });
  test('redirects are followed where they are allowed, and checked anew each time', async () => {
    const listed = policy([`127.0.0.1:${outer}`, '*:*']);
    expect(await read(at(`/to?url=${encodeURIComponent('/b')}`), { policy: listed })).toBe('GET /b 127.0.0.1 - ');
    for (const target of [
      at('/x', '127.0.0.1', inner),
      at('/x', 'localhost', inner),
      `//127.0.0.1:${inner}/x`,
      `http://[::1]:${inner}/x`,
    ]) {
      expect(await fault(at(`/to?url=${encodeURIComponent(target)}`), { policy: listed })).toMatch(
        /which is not public/,
      );
    }
    expect(
      await fault(at(`/to?url=${encodeURIComponent(at('/x', '127.0.0.1', inner))}`), {
        policy: policy([`127.0.0.1:${outer}`]),
      }),
    ).toMatch(/not a URL that option -from\.http allows/);
    expect(await fault(at(`/to?url=${encodeURIComponent('file:///etc/passwd')}`), { policy: listed })).toBe(
      'file:///etc/passwd: expected an http or https URL without user, password, backslash or control characters',
    );
    expect(reached).toEqual([]);
    expect(await fault(at('/round'), { policy: listed })).toBe(`${at('/round')}: more than 5 redirects`);
  });
  test('a redirect keeps method and body only where it says so, and headers only at the same origin', async () => {
    const listed = policy([`127.0.0.1:${outer}`, `localhost:${outer}`]);
    const post = { method: 'POST', body: 'b', headers: { 'X-Key': ['k'] } };
    const resolve = async (): Promise<readonly HostAddress[]> => [{ address: '127.0.0.1', family: 4 }];
    expect(await read({ url: at('/to?url=/c&status=307'), ...post }, { policy: listed })).toBe('POST /c 127.0.0.1 k b');
    expect(await read({ url: at('/to?url=/c&status=303'), ...post }, { policy: listed })).toBe('GET /c 127.0.0.1 k ');
    expect(
      await read({ url: at(`/to?url=${at('/c', 'localhost')}&status=307`), ...post }, { policy: listed, resolve }),
    ).toBe('POST /c localhost - b');
  });
  test('a name is resolved once: a later answer of its server leads nowhere', async () => {
    let asked = 0;
    const resolve = async (): Promise<readonly HostAddress[]> => [
      { address: ++asked === 1 ? '127.0.0.1' : '127.0.0.9', family: 4 },
    ];
    expect(await read(at('/a', 'pinned.example'), { policy: policy([`pinned.example:${outer}`]), resolve })).toBe(
      'GET /a pinned.example - ',
    );
    expect(asked).toBe(1);
    // The second request is resolved again, and goes where that leads.
    expect(await fault(at('/a', 'pinned.example'), { policy: policy([`pinned.example:${outer}`]), resolve })).toMatch(
      /127\.0\.0\.9/,
    );
  });
  test('size and time are bounded, time only while nobody but the server is waited for', async () => {
    const listed = [`127.0.0.1:${outer}`];
    expect(await fault(at('/long'), { policy: policy(listed, { bytesMax: 4999 }) })).toBe(
      `${at('/long')}: longer than 4999 bytes (option -from.http.max)`,
    );
    expect(await read(at('/long'), { policy: policy(listed, { bytesMax: 5000 }) })).toHaveLength(5000);
    expect(await fault(at('/slow'), { policy: policy(listed, { waitMsMax: 50 }) })).toBe(
      `${at('/slow')}: timed out after 50 ms of waiting (option -from.http.time)`,
    );
    expect(await fault(at('/silent'), { policy: policy(listed, { waitMsMax: 50 }) })).toMatch(/timed out after 50 ms/);
    const { bytes } = await openUrl({ url: at('/long') }, { policy: policy(listed, { waitMsMax: 100 }) });
    let length = 0;
    for await (const chunk of bytes) {
      length += chunk.length;
      await new Promise((resolve) => {
        setTimeout(resolve, 150);
      });
    }
    expect(length).toBe(5000);
  });
  test('what fails says why', async () => {
    const listed = policy([`127.0.0.1:${outer}`, '127.0.0.1:1', 'a.example']);
    expect(await fault(at('/none'), { policy: listed })).toBe(`${at('/none')}: 404 Not Found`);
    expect(await fault('http://127.0.0.1:1/', { policy: listed })).toMatch(
      /^http:\/\/127\.0\.0\.1:1\/: .*ECONNREFUSED/,
    );
    expect(await fault(at('/cut'), { policy: listed })).toMatch(/: aborted$/);
    expect(await fault('http://a.example/', { policy: listed, resolve: async () => [] })).toBe(
      'http://a.example/: a.example has no address',
    );
    expect(await fault({ url: at('/'), headers: { Host: ['inner'] } }, { policy: listed })).toBe(
      `${at('/')}: header "Host" cannot be set`,
    );
    expect(await fault({ url: at('/'), method: 'CONNECT' }, { policy: listed })).toBe(
      `${at('/')}: method "CONNECT" cannot be used`,
    );
    const abort = new AbortController();
    setTimeout(() => {
      abort.abort(new Error('stopped'));
    }, 30);
    expect(await fault(at('/silent'), { policy: listed, signal: abort.signal })).toBe('stopped');
  });
});

describe('files', () => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'from-files-')));
  const open = join(base, 'open');
  const secret = join(base, 'secret');
  const folders = [{ path: open, real: open }];
  beforeAll(() => {
    mkdirSync(join(open, 'deep'), { recursive: true });
    mkdirSync(secret);
    mkdirSync(`${open}-not`);
    writeFileSync(join(open, 'a.csv'), 'x\n1\n');
    writeFileSync(join(open, 'deep', 'b.csv'), 'x\n2\n');
    writeFileSync(join(secret, 's.csv'), 'x\n3\n');
    writeFileSync(join(`${open}-not`, 'n.csv'), 'x\n4\n');
    symlinkSync(join(secret, 's.csv'), join(open, 'link.csv'));
    symlinkSync(secret, join(open, 'folder'));
    symlinkSync(join(open, 'a.csv'), join(open, 'fine.csv'));
    spawnSync('mkfifo', [join(open, 'pipe.csv')]);
  });
  afterAll(() => rmSync(base, { recursive: true, force: true }));
  const find = (name: string): Promise<string | undefined> =>
    findFile(name, folders).then(
      (path) => path?.replace(base, ''),
      (error: Error) => error.message.replaceAll(base, ''),
    );
  const bytes = async (path: string): Promise<string> => {
    try {
      const chunks: Uint8Array[] = [];
      for await (const chunk of fileBytes(path, folders)) chunks.push(chunk);
      return Buffer.concat(chunks).toString();
    } catch (error) {
      return (error as Error).message.replaceAll(base, '');
    }
  };

  test('files of the folder are found, by relative and absolute names, links inside it too', async () => {
    expect(await find('a.csv')).toBe('/open/a.csv');
    expect(await find('deep/../deep/b.csv')).toBe('/open/deep/b.csv');
    expect(await find(join(open, 'deep', 'b.csv'))).toBe('/open/deep/b.csv');
    expect(await find(`file://${open}/a.csv`)).toBe('/open/a.csv');
    expect(await find('fine.csv')).toBe('/open/a.csv');
    expect(await find('none.csv')).toBeUndefined();
    expect(await bytes(join(open, 'a.csv'))).toBe('x\n1\n');
  });
  test('what lies outside is refused alike whether it is there or not', async () => {
    for (const name of [
      '../secret/s.csv',
      '../secret/none.csv',
      join(secret, 's.csv'),
      '/etc/passwd',
      '/etc/none',
      join(`${open}-not`, 'n.csv'),
      open,
      'deep/../..',
      'file://elsewhere/x',
      `file://${secret}/s.csv`,
      'a\0.csv',
    ]) {
      expect(await find(name)).toBe(`${name.replaceAll(base, '')}: not in a folder that option -from.files allows`);
    }
  });
  test('links that lead outside are refused when they are found and when they are opened', async () => {
    expect(await find('link.csv')).toMatch(/not in a folder/);
    expect(await find('folder/s.csv')).toMatch(/not in a folder/);
    expect(await bytes(join(open, 'link.csv'))).toMatch(/not in a folder/);
    expect(await bytes(join(open, 'folder', 's.csv'))).toMatch(/not in a folder/);
    expect(await bytes(join(secret, 's.csv'))).toMatch(/not in a folder/);
    // A file that is replaced by a link after it was found.
    writeFileSync(join(open, 'swapped.csv'), 'x');
    const found = (await findFile('swapped.csv', folders))!;
    unlinkSync(found);
    symlinkSync(join(secret, 's.csv'), found);
    expect(await bytes(found)).toMatch(/not in a folder/);
    unlinkSync(found);
  });
  test('folders, pipes and files that are gone say what they are', async () => {
    expect(await bytes(join(open, 'deep'))).toBe('/open/deep: is a directory');
    expect(await bytes(join(open, 'pipe.csv'))).toBe('/open/pipe.csv: not a regular file');
    expect(await bytes(join(open, 'gone.csv'))).toBe('/open/gone.csv: file does not exist');
  });
  test('a glob finds files of the folders alone', async () => {
    expect((await expandGlob('*.csv', folders)).map((p) => p.replace(base, ''))).toEqual([
      '/open/a.csv',
      '/open/fine.csv',
      '/open/pipe.csv',
    ]);
    expect((await expandGlob('*/*.csv', folders)).map((p) => p.replace(base, ''))).toEqual(['/open/deep/b.csv']);
    expect((await expandGlob(`${open}/d*/b*`, folders)).map((p) => p.replace(base, ''))).toEqual(['/open/deep/b.csv']);
    expect(await expandGlob(`${secret}/*`, folders)).toEqual([]);
    await expect(expandGlob('*.csv', folders, 2)).rejects.toThrow('*.csv: more than 2 files match');
    await expect(expandGlob('../secret/*', folders)).rejects.toThrow(
      '../secret/*: not in a folder that option -from.files allows',
    );
  });
});

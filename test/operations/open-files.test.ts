/** A process that may open few files: it says so, or closes idle connections, and no thread dies of it. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { withinOpenFiles } from '../../src/commands/open-files.ts';
import { startBuiltService } from '../support/service/built.ts';

describe('few open files', () => {
  test.each([80, 120])('with %i of them, work is done beside a hundred idle connections', async (files) => {
    const service = await startBuiltService({ by: ['bash', '-c', `ulimit -n ${files}; exec "$@"`, 'bash'] });
    try {
      const { port } = new URL(service.address);
      const sockets = Array.from({ length: 100 }, () =>
        connect(Number(port), '127.0.0.1').on('error', () => undefined),
      );
      await Promise.all(sockets.map((socket) => once(socket, 'connect').catch(() => undefined)));
      // Newcomers are left alone for a second: then they make room.
      const ask = async (path: string, body?: string): Promise<string> => {
        for (;;) {
          const answer = await fetch(service.address + path, {
            ...(body !== undefined && { method: 'POST', body: Buffer.from(body) }),
            headers: { connection: 'close' },
            // A crowd that comes at once is accepted as far as there are files; who is left over comes again.
            signal: AbortSignal.timeout(3000),
          }).catch(() => undefined);
          if (answer) return answer.text();
          await new Promise((resolve) => {
            setTimeout(resolve, 100);
          });
        }
      };
      await ask('/pool', '{name:"p",layout:{keys:[["a"]]}}');
      for (let i = 0; i < 20; i++) await ask('/pool/p/branch/main', `{a:${i}}`);
      expect(await ask('/query', '{query:"from p | count()"}')).toBe('20\n');
      for (let i = 0; i < 40; i++)
        await fetch(`${service.address}/query?query=from+p|head+${i}&format=csv`, {
          headers: { range: 'bytes=0-0' },
          signal: AbortSignal.timeout(30_000),
        });
      expect(await ask('/query', '{query:"from p | sum(a)"}')).toBe('190\n');
      for (const socket of sockets) socket.destroy();
      expect(service.printed()).not.toMatch(/worker-died|EMFILE/);
    } finally {
      await service.stop();
    }
  });
  test('with fewer than it needs, the service does not start, and says why', async () => {
    const started = startBuiltService({ by: ['bash', '-c', 'ulimit -n 64; exec "$@"', 'bash'] });
    await expect(started).rejects.toThrow('at most 64 files may be open at once: the service needs 80 (ulimit -n)');
  });
  test('bound connections and kept answers, where the options do not', () => {
    expect(withinOpenFiles({ connectionsMax: 10_000 }, 1_048_576)).toMatchObject({
      connectionsMax: 10_000,
      answersMax: 256,
    });
    expect(withinOpenFiles({ connectionsMax: 10_000 }, 20_000)).toEqual({
      connectionsMax: 10_000,
      answersMax: 256,
      isTight: false,
    });
    expect(withinOpenFiles({ connectionsMax: 10_000 }, 4096)).toMatchObject({ connectionsMax: 3072, answersMax: 256 });
    expect(withinOpenFiles({ connectionsMax: 25 }, 80)).toEqual({ connectionsMax: 20, answersMax: 10, isTight: true });
    expect(withinOpenFiles({ connectionsMax: 5 }, Infinity)).toMatchObject({ connectionsMax: 5, answersMax: 256 });
  });
});

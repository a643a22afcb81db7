/** A process whose address space is limited: there is no room for WebAssembly's, and all is answered all the same. */
import { expect, test } from 'vitest';
import { startBuiltService } from '../support/service/built.ts';

test('with little address space (ulimit -v) columns are read without WebAssembly', async () => {
  const service = await startBuiltService({
    flags: ['-workers', '1'],
    by: ['bash', '-c', 'ulimit -v 8000000; exec "$@"', 'bash'],
  });
  try {
    const ask = async (path: string, body: string): Promise<string> =>
      (await fetch(service.address + path, { method: 'POST', body: Buffer.from(body) })).text();
    await ask('/pool', '{name:"p",layout:{keys:[["a"]]}}');
    const rows = Array.from({ length: 20_000 }, (_, a) => `{"a":${a},"b":${a % 7},"c":"${a % 11}"}`);
    await ask('/pool/p/branch/main', rows.join('\n'));
    expect(await ask('/query', '{query:"from p | sum(a) by b | sort b | head 2"}')).toBe(
      '{b:0,sum:28578571}\n{b:1,sum:28561429}\n',
    );
    expect(await ask('/query', '{query:"from p | where c==\\"3\\" and b > 3 | count()"}')).toBe('779\n');
  } finally {
    await service.stop();
  }
});

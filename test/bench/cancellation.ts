/**
 * How long what is cancelled goes on: each busy query is given up after some time, and the next one of the same worker
 * asked at once. `npm run bench:cancellation -- --times 5 --only regular`.
 */
import { fileURLToPath } from 'node:url';
import { startBuiltService } from '../support/service/built.ts';
import { busy, busyFlags, loadBusyPools, untilNext } from '../support/service/busy-queries.ts';
import { clientOf } from '../support/service/client.ts';
import { ms, percentile, printFigures } from '../support/figures.ts';

const afterMsMin = 40;
const afterMsStep = 97;

/** Times until the next query is answered, by what was cancelled. */
const measureCancellation = async ({
  times,
  only,
  told,
}: {
  readonly times: number;
  readonly only?: RegExp;
  readonly told?: (what: string, took: readonly number[]) => void;
}): Promise<ReadonlyMap<string, readonly number[]>> => {
  const service = await startBuiltService({ flags: busyFlags, asShipped: true });
  const client = clientOf(service.address);
  const found = new Map<string, readonly number[]>();
  try {
    await loadBusyPools(client);
    for (const [what, how] of Object.entries(busy)) {
      if (only && !only.test(what)) continue;
      const took: number[] = [];
      for (let i = 0; i < times; i++) {
        const one = await untilNext(client, how, afterMsMin + i * afterMsStep);
        if (one !== undefined) took.push(one);
      }
      found.set(what, took);
      told?.(what, took);
    }
  } finally {
    client.close();
    await service.stop();
  }
  return found;
};

const main = async (argv: readonly string[]): Promise<void> => {
  const option = (name: string): string | undefined => {
    const at = argv.indexOf(`--${name}`);
    return at < 0 ? undefined : argv[at + 1];
  };
  const only = option('only');
  const found = await measureCancellation({
    times: Number(option('times') ?? 3),
    ...(only !== undefined && { only: new RegExp(only) }),
    told: (what, took) => {
      if (took.length > 0) console.log(`${what}: ${took.map((one) => ms(one)).join(' ')}`);
    },
  });
  const all = [...found.values()].flat().sort((a, b) => a - b);
  printFigures(`from cancelling to the next answer, ${all.length} times`, {
    p50: ms(percentile(all, 0.5)),
    p90: ms(percentile(all, 0.9)),
    p99: ms(percentile(all, 0.99)),
    max: ms(all.at(-1) ?? NaN),
    'over 100 ms': String(all.filter((one) => one > 100).length),
  });
};

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));

/**
 * Part `arguments`: every function of the table with one argument that is very long, against the built service with the
 * default memory. A seed is a row of the table: its examples, with each text, list and bytes in them made long, one at a
 * time. A fault: more than `-memory` and 256 MB, a status that blames the service, or a service that answers no more.
 */
import { writeFileSync } from 'node:fs';
import { functionTable } from '../../src/exec/functions/functions.ts';
import { residentMib } from '../support/resident.ts';
import { type Service, startBuiltService } from '../support/service/built.ts';
import type { PartRun } from './part.ts';

const textLength = 15_000_000;
const listLength = 2_000_000;
const bytesLength = 10_000_000;
/** The service ends a query after so long. */
const querySeconds = 20;
/** The default of `-memory`, and 256 MB beside it. */
const residentMax = 512;

const repeatedText = (text: string): string =>
  `repeat(${text},${Math.ceil(textLength / Math.max(1, text.length - 2))})`;
/** What is long in place of a literal: of the kind that the function takes, more or less. */
const longOf = (literal: string): readonly string[] => {
  if (literal.startsWith('[')) {
    const isText = /^\[\s*["']/.test(literal);
    return [isText ? `split(repeat("ab,",${listLength}),",")` : `range(0,${listLength})`];
  }
  if (literal.startsWith('0x')) return [`cast(repeat("abcde",${bytesLength / 5}),<bytes>)`];
  const quote = literal[0]!;
  const text = literal.length > 2 ? literal : `${quote}a${quote}`;
  return [repeatedText(text), repeatedText(`${quote}ab,${quote}`), repeatedText(`${quote}\u00e9${quote}`)];
};
const literals = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\[[^[\]]*\]|\b0x[0-9a-f]+\b/g;
/** The queries of a row of the table. */
const longQueries = (row: (typeof functionTable)[number]): readonly string[] => {
  const out = new Set<string>();
  for (const { query, output } of row.examples) {
    if (output.includes('error(')) continue;
    const isSql = /^\s*(select|values|with|from)\b/i.test(query);
    for (const found of query.matchAll(literals))
      for (const long of longOf(found[0]))
        out.add(
          `${isSql ? '' : 'values '}${query.slice(0, found.index)}${isSql ? inSql(long) : long}${query.slice(found.index + found[0].length)}`,
        );
  }
  return [...out];
};
const inSql = (long: string): string =>
  long.replace(/"([^"]*)"/g, "'$1'").replace(/^cast\((.*),<bytes>\)$/, '($1)::bytea');

interface LongFigures {
  readonly name: string;
  readonly query: string;
  readonly status: string;
  readonly peakMb: number;
  readonly seconds: number;
  readonly fault: string | undefined;
}
/** Runs one query, whose answer is read and dropped. */
const askLong = async (service: Service, name: string, query: string): Promise<LongFigures> => {
  const pid = service.process.pid!;
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  const began = performance.now();
  const status = await statusOf(service, query);
  const seconds = (performance.now() - began) / 1000;
  const peakMb = Math.round(residentMib(pid, 'VmHWM') ?? NaN);
  const fault =
    Number.isNaN(peakMb) || /^(500|no answer)/.test(status)
      ? status
      : peakMb > residentMax
        ? `${peakMb} MB, ${residentMax} allowed`
        : undefined;
  return { name, query, status, peakMb, seconds, fault };
};
const statusOf = async ({ address }: Service, query: string): Promise<string> => {
  try {
    const answer = await fetch(`${address}/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/x-ndjson' },
      body: JSON.stringify({ query }),
      signal: AbortSignal.timeout(querySeconds * 2000),
    });
    let text = '';
    for await (const chunk of answer.body!) if (text.length < 300) text += Buffer.from(chunk as Uint8Array).toString();
    return answer.ok ? '200' : `${answer.status} ${text.slice(0, 300)}`;
  } catch (error) {
    // A failure behind the first byte ends the connection.
    return error instanceof Error && error.name === 'TimeoutError' ? 'no answer' : 'cut off';
  }
};
const startLong = (): Promise<Service> => startBuiltService({ flags: ['-query.time', `${querySeconds}s`] });

export const longArguments: PartRun = async ({ seeds, count, failed }) => {
  let service = await startLong();
  try {
    for (const seed of seeds) {
      const row = functionTable[seed % functionTable.length]!;
      for (const query of longQueries(row)) {
        const { status, peakMb, fault } = await askLong(service, row.name, query);
        if (fault) failed(seed, `${fault}: ${query}`);
        count('queries');
        count(status === '200' ? 'answered' : status.startsWith('413') ? 'refused for memory' : 'ended otherwise');
        if (peakMb > 0) count('peak MB', peakMb, 'max');
        if (!Number.isNaN(peakMb)) continue;
        await service.stop();
        service = await startLong();
      }
    }
  } finally {
    await service.stop();
  }
};

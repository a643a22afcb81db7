/** The campaign's totals as the README gives them. */
import type { Totals } from './campaign.ts';

const texts: Readonly<Record<string, string>> = {
  kills: 'named kill points, one after the other in random scripts of commits, group commits, deletes, merges, reverts, compactions, vacuums, pools and starts',
  sigkill: 'SIGKILL of the service under 32 writers and 8 readers',
  power: 'the power goes after a system call: what was not synced is gone, there, or torn at 512 or 4,096 bytes',
  faults: 'the n-th read, write, sync, open, mkdir, rename or unlink of the lake\'s files fails (EIO, ENOSPC, EMFILE, short writes)',
  objects: 'damaged data objects: the right rows, or an error that names the object',
  tables: 'damaged tables and copies of the log: found by `lake fsck`, never served, brought back by `lake fsck -repair`',
  laws: 'random histories beside a model',
  large: 'bodies that are large in one piece, or of very many shapes, of every format: the service with default options stays within `-memory` and 256 MiB, and commits all rows or names the limit',
  fuzz: 'hostile inputs for every reader, coding and the compiler of queries; random queries checked by laws and beside DuckDB',
};

export const totalsTable = (totals: Totals): string => [
  '| Part | What | Counted | Failures |', '|---|---|---|---|',
  ...Object.entries(totals).map(([part, { counts, failures }]) => {
    const counted = Object.entries(counts).filter(([what]) => what !== 'not reached' && !what.endsWith(' ms')).map(([what, n]) => `${n.toLocaleString('en-US')} ${what}`);
    return `| \`${part}\` | ${texts[part] ?? part} | ${counted.join(', ')} | ${failures.length} |`;
  }),
].join('\n');

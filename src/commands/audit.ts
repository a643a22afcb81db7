/** The audit log: a file that lines are appended to. What cannot be written is told, and never holds up an answer. */
import { createWriteStream } from 'node:fs';
import type { AuditEntry } from '../http/access/audit.ts';
import { limitRefusals } from '../http/access/audit-rate.ts';

/** The open file. `close` resolves when all lines are written. */
export interface AuditFile {
  readonly write: (entry: AuditEntry) => void;
  readonly close: () => Promise<void>;
}

/** Opens the file for appending; only its owner may read a new one. Rejects when it cannot be opened. */
export const openAudit = async (path: string, report: (fault: unknown) => void): Promise<AuditFile> => {
  const stream = createWriteStream(path, { flags: 'a', mode: 0o600 });
  await new Promise<void>((resolve, reject) => {
    stream.once('open', () => resolve()).once('error', reject);
  });
  stream.on('error', report);
  const { write, close } = limitRefusals((line) => {
    stream.write(`${JSON.stringify(line)}\n`);
  });
  return {
    write,
    close: () =>
      new Promise((resolve) => {
        close();
        stream.end(() => resolve());
      }),
  };
};

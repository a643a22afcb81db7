import { readFileSync } from 'node:fs';

/**
 * Resident memory of a process in MiB: what it has (`VmRSS`), or the most that it ever had, or since that was reset
 * (`VmHWM`). Undefined of one that has ended and is not waited for yet. @throws where there is no such process
 */
export const residentMib = (pid: number, what: 'VmRSS' | 'VmHWM'): number | undefined => {
  const kib = new RegExp(`^${what}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return kib === undefined ? undefined : Number(kib) / 1024;
};

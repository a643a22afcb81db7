/**
 * What completion asks the lake for: short queries whose answers are kept for a moment, and that never make a person
 * wait long.
 */
import { valueAt } from '../../vectors/vector.ts';
import type { Type } from '../../vectors/type.ts';
import { underType } from '../../vectors/type.ts';
import type { LakeWords } from './complete.ts';
import { type Head, branchNames, fromHead, poolNames, sourceName, tableNames } from './lake.ts';
import type { ShellSession } from './session.ts';

const keptMs = 20_000;
const answerMsMax = 2000;
/** Values that are looked at for the names of fields. */
const sampleRows = 200;
const nestingMax = 4;

/** The words of a session's lake. A question that fails or takes too long has no words as its answer. */
export class SessionWords implements LakeWords {
  private readonly session: ShellSession;
  private readonly kept = new Map<string, { readonly at: number; readonly words: Promise<readonly string[]> }>();
  constructor(session: ShellSession) {
    this.session = session;
  }

  readonly pools = (): Promise<readonly string[]> =>
    this.ask(':pools', (signal) => poolNames(this.session.lake, signal));
  readonly tables = (): Promise<readonly string[]> =>
    this.ask('tables', (signal) => tableNames(this.session.lake, signal));
  readonly branches = (pool: string): Promise<readonly string[]> =>
    this.ask(`${pool}:branches`, (signal) => branchNames(this.session.lake, pool, signal));
  readonly fields = (source: string | undefined): Promise<readonly string[]> => {
    const { head } = this.session;
    const from = source !== undefined ? fromText(source) : head && fromHead(head);
    return from === undefined ? Promise.resolve([]) : this.ask(from, (signal) => this.fieldsOf(from, signal));
  };

  /** Forgets everything: a statement may have changed it. */
  clear(): void {
    this.kept.clear();
  }

  private ask(key: string, work: (signal: AbortSignal) => Promise<readonly string[]>): Promise<readonly string[]> {
    const known = this.kept.get(key);
    if (known && performance.now() - known.at < keptMs) return known.words;
    const words = work(AbortSignal.timeout(answerMsMax)).catch(() => []);
    this.kept.set(key, { at: performance.now(), words });
    return words;
  }

  private async fieldsOf(from: string, signal: AbortSignal): Promise<readonly string[]> {
    const found = new Set<string>();
    const seen = new Set<Type>();
    for await (const batch of this.session.lake.query(`${from} | head ${sampleRows}`, { signal })) {
      for (let i = 0; i < batch.length; i++) {
        const { type } = valueAt(batch, i);
        if (seen.has(type)) continue;
        seen.add(type);
        addPaths(type, '', 0, found);
      }
    }
    return [...found];
  }
}

/** `pool` or `pool@branch` as it was typed. */
const fromText = (source: string): string => {
  const at = source.indexOf('@');
  const head: Head = at < 0 ? { pool: source } : { pool: source.slice(0, at), branch: source.slice(at + 1) };
  return head.branch === '' ? `from ${sourceName(head.pool)}` : fromHead(head);
};

const addPaths = (type: Type, prefix: string, depth: number, found: Set<string>): void => {
  const under = underType(type);
  const members = under.kind === 'union' ? under.members.map(underType) : [under];
  for (const member of members) {
    if (member.kind !== 'record' || depth > nestingMax) continue;
    for (const field of member.fields) {
      if (!/^[\p{L}_$][\p{L}\p{Nd}_$]*$/u.test(field.name)) continue;
      found.add(prefix + field.name);
      addPaths(field.type, `${prefix}${field.name}.`, depth + 1, found);
    }
  }
};

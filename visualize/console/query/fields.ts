/** The fields of a pool as far as its first rows show them: asked once for a while, for completion. */
import { type Lake, LakeFailure } from '../../../src/client/client.ts';
import { type Type, typeText } from '../../../src/client/types.ts';
import { TypeValue } from '../../../src/client/values.ts';
import { poolText, type Source } from './scan.ts';

/** A field: names outermost first, and the text of its type. */
export interface FieldInfo {
  readonly path: readonly string[];
  readonly type: string;
}

const keepMs = 60_000;
const sampleRows = 1000;
const fieldsMax = 500;
const depthMax = 4;

/** The fields in a type, outer ones before their inner ones. */
export const fieldsIn = (type: Type): readonly FieldInfo[] => {
  const found: FieldInfo[] = [];
  const visit = (at: Type, path: readonly string[]): void => {
    if (at.kind === 'named') return visit(at.type, path);
    if (at.kind === 'union')
      return at.types.forEach((member) => {
        visit(member, path);
      });
    if (at.kind !== 'record' || path.length >= depthMax) return undefined;
    for (const field of at.fields) {
      if (found.length >= fieldsMax) return undefined;
      const inner = [...path, field.name];
      found.push({ path: inner, type: typeText(field.type) });
      visit(field.type, inner);
    }
    return undefined;
  };
  visit(type, []);
  return found;
};

/** The fields of sources, each kept for a minute. */
export class FieldCache {
  private readonly client: Lake;
  private readonly known = new Map<
    string,
    { readonly until: number; readonly fields: Promise<readonly FieldInfo[]> }
  >();
  constructor(client: Lake) {
    this.client = client;
  }

  of({ pool, branch }: Source): Promise<readonly FieldInfo[]> {
    const source = `${poolText(pool)}${branch === undefined ? '' : `@${poolText(branch)}`}`;
    const known = this.known.get(source);
    const now = Date.now();
    if (known && known.until > now) return known.fields;
    const fields = this.ask(source).catch((error: unknown) => {
      // A pool that is not there has no fields; a service that is not there is asked again.
      if (!(error instanceof LakeFailure)) this.known.delete(source);
      return [];
    });
    this.known.set(source, { until: now + keepMs, fields });
    return fields;
  }
  private async ask(source: string): Promise<readonly FieldInfo[]> {
    const type = await this.client.query(`from ${source} | head ${sampleRows} | aggregate fuse(this)`).first();
    return type instanceof TypeValue ? fieldsIn(type.type) : [];
  }
}

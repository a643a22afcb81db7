/**
 * The type of a record that is put together from fields and paths: the fusion of a record for each of them, as v0.2.0
 * has it. So a lone field is there, and of several each may be absent.
 *
 * It is a draft with fields in place: a record type for each of thousands of assignments would cost their square.
 */
import { charge } from '../../vectors/stop.ts';
import { type RecordType, type Type, recordType } from '../../vectors/type.ts';
import type { FieldPath } from '../plan/plan.ts';
import { bare, fuseKnown } from './of.ts';

/** What a field takes in a draft, about. */
const draftBytes = 128;

/** A record type in the making. */
export class RecordDraft {
  private readonly fields = new Map<string, Type | RecordDraft>();
  /** Fields that all records so far have; undefined before the first. */
  private required: Set<string> | undefined;

  /** Adds the record that a path makes. */
  add(path: FieldPath, type: Type): void {
    const [name, ...rest] = path;
    if (name === undefined) return;
    this.require([name]);
    const found = this.fields.get(name);
    if (rest.length === 0) {
      this.fields.set(name, found === undefined ? type : fuseKnown(typeOf(found), type));
      return;
    }
    const inner = found instanceof RecordDraft ? found : draftOf(found);
    if (inner) {
      inner.add(rest, type);
      this.fields.set(name, inner);
      return;
    }
    const made = new RecordDraft();
    made.add(rest, type);
    this.fields.set(name, fuseKnown(typeOf(found!), made.type()));
  }

  /** Adds a whole record. */
  fuse(record: RecordType): void {
    charge(record.fields.length * draftBytes, 'the static type of a record');
    this.require(record.fields.filter((f) => !f.optional).map((f) => f.name));
    for (const f of record.fields) {
      const found = this.fields.get(f.name);
      this.fields.set(f.name, found === undefined ? f.type : fuseKnown(typeOf(found), f.type));
    }
  }

  type(): RecordType {
    charge(this.fields.size * draftBytes, 'the static type of a record');
    return recordType(
      [...this.fields].map(([name, f]) => ({ name, type: typeOf(f), optional: !this.required?.has(name) })),
    );
  }

  private require(names: readonly string[]): void {
    const before = this.required;
    this.required = new Set(before ? names.filter((name) => before.has(name)) : names);
  }
}

/** A draft that goes on from a type; undefined where that is no record. */
const draftOf = (t: Type | undefined): RecordDraft | undefined => {
  const of = t === undefined ? undefined : bare(t);
  if (of !== undefined && of.kind !== 'record') return undefined;
  const draft = new RecordDraft();
  if (of) draft.fuse(of);
  return draft;
};

const typeOf = (f: Type | RecordDraft): Type => (f instanceof RecordDraft ? f.type() : f);

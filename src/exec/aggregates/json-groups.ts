/**
 * json_group_array, json_group_object: JSON of the rows, in the order of arrival. What they collect is JSON already, or
 * fields of an object as their text: `query/sql/values/json.ts` makes it of the arguments.
 */
import { LakeError } from '../../errors.ts';
import { chargeText } from '../../vectors/stop.ts';
import { stringValue } from '../../vectors/value.ts';
import { type Vector, textAt, valueAt } from '../../vectors/vector.ts';
import { Builder } from '../../vectors/builder.ts';
import { fieldOf } from '../expressions/access.ts';
import { CollectState } from './collect.ts';

export class JsonGroupState extends CollectState {
  private readonly name: string;
  private readonly ends: readonly [string, string];
  constructor(name: string, ends: '[]' | '{}') {
    super(true);
    this.name = name;
    this.ends = [ends[0]!, ends[1]!];
  }
  override update(ids: Uint32Array, argument: Vector): void {
    // One that may take two arguments gets a record of them.
    super.update(ids, this.ends[0] === '{' ? fieldOf(argument, 'value') : argument);
  }
  override result(groups: number): Vector {
    const parts: string[][] = Array.from({ length: groups }, () => []);
    let at = 0;
    for (const values of this.kept)
      for (let i = 0; i < values.length; i++) parts[this.ids.array[at++]!]!.push(this.textOf(values, i));
    const out = new Builder();
    const [open, close] = this.ends;
    for (const list of parts) {
      chargeText(
        list.reduce((size, part) => size + part.length + 1, 2),
        this.name,
      );
      if (list.length === 0) out.null();
      else out.append(stringValue(open + list.join(',') + close));
    }
    return out.finish();
  }
  /** @throws query-aggregate for a field without a name */
  private textOf(values: Vector, i: number): string {
    if (values.form === 'bytes') return textAt(values, i);
    const { data } = valueAt(values, i);
    if (typeof data === 'string') return data;
    throw new LakeError('query-aggregate', { aggregate: this.name, wanted: 'names', value: 'null', type: 'varchar' });
  }
}

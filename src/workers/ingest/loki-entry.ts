/** A line of a stream of Loki's, whatever it came in. */
import { type Builder, type Shape, shapeOf } from '../../vectors/builder.ts';

/** Names with texts, in their order. */
export type Pairs = readonly (readonly [name: string, text: string])[];
/** A line of a stream. */
export interface LokiEntry {
  readonly labels: Labels;
  readonly seconds: number;
  readonly nanos: number;
  readonly line: string;
  readonly metadata: Pairs;
}

/** A record of texts. */
export class Labels {
  readonly shape: Shape;
  readonly texts: readonly string[];
  /** Of a name that comes twice the last text counts, where the name came first. */
  constructor(pairs: Pairs) {
    const all = new Map(pairs);
    this.shape = shapeOf([...all.keys()].map((name) => ({ name })));
    this.texts = [...all.values()];
  }

  write(builder: Builder): void {
    const record = builder.record(this.shape);
    for (let k = 0; k < this.texts.length; k++) record.fields[k]!.text(this.texts[k]!);
    record.end();
  }
}

/** What random texts are drawn with: the base of the classes that write queries. */
import type { Random } from '../../support/random.ts';

/** `Scope`: what stands for a table or a column in scope; of tables it is their aliases. */
export abstract class RandomTexts<Scope = string> {
  protected readonly random: Random;
  /** What stands in scope. */
  protected scope: readonly Scope[] = [];
  constructor(random: Random) {
    this.random = random;
  }

  protected get pick(): Random['pick'] {
    return this.random.pick;
  }
  /** True once in `of` times. */
  protected chance(of: number): boolean {
    return this.random.below(of) === 0;
  }
  /** From `least` to `most` of them. */
  protected list<T>(least: number, most: number, make: (i: number) => T): T[] {
    return Array.from({ length: least + this.random.below(most - least + 1) }, (_, i) => make(i));
  }
  /** What is made while something else stands in scope. */
  protected within<T>(scope: readonly Scope[], make: () => T): T {
    const saved = this.scope;
    this.scope = scope;
    const made = make();
    this.scope = saved;
    return made;
  }
}

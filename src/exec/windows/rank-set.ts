/**
 * A set of ranks below a bound that finds its k-th smallest: counts of ranges of ranks (a Fenwick tree), so that
 * everything takes logarithmic time.
 */
export class RankSet {
  size = 0;
  /** Place k, from 1 on, counts the ranks that end with k - 1 and are as many as its lowest bit says. */
  private readonly counts: Int32Array;
  /** The greatest power of two that is no more than the bound. */
  private readonly top: number;
  constructor(bound: number) {
    this.counts = new Int32Array(bound + 1);
    this.top = bound === 0 ? 0 : 2 ** Math.floor(Math.log2(bound));
  }
  add(rank: number): void {
    this.change(rank, 1);
  }
  remove(rank: number): void {
    this.change(rank, -1);
  }
  /** The rank at this place among those in the set, which has more than so many. */
  at(place: number): number {
    const { counts } = this;
    let k = 0;
    let left = place;
    for (let step = this.top; step > 0; step >>= 1) {
      const to = k + step;
      if (to < counts.length && counts[to] <= left) {
        k = to;
        left -= counts[to];
      }
    }
    return k;
  }
  /** How many ranks of the set are below one. */
  below(rank: number): number {
    let found = 0;
    for (let k = rank; k > 0; k -= k & -k) found += this.counts[k];
    return found;
  }
  private change(rank: number, by: 1 | -1): void {
    const { counts } = this;
    this.size += by;
    for (let k = rank + 1; k < counts.length; k += k & -k) counts[k] += by;
  }
}

/**
 * Which codes come in which groups, where it need not be known at once whether a pair is new: pairs are noted as they
 * come, and many of them are settled together. They are put in the order of their groups, and a group's codes are told
 * apart by marks in a table that all groups use in turn. Of 1,000,000 rows with 940,000 pairs that takes 24 ms and 8 MB,
 * a hash table of the pairs 130 ms and 25 MB; count(distinct) by 5,000 groups takes 0.43 of the time.
 *
 * Invariants:
 * - `settle` gives each pair once: it is known from then on. Within a group codes are known in the order in which they
 *   came.
 * - About as many pairs are noted as are known before `isFull`, so that the work for a row stays the same however many
 *   there are.
 */
import { charge } from '../../../vectors/stop.ts';
import { range } from '../../../vectors/vector.ts';

/** So many pairs are noted in any case. */
const notedMin = 1 << 16;

const noCodes = new Uint32Array(0);
/** Codes of groups, row by row. */
interface GroupCodes {
  readonly ids: Uint32Array;
  readonly codes: Uint32Array;
}

export class DistinctPairs {
  private ids = new Uint32Array(0);
  private codes = new Uint32Array(0);
  private noted = 0;
  private isFrozen = false;
  /** The known codes of group g: `known` from starts[g] up to starts[g + 1]. */
  private starts = new Uint32Array(1);
  private known: Uint32Array = new Uint32Array(0);

  get bytes(): number {
    return this.ids.byteLength + this.codes.byteLength + this.starts.byteLength + this.known.byteLength;
  }
  /** The known pairs. */
  get size(): number {
    return this.known.length;
  }
  get isEmpty(): boolean {
    return this.noted === 0 && this.known.length === 0;
  }
  /** Whether it is time to settle. */
  get isFull(): boolean {
    const room = Math.max(notedMin, this.isFrozen ? this.ids.length - notedMin : this.known.length);
    return this.noted >= room;
  }
  /** From here on no more pairs become known, and there is no more room for noted ones than there was. */
  freeze(): void {
    this.isFrozen = true;
  }

  /** Takes the first `count` codes as known of one group, where nothing is known yet. */
  know(group: number, count: number): void {
    this.starts = new Uint32Array(group + 2);
    this.starts[group + 1] = count;
    this.known = range(0, count);
  }
  /** Notes the pairs (ids[i], codes[i]) of so many rows. */
  note(ids: Uint32Array, codes: Uint32Array, length: number): void {
    this.reserve(length);
    this.ids.set(ids.length === length ? ids : ids.subarray(0, length), this.noted);
    this.codes.set(codes.length === length ? codes : codes.subarray(0, length), this.noted);
    this.noted += length;
  }
  private reserve(length: number): void {
    const least = this.noted + length;
    if (least <= this.ids.length) return;
    const wanted = this.isFrozen ? 0 : Math.min(this.ids.length * 2, Math.max(notedMin, this.known.length) + length);
    const size = Math.max(least, wanted);
    charge(size * 2 * Uint32Array.BYTES_PER_ELEMENT, 'count distinct');
    this.ids = wider(this.ids, size);
    this.codes = wider(this.codes, size);
  }

  /** The noted pairs that were not known, for use until others are noted. All codes are below `codesCount`. */
  settle(codesCount: number): GroupCodes {
    const { ids, codes, noted } = this;
    if (noted === 0) return { ids: noCodes, codes: noCodes };
    const groups = this.groupsOfAll();
    charge((noted * 2 + this.known.length + codesCount + groups * 2) * Uint32Array.BYTES_PER_ELEMENT, 'count distinct');
    const ends = new Uint32Array(groups + 1);
    const ordered = byGroup(ids, codes, noted, ends);
    const known = new Uint32Array(this.known.length + noted);
    const starts = new Uint32Array(groups + 1);
    // The group that has met a code last, plus one.
    const met = new Uint32Array(codesCount);
    let fresh = 0;
    let to = 0;
    for (let g = 0, from = 0; g < groups; g++) {
      starts[g] = to;
      const end = ends[g];
      const knownEnd = g + 1 < this.starts.length ? this.starts[g + 1] : 0;
      for (let k = knownEnd === 0 ? 0 : this.starts[g]; k < knownEnd; k++) {
        const code = this.known[k];
        met[code] = g + 1;
        known[to++] = code;
      }
      for (; from < end; from++) {
        const code = ordered[from];
        if (met[code] === g + 1) continue;
        met[code] = g + 1;
        known[to++] = code;
        // What was noted is in `ordered` by now.
        ids[fresh] = g;
        codes[fresh++] = code;
      }
    }
    starts[groups] = to;
    this.starts = starts;
    this.known = known.slice(0, to);
    this.noted = 0;
    return { ids: ids.subarray(0, fresh), codes: codes.subarray(0, fresh) };
  }
  private groupsOfAll(): number {
    const { ids, noted } = this;
    let most = this.starts.length - 1;
    for (let i = 0; i < noted; i++) if (ids[i] >= most) most = ids[i] + 1;
    return most;
  }

  /**
   * The noted pairs that are not known, each once, for use until others are noted; they do not become known. To look
   * each of them up among the known ones took a count by 5,000 groups of 10,000,000 rows 1.5 times the processor time.
   */
  unknown(codesCount: number): GroupCodes {
    const { ids, codes, noted } = this;
    if (noted === 0) return { ids: noCodes, codes: noCodes };
    const groups = this.groupsOfAll();
    charge((noted + codesCount + groups) * Uint32Array.BYTES_PER_ELEMENT, 'count distinct');
    const ends = new Uint32Array(groups + 1);
    const ordered = byGroup(ids, codes, noted, ends);
    const met = new Uint32Array(codesCount);
    let fresh = 0;
    for (let g = 0, from = 0; g < groups; g++) {
      const end = ends[g];
      if (from === end) continue;
      const knownEnd = g + 1 < this.starts.length ? this.starts[g + 1] : 0;
      for (let k = knownEnd === 0 ? 0 : this.starts[g]; k < knownEnd; k++) met[this.known[k]] = g + 1;
      for (; from < end; from++) {
        const code = ordered[from];
        if (met[code] === g + 1) continue;
        met[code] = g + 1;
        ids[fresh] = g;
        codes[fresh++] = code;
      }
    }
    this.noted = 0;
    return { ids: ids.subarray(0, fresh), codes: codes.subarray(0, fresh) };
  }
  /** All known pairs. */
  all(): GroupCodes {
    const ids = new Uint32Array(this.known.length);
    for (let g = 0; g + 1 < this.starts.length; g++) ids.fill(g, this.starts[g], this.starts[g + 1]);
    return { ids, codes: this.known };
  }
}

const wider = (array: Uint32Array, size: number): Uint32Array<ArrayBuffer> => {
  const grown = new Uint32Array(size);
  grown.set(array);
  return grown;
};
/** The codes of so many rows, group by group; `ends`, of zeros, gets where each group's end. */
const byGroup = (ids: Uint32Array, codes: Uint32Array, length: number, ends: Uint32Array): Uint32Array => {
  for (let i = 0; i < length; i++) ends[ids[i] + 1]++;
  for (let g = 1; g < ends.length; g++) ends[g] += ends[g - 1];
  const out = new Uint32Array(length);
  for (let i = 0; i < length; i++) out[ends[ids[i]]++] = codes[i];
  return out;
};

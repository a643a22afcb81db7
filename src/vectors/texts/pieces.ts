/**
 * A long string put together of very many short ones: made by `+=`, each of them would stay as an object of its own
 * until the whole is asked for.
 */
import { charge, chargeText, checkStop } from '../stop.ts';

/** Pieces that are joined at a time. */
const piecesMax = 4096;

export class TextPieces {
  length = 0;
  private readonly joined: string[] = [];
  private pieces: string[] = [];
  private readonly what: string;
  /** `what` makes the string, as errors say it. */
  constructor(what: string) {
    this.what = what;
  }

  add(piece: string): void {
    this.length += piece.length;
    if (this.pieces.push(piece) >= piecesMax) this.join();
  }
  /** The whole string. @throws query-memory, query-string */
  text(): string {
    if (this.joined.length === 0) return this.pieces.join('');
    this.join();
    chargeText(this.length, this.what);
    return this.joined.join('');
  }
  private join(): void {
    checkStop();
    charge(
      this.pieces.reduce((n, p) => n + p.length, 0),
      this.what,
    );
    this.joined.push(this.pieces.join(''));
    this.pieces = [];
  }
}

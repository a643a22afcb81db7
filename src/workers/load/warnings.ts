/** What could not be kept as it came, for the answer to a load. */

/** Most warnings of a load, and characters of each, which go into a header: names of columns are the client's. */
const warningsMax = 5;
const warningCharactersMax = 200;
/** What could not be kept as it came. */
export class Warnings {
  private readonly first: string[] = [];
  private more = 0;

  readonly add = (text: string): void => {
    if (this.first.length === warningsMax) this.more++;
    else this.first.push(text.length > warningCharactersMax ? `${text.slice(0, warningCharactersMax)}...` : text);
  };
  texts(): readonly string[] {
    return this.more === 0 ? this.first : [...this.first, `${this.more} more`];
  }
}

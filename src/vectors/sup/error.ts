/** The one error of SUP text. */

/** Bad SUP text. */
export class SupError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SupError';
  }
}

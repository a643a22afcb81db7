/**
 * Configurations to copy, out of the manual's pages when the browser pages are built: a block of code behind a comment
 * `<!-- copy TITLE: POOL -->`, POOL being the name in it that stands for the reader's own.
 */

/** One of them, as the manual has it. */
export interface Recipe {
  readonly title: string;
  /** The pool's name in the text. */
  readonly pool: string;
  readonly language: string;
  readonly text: string;
}

/** Those of a page, in order. */
export const recipesOf = (markdown: string): readonly Recipe[] =>
  [...markdown.matchAll(/^<!-- copy (.+?): (\S+) -->\n+```(\w*)\n([\s\S]*?)^```$/gm)].map(
    ([, title = '', pool = '', language = '', text = '']) => ({ title, pool, language, text }),
  );

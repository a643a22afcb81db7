/** Answers to texts of headers, which are the same few of most clients. */

/** Keeps so many answers, and none of a text that is longer. */
const answersMax = 64;
const charactersMax = 256;

/**
 * What `answer` says of a text, which it is asked once while the answer is kept; what it throws is not. When there are
 * too many all are forgotten.
 */
export const remembered = <T>(answer: (text: string) => T): ((text: string) => T) => {
  const known = new Map<string, T>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const made = answer(text);
    if (text.length > charactersMax) return made;
    if (known.size >= answersMax) known.clear();
    known.set(text, made);
    return made;
  };
};

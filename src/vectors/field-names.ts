/**
 * Each name once, as the columns of a SELECT have it: the second `a` becomes `a_1`, the third `a_2`, past names that
 * are there already.
 */
export const distinctNames = (names: readonly string[]): readonly string[] => {
  const taken = new Set(names);
  const seen = new Map<string, number>();
  if (taken.size === names.length) return names;
  return names.map((name) => {
    let count = seen.get(name);
    if (count === undefined) {
      seen.set(name, 0);
      return name;
    }
    let numbered: string;
    do numbered = `${name}_${++count}`;
    while (taken.has(numbered));
    seen.set(name, count);
    taken.add(numbered);
    return numbered;
  });
};

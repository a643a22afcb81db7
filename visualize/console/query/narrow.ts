/** Changes of a query's text that keep the rest as it is written: a span of time that was brushed, one stage a line. */
import { type Path, pathText } from './columns/columns.ts';
import { scan, type Stage, stagesOf } from './scan.ts';

/** Replace `start` .. `end` by `insert`. */
export interface TextChange {
  readonly start: number;
  readonly end: number;
  readonly insert: string;
}
/** A span of the times of a field. */
interface Span {
  readonly path: Path;
  /**
   * Literals as the query writes them: `2026-01-01T00:00:00Z`, or quoted where times are strings. `to` is not in the
   * span.
   */
  readonly from: string;
  readonly to: string;
}

/** Stages that give rows as they are: a condition on a field may stand before them. */
const passing: ReadonlySet<string> = new Set([
  'where',
  'search',
  '?',
  'sort',
  'order',
  'head',
  'tail',
  'limit',
  'skip',
  'uniq',
  'top',
  'fuse',
  'pass',
  'distinct',
]);

/**
 * The change that narrows a query to a span: it moves the span that stands there, else it adds one where the service
 * can use it best.
 */
export const narrowing = (text: string, { path, from, to }: Span): TextChange => {
  const field = pathText(path);
  const stages = stagesOf(text);
  const clause = `where ${field} >= ${from} and ${field} < ${to}`;
  const known = spanStage(stages, path);
  if (known) return { start: known.tokens[0]!.start, end: known.tokens.at(-1)!.end, insert: clause };
  const [first] = stages;
  const last = stages.at(-1)!;
  if (first!.tokens.length === 0 && stages.length === 1) return { start: 0, end: text.length, insert: clause };
  const isEarly =
    first!.word === 'from' &&
    !first!.tokens.some(({ text: word }) => word.toLowerCase() === 'select') &&
    stages.slice(1).every((stage) => passing.has(stage.word));
  const at = isEarly ? first!.tokens.at(-1)!.end : (last.tokens.at(-1)?.end ?? last.end);
  const space = text.includes('\n') ? '\n' : ' ';
  return { start: at, end: at, insert: `${space}| ${clause}` };
};

/** The change that takes a span away again; undefined where none stands. */
export const widening = (text: string, path: Path): TextChange | undefined => {
  const stages = stagesOf(text);
  const at = stages.findIndex((stage) => spanStage([stage], path));
  if (at < 0) return undefined;
  const stage = stages[at]!;
  if (at === 0) return { start: stage.start, end: stages[1] ? stages[1].start : stage.end, insert: '' };
  // With the pipe and the space before it.
  return { start: stages[at - 1]!.tokens.at(-1)?.end ?? stage.start - 1, end: stage.tokens.at(-1)!.end, insert: '' };
};

/** The stage that is nothing but a span of the field. */
const spanStage = (stages: readonly Stage[], path: Path): Stage | undefined => {
  const field = scan(pathText(path))
    .filter(({ kind }) => kind !== 'space')
    .map((token) => token.text);
  return stages.find(({ word, tokens }) => {
    if (word !== 'where' || tokens.length !== field.length * 2 + 6) return false;
    const texts = tokens.map((token) => token.text);
    const isLiteral = (i: number): boolean => /^(?:time|string)$/.test(tokens[i]!.kind);
    const second = field.length + 4;
    return (
      field.every((part, i) => texts[1 + i] === part && texts[second + i] === part) &&
      texts[1 + field.length] === '>=' &&
      isLiteral(2 + field.length) &&
      texts[3 + field.length]!.toLowerCase() === 'and' &&
      texts[second + field.length] === '<' &&
      isLiteral(second + field.length + 1)
    );
  });
};

/** One stage a line. */
export const tidy = (text: string): string => {
  const stages = stagesOf(text).map(({ start, end }) => text.slice(start, end).trim());
  return stages.join('\n| ');
};

/**
 * What a failed statement looks like: the message, the line of the text with a mark below it, what to write instead.
 */
import { messageOf } from '../../errors.ts';
import { adviceTo } from '../../query/parse/advice.ts';
import type { CompileFault } from '../../query/parse/error.ts';
import { hintLine, syntaxOf } from '../compile-error.ts';
import { ShellFault } from './lake.ts';
import type { Statement } from './input.ts';
import { type Colors, harmless, textWidth } from './text.ts';

/** How a fault is shown. */
interface FaultOptions {
  readonly colors: Colors;
  /** Lines are counted over all input, not from the statement's own first one. */
  readonly absoluteLines: boolean;
}

/** Lines for a person, with a newline at the end. */
export const faultText = (
  problem: unknown,
  { text, line }: Statement,
  { colors, absoluteLines }: FaultOptions,
): string => {
  const linesBefore = absoluteLines ? line - 1 : 0;
  const lines =
    problem instanceof ShellFault && problem.faults.length > 0
      ? problem.faults.flatMap((fault) => marked(fault, text, linesBefore, colors))
      : harmless(messageOf(problem))
          .trimEnd()
          .split('\n')
          .map((l, i) => (i === 0 ? colors.red(l) : l));
  const hints =
    problem instanceof ShellFault
      ? problem.faults.flatMap((fault) => adviceTo(text, fault, syntaxOf, linesBefore)?.split('\n') ?? [])
      : [];
  return [...lines, ...[...new Set(hints)].map((hint) => colors.cyan(hintLine(harmless(hint)))), ''].join('\n');
};

/** The fault with its line and a mark under the place, in columns of the terminal. */
const marked = (
  { message, start, end }: CompileFault,
  text: string,
  linesBefore: number,
  colors: Colors,
): readonly string[] => {
  const bytes = Buffer.from(text);
  if (start < 0 || start > bytes.length) return [colors.red(harmless(message))];
  const before = bytes.subarray(0, start).toString();
  const lineStart = before.lastIndexOf('\n') + 1;
  const at = before.length;
  const lineEnd = text.indexOf('\n', at) < 0 ? text.length : text.indexOf('\n', at);
  const column = Buffer.byteLength(text.slice(lineStart, at)) + 1;
  const line = before.split('\n').length + linesBefore;
  const span = end < 0 ? '' : bytes.subarray(start, end).toString().split('\n')[0];
  const shown = (part: string): string => harmless(part.replaceAll('\t', ' '));
  const mark = `${' '.repeat(textWidth(shown(text.slice(lineStart, at))))}${colors.red(end < 0 ? '^' : '~'.repeat(Math.max(1, textWidth(shown(span)))))}`;
  return [
    colors.red(`${harmless(message)} at line ${line}, column ${column}:`),
    shown(text.slice(lineStart, lineEnd)),
    mark,
  ];
};

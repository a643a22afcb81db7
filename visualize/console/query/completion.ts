/**
 * What may come at a place of a query: operators behind a pipe, pools behind `from`, branches behind `@`, else fields,
 * functions and keywords.
 */
import type { Completion, CompletionContext, CompletionResult, CompletionSource } from '@codemirror/autocomplete';
import { language, type WordText } from 'virtual:language';
import { pathText } from './columns/columns.ts';
import type { FieldInfo } from './fields.ts';
import { poolText, scan, type Source, sourceOf } from './scan.ts';
import { typeNames } from './words.ts';

/** What the lake has for the place. */
export interface Names {
  /** Resolves when pools and views are known, or cannot be. */
  readonly listed: () => Promise<void>;
  readonly pools: () => readonly string[];
  readonly views: () => readonly string[];
  readonly branches: (pool: string) => Promise<readonly string[]>;
  readonly fields: (source: Source | undefined) => Promise<readonly FieldInfo[]>;
}

const word =
  (type: string, boost: number) =>
  ({ name, syntax, text }: WordText): Completion => ({
    label: name,
    type,
    detail: syntax === name ? '' : syntax,
    info: text,
    boost,
  });
const call =
  (type: string, boost: number) =>
  (row: WordText): Completion => ({
    ...word(type, boost)(row),
    apply: (view, _completion, from, to) => {
      // The cursor stands between the parentheses.
      const hasOpen = view.state.sliceDoc(to, to + 1) === '(';
      const insert = hasOpen ? row.name : `${row.name}()`;
      const takesNone = row.syntax.endsWith('()');
      view.dispatch({
        changes: { from, to, insert },
        selection: { anchor: from + row.name.length + (takesNone ? 2 : 1) },
        userEvent: 'input.complete',
      });
    },
  });
/** The most that the editor takes. */
const boostMax = 99;
const operators = language.operators.map(word('keyword', 2));
const aggregates = language.aggregates.map(call('function', 0));
const functions = language.functions.map(call('function', -1));
const windows = language.windows.map(call('function', -3));
const keywords = language.keywords.map((label): Completion => ({ label, type: 'text', boost: -2 }));
const types = typeNames.map((label): Completion => ({ label, type: 'type' }));

/** The completions of an editor, from the language and what the lake has. */
export const completionOf =
  (names: Names): CompletionSource =>
  async (context: CompletionContext): Promise<CompletionResult | null> => {
    const text = context.state.doc.toString();
    const typed = context.matchBefore(/[\p{L}_$][\p{L}\p{M}\p{Nd}\p{Pc}$]*/u);
    const from = typed?.from ?? context.pos;
    const tokens = scan(text.slice(0, from)).filter((token) => token.kind !== 'space');
    const last = tokens.at(-1);
    // Inside of a text or a comment nothing is completed.
    const around = scan(text).find((token) => token.start < context.pos && context.pos < token.end);
    if (
      around &&
      (around.kind === 'string' ||
        around.kind === 'comment' ||
        around.kind === 'regexp' ||
        around.kind === 'number' ||
        around.kind === 'time')
    )
      return null;
    if (last?.kind === 'comment' && !text.slice(last.end, from).includes('\n') && last.text.startsWith('--'))
      return null;
    const result = (options: readonly Completion[]): CompletionResult | null =>
      completed(options, context, { from, typed: typed?.text ?? '' });
    if (last?.kind === 'word' && last.text.toLowerCase() === 'from' && last.end < from) {
      await names.listed();
      return result(
        (['pool', 'view'] as const).flatMap((detail) =>
          names[`${detail}s`]().map((name, i): Completion => {
            // They are in the order in which they are wanted.
            const boost = Math.max(0, boostMax - i);
            return { label: name, type: 'class', detail, apply: poolText(name), boost };
          }),
        ),
      );
    }
    if (last?.text === '@') {
      const source = sourceOf(
        tokens
          .slice(-2, -1)
          .map((token) => `from ${token.text}`)
          .join(''),
      );
      return source
        ? result(
            (await names.branches(source.pool)).map(
              (name): Completion => ({ label: name, type: 'class', detail: 'branch', apply: poolText(name) }),
            ),
          )
        : null;
    }
    if (last?.text === '::' || last?.text === '<') return result(types);
    const isStart =
      !last ||
      last.kind === 'pipe' ||
      (last.text === '(' && /^(?:fork|switch|join|into|exists|as)$/i.test(tokens.at(-2)?.text ?? ''));
    const inner = memberPath(text, from);
    if (!typed && !context.explicit && !inner && (!isStart || !last)) return null;
    const fields = await names.fields(sourceOf(text));
    if (inner)
      return result(
        fields
          .filter(({ path }) => path.length === inner.length + 1 && inner.every((step, i) => path[i] === step))
          .map((field) => fieldOption(field, String(field.path.at(-1)))),
      );
    const tops = fields.map((field) => fieldOption(field, pathText(field.path)));
    return result(
      isStart
        ? [...operators, ...aggregates, ...functions, ...tops.map((option) => ({ ...option, boost: -3 }))]
        : [...tops, ...aggregates, ...functions, ...windows, ...keywords],
    );
  };

const wordText = /^[\p{L}\p{M}\p{Nd}\p{Pc}$]*$/u;
/**
 * The options as a list that is asked for anew once a word of it stands there: then only longer ones are proposed, and
 * none where there is none. What was asked for is listed whole.
 */
const completed = (
  all: readonly Completion[],
  { explicit }: CompletionContext,
  { from, typed }: { readonly from: number; readonly typed: string },
): CompletionResult | null => {
  const isWhole = (text: string): boolean =>
    all.some(({ label, apply }) => label === text && (apply === undefined || apply === text));
  const begun = explicit || !isWhole(typed) ? '' : typed;
  const options = begun === '' ? all : all.filter(({ label }) => label !== begun && label.startsWith(begun));
  const validFor = (text: string): boolean =>
    wordText.test(text) && text.startsWith(begun) && (text === typed || !isWhole(text));
  return options.length === 0 ? null : { from, options, validFor };
};

const fieldOption = (field: FieldInfo, label: string): Completion => ({
  label,
  type: 'property',
  detail: field.type.length > 40 ? `${field.type.slice(0, 40)}…` : field.type,
  boost: 3,
});

/** The fields before the dot at a place: `a.b.` gives a and b. */
const memberPath = (text: string, at: number): readonly string[] | undefined => {
  const found = /((?:[\p{L}_$][\p{L}\p{M}\p{Nd}\p{Pc}$]*\.)+)$/u.exec(text.slice(0, at));
  return found
    ? found[1]
        .slice(0, -1)
        .split('.')
        .filter((step, i) => i > 0 || step !== 'this')
    : undefined;
};

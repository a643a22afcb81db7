/**
 * The query's text: CodeMirror in a shadow tree. Its styles are constructed sheets there, which the content security
 * policy of the page lets through.
 *
 * Tab leaves the editor, unless a list of completions is open; Escape closes that.
 */
import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  closeCompletion,
  completionKeymap,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, isolateHistory } from '@codemirror/commands';
import { bracketMatching } from '@codemirror/language';
import { type Diagnostic, lintKeymap, setDiagnostics } from '@codemirror/lint';
import { EditorState, type Extension, Prec, RangeSetBuilder } from '@codemirror/state';
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  dropCursor,
  EditorView,
  highlightActiveLine,
  highlightSpecialChars,
  keymap,
  placeholder,
  ViewPlugin,
  type ViewUpdate,
} from '@codemirror/view';
import { useEffect, useRef } from 'preact/hooks';
import { language } from 'virtual:language';
import { completionOf, type Names } from './completion.ts';
import type { TextChange } from './narrow.ts';
import { colour, type WordKind, type Words } from './words.ts';

/** What is wrong at a place of the text: offsets, the end not in it. */
export interface TextFault {
  readonly start: number;
  readonly end: number;
  readonly message: string;
}
/** What others may do with the editor. */
export interface EditorHandle {
  readonly text: () => string;
  readonly replace: (text: string) => void;
  readonly change: (change: TextChange) => void;
  readonly focus: () => void;
  readonly select: (start: number, end: number) => void;
  readonly show: (faults: readonly TextFault[]) => void;
}
/** What the editor begins with and whom it tells. `text` and `names` are those of the first drawing. */
interface EditorProps {
  readonly text: string;
  readonly names: Names;
  readonly onText: (text: string) => void;
  readonly onRun: () => void;
  readonly onReady: (handle: EditorHandle) => void;
}

const words: Words = {
  operators: new Set(language.operators.map(({ name }) => name)),
  functions: new Set([...language.functions, ...language.aggregates, ...language.windows].map(({ name }) => name)),
  keywords: new Set(language.keywords.flatMap((each) => each.split(' '))),
};
const colouredMax = 100_000;
const kinds: readonly WordKind[] = [
  'operator',
  'function',
  'keyword',
  'type',
  'constant',
  'string',
  'number',
  'time',
  'comment',
  'mark',
];
const marks = Object.fromEntries(kinds.map((kind) => [kind, Decoration.mark({ class: `tok-${kind}` })])) as Record<
  WordKind,
  Decoration
>;

const decorate = (view: EditorView): DecorationSet => {
  const builder = new RangeSetBuilder<Decoration>();
  if (view.state.doc.length <= colouredMax)
    for (const { start, end, kind } of colour(view.state.doc.toString(), words)) builder.add(start, end, marks[kind]);
  return builder.finish();
};
const colours = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = decorate(view);
    }
    update(update: ViewUpdate): void {
      if (update.docChanged) this.decorations = decorate(update.view);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

const look = EditorView.theme({
  '&': {
    color: 'var(--ink)',
    backgroundColor: 'var(--paper)',
    fontSize: '0.9375rem',
    minHeight: '4.5rem',
    maxHeight: '40vh',
  },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55', overflow: 'auto' },
  '.cm-content': { padding: '0.7rem 0', caretColor: 'var(--ink)', minHeight: '4.5rem' },
  '.cm-line': { padding: '0 0.9rem' },
  '.cm-activeLine': { backgroundColor: 'transparent' },
  '&.cm-focused .cm-activeLine': { backgroundColor: 'var(--raised)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)', borderLeftWidth: '2px' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--lit)',
  },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': {
    backgroundColor: 'var(--lit)',
    outline: '1px solid var(--accent)',
  },
  '.cm-placeholder': { color: 'var(--soft)' },
  '.cm-specialChar': { color: 'var(--bad)' },
  '.cm-tooltip': {
    backgroundColor: 'var(--paper)',
    color: 'var(--ink)',
    border: '1px solid var(--firm)',
    borderRadius: '6px',
    boxShadow: '0 6px 24px rgb(0 0 0 / 25%)',
    overflow: 'hidden',
    maxWidth: 'min(36rem, 92vw)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': {
    fontFamily: 'var(--mono)',
    fontSize: '0.875rem',
    maxHeight: '16rem',
    maxWidth: 'min(36rem, 92vw)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': {
    padding: '0.25rem 0.6rem',
    lineHeight: '1.4',
    display: 'flex',
    gap: '0.8rem',
    alignItems: 'baseline',
  },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--accent-ink)' },
  '.cm-completionIcon': { display: 'none' },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '700' },
  '.cm-completionDetail': {
    marginLeft: 'auto',
    fontStyle: 'normal',
    color: 'var(--soft)',
    fontSize: '0.8125rem',
    overflow: 'hidden',
    textOverflow: 'ellipsis',
  },
  'li[aria-selected] .cm-completionDetail': { color: 'inherit' },
  '.cm-tooltip.cm-completionInfo': {
    fontFamily: 'var(--sans)',
    fontSize: '0.875rem',
    padding: '0.5rem 0.7rem',
    lineHeight: '1.4',
    maxWidth: '22rem',
    whiteSpace: 'normal',
  },
  '.cm-diagnostic': {
    fontFamily: 'var(--sans)',
    fontSize: '0.875rem',
    padding: '0.4rem 0.7rem',
    borderLeft: '4px solid var(--bad)',
    whiteSpace: 'pre-wrap',
  },
  '.cm-lintRange-error': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--bad)',
    textDecorationSkipInk: 'none',
    textUnderlineOffset: '3px',
  },
  '.cm-lintPoint::after': { borderBottomColor: 'var(--bad)' },
  ...Object.fromEntries(
    kinds.map((kind) => [
      `.tok-${kind}`,
      {
        color: `var(--tok-${kind})`,
        ...(kind === 'operator' && { fontWeight: '600' }),
        ...(kind === 'comment' && { fontStyle: 'italic' }),
      },
    ]),
  ),
});

/**
 * What replaces a selection is written by the editor: a browser that does it takes the colours of what it replaces along
 * as an inline style, which the content security policy refuses.
 */
const replacing = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    const { inputType, data, isComposing } = event;
    if (inputType.startsWith('format')) return true;
    if (inputType !== 'insertText' || data === null || isComposing || isCollapsed(view)) return false;
    const { from, to } = view.state.selection.main;
    const insert = () =>
      view.state.update(view.state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true });
    const handlers = view.state.facet(EditorView.inputHandler);
    if (!handlers.some((handle) => handle(view, from, to, data, insert))) view.dispatch(insert());
    return true;
  },
  compositionstart: (_event, view) => {
    if (!isCollapsed(view)) view.dispatch(view.state.replaceSelection(''), { userEvent: 'delete.selection' });
    return false;
  },
});
const isCollapsed = (view: EditorView): boolean => view.state.selection.ranges.every(({ empty }) => empty);

/** The list of completions goes when the reader does, also one that is still being made. */
const leaving = EditorView.domEventHandlers({
  blur: (_event, view) => {
    // As the list's own: a press on one of its options takes the focus for a moment.
    setTimeout(() => {
      if (!view.hasFocus) closeCompletion(view);
    }, leaveMs);
    return false;
  },
});
const leaveMs = 10;

const extensionsOf = ({
  names,
  onText,
  onRun,
}: Pick<EditorProps, 'names' | 'onText' | 'onRun'>): readonly Extension[] => [
  look,
  colours,
  replacing,
  leaving,
  history(),
  drawSelection(),
  dropCursor(),
  highlightSpecialChars(),
  highlightActiveLine(),
  bracketMatching(),
  closeBrackets(),
  EditorView.lineWrapping,
  EditorState.languageData.of(() => [
    {
      commentTokens: { line: '--', block: { open: '/*', close: '*/' } },
      closeBrackets: { brackets: ['(', '[', '{', '"', "'"] },
    },
  ]),
  placeholder('from pool | where field > 10 | count() by key'),
  autocompletion({ override: [completionOf(names)], icons: false, maxRenderedOptions: 60 }),
  EditorView.contentAttributes.of({
    tabindex: '0',
    'aria-label': 'Query',
    'aria-multiline': 'true',
    spellcheck: 'false',
    autocorrect: 'off',
    autocapitalize: 'off',
    translate: 'no',
  }),
  EditorView.updateListener.of((update) => {
    if (update.docChanged) onText(update.state.doc.toString());
  }),
  Prec.highest(
    keymap.of([
      {
        key: 'Mod-Enter',
        run: (view) => {
          closeCompletion(view);
          onRun();
          return true;
        },
      },
      { key: 'Tab', run: acceptCompletion },
    ]),
  ),
  keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap]),
];

/** The editor of the query's text; what it can do comes by `onReady`. */
export const Editor = ({ text, names, onText, onRun, onReady }: EditorProps) => {
  const place = useRef<HTMLDivElement>(null);
  const latest = useRef({ onText, onRun });
  latest.current = { onText, onRun };
  useEffect(() => {
    const host = place.current!;
    const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
    const extensions = extensionsOf({
      names,
      onText: (value) => {
        latest.current.onText(value);
      },
      onRun: () => {
        latest.current.onRun();
      },
    });
    const view = new EditorView({ doc: text, parent: root, root, extensions: [...extensions] });
    onReady(handleOf(view));
    return () => {
      view.destroy();
    };
  }, []);
  return <div class="editor" ref={place} />;
};

const handleOf = (view: EditorView): EditorHandle => {
  const length = (): number => view.state.doc.length;
  return {
    text: () => view.state.doc.toString(),
    replace: (text) => {
      view.dispatch({
        changes: { from: 0, to: length(), insert: text },
        selection: { anchor: text.length },
        annotations: isolateHistory.of('full'),
      });
    },
    change: ({ start, end, insert }) => {
      view.dispatch({
        changes: { from: start, to: end, insert },
        annotations: isolateHistory.of('full'),
        scrollIntoView: true,
      });
    },
    focus: () => {
      view.focus();
    },
    select: (start, end) => {
      view.dispatch({
        selection: { anchor: Math.min(start, length()), head: Math.min(end, length()) },
        scrollIntoView: true,
      });
      view.focus();
    },
    show: (faults) => {
      const diagnostics = faults.map(
        ({ start, end, message }): Diagnostic => ({
          from: Math.min(start, length()),
          to: Math.min(Math.max(end, start), length()),
          severity: 'error',
          message,
        }),
      );
      view.dispatch(setDiagnostics(view.state, diagnostics));
    },
  };
};

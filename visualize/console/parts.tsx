/** Small parts that all pages of the console are made of. */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { signal } from '@preact/signals';
import {
  ago,
  bytes,
  count,
  dateTime,
  idPieces,
  shortId,
  visible,
  visibleEnds,
  visibleLines,
  visibleName,
  withShortIds,
} from './text.ts';

const paths = {
  theme: 'M8 1a7 7 0 100 14A7 7 0 008 1zm0 1.8v10.4a5.2 5.2 0 010-10.4z',
  plus: 'M7 2h2v5h5v2H9v5H7V9H2V7h5z',
  upload: 'M8 1l4.5 4.5-1.2 1.2L8.9 4.3V11H7.1V4.3L4.7 6.7 3.5 5.5zM2 10h1.8v3.2h8.4V10H14v5H2z',
  branch:
    'M4.5 1A2.2 2.2 0 015.4 5.2v5.6a2.2 2.2 0 11-1.8 0V5.2A2.2 2.2 0 014.5 1zm7 0a2.2 2.2 0 01.9 4.2C12.3 8 10 9 7.2 9.3V7.5c2-.2 3.3-.8 3.4-2.3A2.2 2.2 0 0111.5 1z',
  merge:
    'M4.5 1a2.2 2.2 0 01.9 4.2c.3 1.6 2 2.5 4.1 2.6a2.2 2.2 0 110 1.8C7.800 9.500 6.300 9 5.400 8v2.800a2.200 2.200 0 11-1.800 0V5.200A2.200 2.200 0 014.500 1z',
  trash: 'M6 1h4l.6 1.500H14V4H2V2.500h3.400zM3 5h10l-.7 10H3.700zM6 7v6h1.300V7zm2.700 0v6H10V7z',
  edit: 'M11.500 1.500l3 3L5.500 13.500 1.800 14.200 2.500 10.500z',
  undo: 'M6 2v3.200h3.500a4.500 4.500 0 010 9H5v-1.800h4.500a2.700 2.700 0 000-5.400H6v3.200L1.500 6.100z',
  broom: 'M10.500 1l1.600.8-3 6 1.900 1L8.500 15H1.500l3-8.200 2.900.4z',
  ask: 'M6.500 1a5.500 5.500 0 014.300 8.900l4 4-1.300 1.300-4-4A5.500 5.500 0 116.500 1zm0 1.800a3.700 3.700 0 100 7.400 3.700 3.700 0 000-7.400z',
  copy: 'M5 1h9v10h-3v4H2V5h3zm1.600 4H11v4.400h1.400V2.600H6.600zM3.600 6.600v6.800h5.800V6.600z',
  pack: 'M1 2h14v4H1zm1 5h12v7H2zm4 2v1.600h4V9z',
  pause: 'M4 2h3v12H4zM9 2h3v12H9z',
  play: 'M4 2l10 6-10 6z',
  close:
    'M3.300 2L8 6.700 12.700 2 14 3.300 9.300 8l4.700 4.700-1.300 1.300L8 9.300 3.300 14 2 12.700 6.700 8 2 3.300z',
  filter: 'M1 2h14L9.500 8.500V14l-3-1.500v-4z',
  leave: 'M2 1h7v2H4v10h5v2H2zm8.500 3.500L14 8l-3.500 3.500V9H6V7h4.500z',
  back: 'M7 2v4h7v4H7v4L1 8z',
  more: 'M2 6.500h3v3H2zm4.500 0h3v3h-3zm4.500 0h3v3h-3z',
  tag: 'M1.500 1.500h6L15 9l-6 6-7.500-7.500zM4.500 3.300a1.300 1.300 0 100 2.600 1.300 1.300 0 000-2.600z',
  table:
    'M1 2h14v12H1zm1.600 4.400v2.200h3.400V6.400zm5 0v2.200h5.800V6.400zM2.600 10.200v2.200h3.400v-2.200zm5 0v2.200h5.800v-2.200z',
  compare:
    'M1 2h6v12H1zm1.600 1.600v8.800h2.800V3.600zM9 2h6v12H9zm1.600 1.600v2.400h2.800V3.600zm0 6.400v2.400h2.800V10z',
  pick: 'M8 1a4.500 4.500 0 014.500 4.500c0 2.200-1.600 4-3.600 4.400V15H7.100V9.900A4.500 4.500 0 018 1zm0 1.800a2.700 2.700 0 100 5.400 2.700 2.700 0 000-5.400z',
  shield:
    'M8 1l6 2v4.500c0 3.400-2.400 6.200-6 7.500-3.600-1.300-6-4.100-6-7.500V3zm0 1.900L3.800 4.300v3.200c0 2.500 1.700 4.500 4.200 5.600z',
  check: 'M6 13L1.500 8.500l1.400-1.400L6 10.200l7.100-7.100 1.400 1.400z',
} as const;
/** The pictures that there are. */
export type IconName = keyof typeof paths;
/** A picture; hidden from those who hear the page. */
export const Icon = ({ name }: { readonly name: IconName }) => (
  <svg viewBox="0 0 16 16" aria-hidden="true">
    <path d={paths[name]} />
  </svg>
);

/** A text that somebody else chose: set apart from the direction of the text around it, nothing in it unseen. */
export const Name = ({
  text,
  max,
  class: kind,
}: {
  readonly text: string;
  readonly max?: number;
  readonly class?: string;
}) => <bdi class={kind}>{visibleEnds(visibleName(text, max))}</bdi>;
/** An id by its telling part; the whole of it as a title. */
export const Id = ({ id }: { readonly id: string }) => (
  <code class="id" title={id}>
    {shortId(id)}
  </code>
);

/**
 * A text of the service with its ids as everywhere on the page. Line breaks stay: what points at a place in the line
 * above stands below it.
 */
export const Told = ({ text, max = 2000 }: { readonly text: string; readonly max?: number }) => (
  <>
    {idPieces(visibleLines(text, max)).map((piece, i) =>
      typeof piece === 'string' ? piece : <Id key={i} id={piece.id} />,
    )}
  </>
);

/**
 * What is told at the moment; `n` counts what was told. Good news go by themselves, bad ones when they are dismissed.
 */
const notice = signal<{ readonly text: string; readonly bad: boolean; readonly n: number } | null>(null);
let notices = 0;
/** Tells what was done, for a while; or why not, until it is dismissed. */
export const tell = (text: string, bad = false): void => {
  notice.value = { text, bad, n: ++notices };
};

/** Shows what `tell` says. */
export const Notices = () => {
  const { value } = notice;
  useEffect(() => {
    if (!value || value.bad) return undefined;
    const timer = setTimeout(() => {
      notice.value = null;
    }, 6000);
    return () => {
      clearTimeout(timer);
    };
  }, [value]);
  return (
    <div class="notices" aria-live="polite">
      {value && (
        <p class={`notice${value.bad ? ' bad' : ''}`} role={value.bad ? 'alert' : undefined}>
          {!value.bad && <Icon name="check" />}
          <span>{visible(withShortIds(value.text), 600)}</span>
          <IconButton
            icon="close"
            label="Dismiss"
            onClick={() => {
              notice.value = null;
            }}
          />
        </p>
      )}
    </div>
  );
};

/** What went wrong, where there is something. */
export const Fault = ({ text }: { readonly text: string | undefined }) =>
  text === undefined ? null : /\n[ =]*\^/.test(text) ? (
    <pre class="fault" role="alert" tabIndex={0}>
      <Told text={text} />
    </pre>
  ) : (
    <p class="fault" role="alert">
      <Told text={text} />
    </p>
  );
/** Says that something is awaited. */
export const Busy = ({ text }: { readonly text: string }) => (
  <p class="busy soft" role="status">
    <span class="spinner" aria-hidden="true" />
    {text}
  </p>
);

/** What one sees where there is nothing yet: what to do about it. */
export const Empty = ({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) => (
  <div class="nothing">
    <h2>{title}</h2>
    {children}
  </div>
);

/** What a dialog shows. The element with `data-first` has the focus when it opens. */
interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  /** The form's own submission: Enter and the main button. */
  readonly onSubmit?: () => void;
  readonly wide?: boolean;
  readonly children: ComponentChildren;
  readonly actions?: ComponentChildren;
}
/** A modal dialog: the browser keeps the focus inside, Escape closes it, and the focus goes back to where it was. */
export const Dialog = ({ title, onClose, onSubmit, wide, children, actions }: DialogProps) => {
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const one = box.current!;
    const before = document.activeElement;
    if (!one.open) one.showModal();
    one.querySelector<HTMLElement>('[data-first]')?.focus();
    return () => {
      one.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const submit = (event: Event): void => {
    event.preventDefault();
    onSubmit?.();
  };
  return (
    <dialog
      ref={box}
      class={wide ? 'wide-dialog' : ''}
      aria-labelledby={id}
      onCancel={(e) => {
        e.preventDefault();
        onClose();
      }}
    >
      <form onSubmit={submit} noValidate>
        <header>
          <h2 id={id}>{title}</h2>
          <IconButton icon="close" label="Close" onClick={onClose} />
        </header>
        <div class="dialog-body">{children}</div>
        <footer>{actions}</footer>
      </form>
    </dialog>
  );
};

/** A line to copy. */
export const CopyLine = ({ text, label = 'The same by curl' }: { readonly text: string; readonly label?: string }) => {
  const [copied, setCopied] = useState(false);
  const code = useRef<HTMLElement>(null);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      setTimeout(() => {
        setCopied(false);
      }, 2000);
    } catch {
      // Without a safe origin browsers give no clipboard: the line is selected for the reader's own copy.
      const range = document.createRange();
      range.selectNodeContents(code.current!);
      getSelection()?.removeAllRanges();
      getSelection()?.addRange(range);
    }
  };
  return (
    <figure class="curl">
      <figcaption class="soft">{label}</figcaption>
      <div class="curl-line">
        <pre tabIndex={0} aria-label={label}>
          <code ref={code}>{text}</code>
        </pre>
        <button
          type="button"
          class="quiet"
          onClick={() => {
            void copy();
          }}
        >
          <Icon name={copied ? 'check' : 'copy'} />
          <span>{copied ? 'Copied' : 'Copy'}</span>
        </button>
      </div>
      <span class="hidden-text" role="status">
        {copied ? 'Copied' : ''}
      </span>
    </figure>
  );
};

/** One figure of a list of them. */
export const Figure = ({ value, label }: { readonly value: ComponentChildren; readonly label: string }) => (
  <div class="figure">
    <dd>{value}</dd>
    <dt>{label}</dt>
  </div>
);
/** A number of records; dots while it is not known. */
export const Records = ({ n }: { readonly n: number | undefined }) => (
  <span class="number">{n === undefined ? '…' : count(n)}</span>
);
/** A size in bytes; dots while it is not known. */
export const Bytes = ({ n }: { readonly n: number | undefined }) => (
  <span class="number" title={n === undefined ? undefined : `${count(n)} bytes`}>
    {n === undefined ? '…' : bytes(n)}
  </span>
);

/** The time, told again every half minute. */
export const clock = signal(Date.now());
setInterval(() => {
  clock.value = Date.now();
}, 30_000);

/** How long ago a time was, with the time itself for who points at it. */
export const Ago = ({ time }: { readonly time: string }) => (
  <time dateTime={time} title={dateTime(time)}>
    {ago(time, clock.value)}
  </time>
);

/** A button of an icon alone. `label` says what it does to what; `title`, for who points at it, just what it does. */
export const IconButton = ({
  icon,
  label,
  title,
  onClick,
}: {
  readonly icon: IconName;
  readonly label: string;
  readonly title?: string;
  readonly onClick: () => void;
}) => (
  <button type="button" class="quiet" onClick={onClick} aria-label={label} title={title}>
    <Icon name={icon} />
  </button>
);

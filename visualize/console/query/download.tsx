/**
 * Downloads of an answer: the query runs again and its answer goes into a file, in any of the formats of the service.
 */
import { signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { newId } from '../load/upload.ts';
import { menuKeys } from './menu-keys.ts';
import type { Lake } from '../../../src/client/client.ts';
import {
  endingOf,
  formatFacts,
  hasOneType,
  responseFormats,
  type ResponseFormatName,
} from '../../../src/format-names.ts';
import { bytes, faultText, visibleName } from '../text.ts';

type State =
  | { readonly kind: 'idle' }
  | { readonly kind: 'busy'; readonly name: string; readonly bytes: number; readonly stop: AbortController }
  | { readonly kind: 'done'; readonly text: string }
  | { readonly kind: 'failed'; readonly text: string };
/** The download that is under way, or how the last one ended. */
const download = signal<State>({ kind: 'idle' });
const revokeMs = 60_000;

const start = async (client: Lake, text: string, format: ResponseFormatName): Promise<void> => {
  const name = formatFacts[format].title;
  const stop = new AbortController();
  const requestId = newId();
  download.value = { kind: 'busy', name, bytes: 0, stop };
  try {
    let seen = 0;
    let shownAt = 0;
    const count = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        seen += chunk.length;
        if (performance.now() - shownAt > 200) {
          shownAt = performance.now();
          download.value = { kind: 'busy', name, bytes: seen, stop };
        }
        controller.enqueue(chunk);
      },
    });
    // A large one is kept by the browser on its disk.
    const blob = await new Response(
      (await client.query(text, { signal: stop.signal, requestId }).bytes(format)).pipeThrough(count),
    ).blob();
    const link = document.createElement('a');
    const url = URL.createObjectURL(blob);
    link.href = url;
    link.download = `query${endingOf(format)}`;
    link.click();
    setTimeout(() => {
      URL.revokeObjectURL(url);
    }, revokeMs);
    download.value = { kind: 'done', text: `${name}: ${bytes(blob.size)}` };
  } catch (error) {
    download.value = stop.signal.aborted
      ? { kind: 'idle' }
      : { kind: 'failed', text: (await failure(client, requestId)) ?? faultText(error) };
  }
};
/** Why a query failed whose answer had begun, and was then cut off: the service knows. */
const failure = async (client: Lake, requestId: string): Promise<string | undefined> =>
  client.queryProgress(requestId).then(
    ({ error }) => error,
    () => undefined,
  );

/** `fused`: the rows have several types, which some formats cannot hold. */
export const DownloadMenu = ({
  client,
  text,
  fused,
  onClose,
}: {
  readonly client: Lake;
  readonly text: string;
  readonly fused: boolean;
  readonly onClose: () => void;
}) => {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const before = document.activeElement;
    place.current!.querySelector<HTMLElement>('[role=menuitem]')!.focus();
    const away = (event: PointerEvent): void => {
      if (!place.current?.parentElement?.contains(event.target as Node)) onClose();
    };
    addEventListener('pointerdown', away);
    return () => {
      removeEventListener('pointerdown', away);
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <div class="menu drop-down" ref={place} role="menu" aria-label="Download as" onKeyDown={menuKeys(onClose)}>
      {responseFormats.map((each) => (
        <button
          key={each}
          type="button"
          role="menuitem"
          tabIndex={-1}
          onClick={() => {
            onClose();
            void start(client, fused && hasOneType(each) ? `${text}\n| fuse` : text, each);
          }}
        >
          <span>{formatFacts[each].title}</span>
          <span class="soft">
            {endingOf(each)}
            {fused && hasOneType(each) ? ' · fused' : ''}
          </span>
        </button>
      ))}
    </div>
  );
};

/** How far the download is, or what came of it; nothing while there is none. */
export const DownloadState = () => {
  const { value } = download;
  if (value.kind === 'idle') return null;
  const dismiss = (): void => {
    download.value = { kind: 'idle' };
  };
  if (value.kind === 'busy')
    return (
      <p class="strip" role="status">
        <span>
          {value.name}: {bytes(value.bytes)} …
        </span>{' '}
        <button
          type="button"
          onClick={() => {
            value.stop.abort();
          }}
        >
          Stop the download
        </button>
      </p>
    );
  return (
    <p class={`strip${value.kind === 'failed' ? ' bad' : ''}`} role={value.kind === 'failed' ? 'alert' : 'status'}>
      <span>
        {value.kind === 'failed' ? `The download failed: ${visibleName(value.text, 240)}` : `Downloaded ${value.text}`}
      </span>{' '}
      <button type="button" class="quiet" aria-label="Dismiss" onClick={dismiss}>
        ×
      </button>
    </p>
  );
};

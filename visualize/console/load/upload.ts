/** One file on its way into a branch: what the browser has sent, what the service makes of it, and the end of both. */
import type { LoadProgress, PoolInfo } from '../../../src/client/client.ts';
import { asciiJson } from '../curl.ts';
import { base, client } from '../session.ts';

/** A file and where it goes. */
interface UploadRequest {
  readonly pool: PoolInfo;
  readonly branch: string;
  readonly body: Blob;
  /** Media type; empty: the service finds out. */
  readonly mediaType: string;
  /** The body is compressed. */
  readonly gzip: boolean;
  /** Parameters of the load. */
  readonly query: Readonly<Record<string, string>>;
  readonly note: { readonly author?: string; readonly body?: string };
  /** The same for what is tried again: it is loaded once. */
  readonly onceKey: string;
}
/** `sent` and `total` are bytes; `progress` is what the service tells, once it knows of the load. */
export interface UploadState {
  readonly sent: number;
  readonly total: number;
  readonly progress?: LoadProgress;
}
/** The service refused the file: nothing of it was loaded. `hint`: what to do instead. */
export class UploadFailure extends Error {
  readonly hint: string | undefined;
  constructor(text: string, hint?: string) {
    super(text);
    this.hint = hint;
  }
}

const pollMs = 300;
/** The connection was lost before an answer came: whether the file was loaded is not known. */
export class UploadLost extends Error {}
/** Crypto's own ids are for safe origins alone. */
export const newId = (): string =>
  `console-${Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16).padStart(2, '0')).join('')}`;

/** Segments of the address that takes the file. */
const uploadPath = ({ pool, branch }: Pick<UploadRequest, 'pool' | 'branch'>): readonly string[] => [
  'pool',
  pool.id,
  'branch',
  branch,
];

/** Records that could not be read: how many, and what is wrong with the first. */
export interface Faulty {
  readonly count: number;
  readonly first: string;
}
/** The commit's id, and what was left out of it or kept as errors. */
export interface Uploaded {
  readonly commit: string;
  /** A try before had made it: the service read nothing of this one. */
  readonly isRepeat: boolean;
  readonly faulty: Faulty | undefined;
}
/** @throws UploadFailure, UploadLost; an AbortError when it was cancelled */
export const upload = (
  request: UploadRequest,
  report: (state: UploadState) => void,
): { readonly done: Promise<Uploaded>; readonly cancel: () => void } => {
  const { body, mediaType, gzip, query, note } = request;
  const id = newId();
  const xhr = new XMLHttpRequest();
  let state: UploadState = { sent: 0, total: body.size };
  let ended = false;
  let cancelled = false;
  const tell = (change: Partial<UploadState>): void => {
    if (ended) return;
    state = { ...state, ...change };
    report(state);
  };
  const poll = async (): Promise<void> => {
    while (!ended) {
      await new Promise((resolve) => {
        setTimeout(resolve, pollMs);
      });
      if (ended) return;
      // It is not known before its first bytes have come, nor after a while.
      const progress = await client.loadProgress(id).catch(() => undefined);
      if (progress) tell({ progress });
    }
  };
  const done = new Promise<Uploaded>((resolve, reject) => {
    const search = new URLSearchParams(query).toString();
    xhr.open('POST', `${base}/${uploadPath(request).map(encodeURIComponent).join('/')}${search && `?${search}`}`);
    xhr.setRequestHeader('Accept', 'application/json');
    // An empty type is none to the service; without one a browser sends the file's own guess.
    xhr.setRequestHeader('Content-Type', mediaType === '' ? '*/*' : mediaType);
    xhr.setRequestHeader('X-Request-ID', id);
    xhr.setRequestHeader('Idempotency-Key', request.onceKey);
    if (gzip) xhr.setRequestHeader('Content-Encoding', 'gzip');
    if (Object.keys(note).length > 0) xhr.setRequestHeader('SuperDB-Commit', asciiJson(note));
    xhr.upload.onprogress = ({ loaded }) => {
      tell({ sent: loaded });
    };
    xhr.onload = () => {
      const answer = parsed(xhr.responseText);
      if (xhr.status >= 200 && xhr.status < 300 && typeof answer?.['commit'] === 'string') {
        const commit = answer['commit'];
        void client
          .loadProgress(id)
          .then(
            (progress) => {
              tell({ sent: body.size, progress });
              return body.size > 0 && progress.bytesReceived === 0;
            },
            () => false,
          )
          .then((isRepeat) => {
            resolve({ commit, isRepeat, faulty: faultyOf(answer) });
          });
      } else
        reject(
          new UploadFailure(
            typeof answer?.['error'] === 'string' ? answer['error'] : xhr.responseText.trim() || `HTTP ${xhr.status}`,
            typeof answer?.['hint'] === 'string' ? answer['hint'] : undefined,
          ),
        );
    };
    xhr.onerror = () => {
      // A refusal while the body is still being sent can end the connection before its text is read: the service knows
      // it.
      void client
        .loadProgress(id)
        .then(
          ({ error }) => error,
          () => null,
        )
        .then((error) => {
          reject(
            error
              ? new UploadFailure(error)
              : new UploadLost(
                  'The connection was lost before an answer came. Loaded again, the file is there once, whatever became of this try.',
                ),
          );
        });
    };
    xhr.onabort = () => {
      reject(new DOMException('cancelled', 'AbortError'));
    };
    xhr.send(body);
  }).finally(() => {
    ended = true;
  });
  void poll();
  const cancel = (): void => {
    if (ended || cancelled) return;
    cancelled = true;
    void client
      .cancelLoad(id)
      .catch(() => undefined)
      .finally(() => {
        xhr.abort();
      });
  };
  return { done, cancel };
};

const faultyOf = ({ faulty, faults }: Readonly<Record<string, unknown>>): Faulty | undefined => {
  const [first] = Array.isArray(faults) ? (faults as readonly { readonly error: string }[]) : [];
  return typeof faulty === 'number' && first ? { count: faulty, first: first.error } : undefined;
};

const parsed = (text: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
};

/**
 * The events of another service, as a replica listens to them: only their numbers matter, since what they tell of comes
 * from the bucket.
 */
import { setTimeout as later } from 'node:timers/promises';

interface Watched {
  readonly url: string;
  /** Empty: the service asks for none. */
  readonly token: string;
  readonly heard: (event: number) => void;
  /** Told of the first of several faults. */
  readonly report: (fault: unknown) => void;
}

const retryMsMin = 500;
const retryMsMax = 30_000;
/** The stream has a comment at least this often, or it is dead. */
const idleMsMax = 60_000;
/** Of a line that is looked at. */
const lineCharactersMax = 1 << 20;

/** Listens until it is told to stop, and comes again when the other one was away. */
export const watchEvents = (watched: Watched): { readonly close: () => Promise<void> } => {
  const stopping = new AbortController();
  const running = listen(watched, stopping.signal);
  return {
    close: async () => {
      stopping.abort();
      await running;
    },
  };
};

const listen = async (watched: Watched, stopped: AbortSignal): Promise<void> => {
  let isReported = false;
  for (let pauseMs = retryMsMin; !stopped.aborted; pauseMs = Math.min(retryMsMax, pauseMs * 2)) {
    try {
      await stream(watched, stopped, () => {
        pauseMs = retryMsMin;
        isReported = false;
      });
    } catch (fault) {
      if (stopped.aborted) return;
      if (!isReported) watched.report(fault);
      isReported = true;
    }
    await later(pauseMs, undefined, { signal: stopped, ref: false }).catch(() => undefined);
  }
};

/** One connection, to its end. */
const stream = async ({ url, token, heard }: Watched, stopped: AbortSignal, came: () => void): Promise<void> => {
  const idle = new AbortController();
  const timer = setTimeout(() => idle.abort(new Error('nothing came for too long')), idleMsMax).unref();
  try {
    const answer = await fetch(`${url.replace(/\/+$/, '')}/events`, {
      headers: { accept: 'text/event-stream', ...(token !== '' && { authorization: `Bearer ${token}` }) },
      signal: AbortSignal.any([stopped, idle.signal]),
    });
    if (!answer.ok || !answer.body) throw new Error(`${url}/events: ${answer.status} ${await answer.text()}`);
    const decoder = new TextDecoder();
    let held = '';
    for await (const chunk of answer.body) {
      timer.refresh();
      came();
      const lines = (held + decoder.decode(chunk, { stream: true })).split('\n');
      held = lines.pop() ?? '';
      if (held.length > lineCharactersMax) throw new Error('a line is too long');
      for (const line of lines) {
        const id = /^id: ?(\d{1,15})\r?$/.exec(line)?.[1];
        if (id !== undefined) heard(Number(id));
      }
    }
  } finally {
    clearTimeout(timer);
  }
};

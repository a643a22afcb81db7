/** The connection to the service's feed: comes back by itself, and hands over one message after the other. */
import type { LiveMessage, LiveRequest } from '../../src/recording/live.ts';

/**
 * How the connection is: `lost` after it ended or could not be made, `refused` once it could not be made three times in
 * a row.
 */
export type FeedState = 'connecting' | 'live' | 'lost' | 'refused';
const retryMsMax = 5000;

/** Beside the page, whatever the prefix that it is served under. */
const feedUrl = (): string => {
  const url = new URL('inspect/feed', document.baseURI);
  url.protocol = url.protocol.replace('http', 'ws');
  return url.href;
};

/**
 * Connects for as long as the page is there; gives the call that sends a request, which is let go while there is no
 * connection.
 */
export const connectFeed = (to: {
  readonly message: (message: LiveMessage) => void;
  readonly state: (state: FeedState) => void;
}): ((request: LiveRequest) => void) => {
  let socket: WebSocket | undefined;
  let failures = 0;
  const connect = (): void => {
    const one = (socket = new WebSocket(feedUrl()));
    let opened = false;
    one.onopen = () => {
      opened = true;
      failures = 0;
      to.state('live');
    };
    one.onmessage = ({ data }) => {
      to.message(JSON.parse(String(data)) as LiveMessage);
    };
    one.onclose = () => {
      failures++;
      // A browser does not tell why it got no connection: switched off, too many, or not there.
      to.state(opened || failures < 3 ? 'lost' : 'refused');
      setTimeout(connect, Math.min(retryMsMax, 250 * 2 ** failures));
    };
  };
  connect();
  return (request) => {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(request));
  };
};

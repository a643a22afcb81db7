/**
 * Loaded into each thread of a service that is profiled (profile.ts): its worker threads sample themselves from `start`
 * on and write what they saw at `stop`.
 */
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { BroadcastChannel, isMainThread, threadId } from 'node:worker_threads';

/** Microseconds. */
const sampleEvery = 250;
const channel = new BroadcastChannel('lake-profile');
channel.unref();

const profileWhenAsked = () => {
  const session = new Session();
  session.connect();
  channel.onmessage = ({ data }) => {
    if (data.command === 'start') {
      session.post('Profiler.enable');
      session.post('Profiler.setSamplingInterval', { interval: sampleEvery });
      session.post('Profiler.start', () => {
        channel.postMessage({ started: threadId });
      });
    } else if (data.command === 'stop') {
      session.post('Profiler.stop', (error, answer) => {
        const file = `${data.folder}/${threadId}.cpuprofile`;
        if (!error) writeFileSync(file, JSON.stringify(answer.profile));
        channel.postMessage({ stopped: threadId, ...(error ? { error: error.message } : { file }) });
      });
    }
  };
};

/** The main thread passes commands on, and answers. */
const passOn = () => {
  if (!process.send) return;
  process.on('message', (message) => {
    channel.postMessage(message);
  });
  process.channel?.unref();
  channel.onmessage = ({ data }) => {
    process.send(data);
  };
};

if (isMainThread) passOn();
else profileWhenAsked();

/**
 * `lake serve`: checks what it was told, starts the parts of the service, and ends them in reverse when a signal comes.
 */
import { existsSync, readdirSync } from 'node:fs';
import { isatty } from 'node:tty';
import type { Logger } from 'pino';
import { type ListenAddress, listenText } from '../config/listen.ts';
import { ConfigError } from '../config/options.ts';
import type { ServeConfig } from '../config/serve.ts';
import { messageOf } from '../errors.ts';
import { loopback } from '../http/connections/origin.ts';
import { makeFolder } from '../lake/lock.ts';
import { giveWay } from '../workers/priority.ts';
import type { CommandIo } from './io.ts';
import { lakeFolder } from './lake-folder.ts';
import { withinOpenFiles } from './open-files.ts';
import { serveConfig } from './serve-config.ts';
import { openLog } from './serve/log.ts';
import { openGround, startParts } from './serve/start.ts';
import { Parts } from './serve/parts.ts';

/** The longest that the end may take beyond -shutdown.grace. */
const closeMsMore = 4_500;

/** Runs until SIGTERM or SIGINT; resolves to the exit status. */
export const serveCommand = async (argv: readonly string[], io: CommandIo): Promise<number> => {
  const config = await serveConfig(argv, io.cwd);
  if ('help' in config) {
    await io.write(Buffer.from(config.help));
    return 0;
  }
  const guarded = config.auth.keys || config.auth.domain !== '';
  checkReach(config, guarded);
  checkSyslog(config, guarded);
  const { connectionsMax, answersMax, isTight } = withinOpenFiles(config);
  yieldCollectors();
  const log = openLog(config.logLevel);
  if (isTight)
    log.warn(
      { connectionsMax },
      'fewer connections than -connections.max: so few files may be open at once (ulimit -n)',
    );
  const directory = lakeFolder(io.cwd, config.lakeDirectory);
  makeFolder(directory);
  const parts = new Parts();
  try {
    const ground = await openGround(config, { directory, cwd: io.cwd, log, parts });
    // A lake that is still being opened is left as by a kill; from here on the service ends in order.
    const asked = stopSignal(log);
    heedHangups(log);
    const addresses = await startParts({ ...config, connectionsMax }, { ...ground, answersMax, log, parts });
    // Whom nobody reads serves all the same.
    await io.write(Buffer.from(welcome(addresses, directory))).catch((fault: unknown) => {
      log.warn({ fault: messageOf(fault) }, 'standard output cannot be written');
    });
    const signal = await asked;
    log.info({ signal }, 'closing');
    await closeInTime(parts, config.shutdownMs + closeMsMore, log);
    return 0;
  } catch (fault) {
    await parts.close();
    throw fault;
  }
};

const stopSignals = ['SIGTERM', 'SIGINT'] as const;
/** What sends a signal to the process and to its group (`timeout`, Ctrl-C below npm) sends it twice within this time. */
const sameSignalMs = 500;
/** The first signal to stop. Another one ends the process at once: nothing is lost that was acknowledged. */
const stopSignal = (log: Logger): Promise<NodeJS.Signals> =>
  new Promise((resolve) => {
    let askedAt: number | undefined;
    for (const name of stopSignals)
      process.on(name, () => {
        if (askedAt === undefined) {
          askedAt = performance.now();
          resolve(name);
        } else if (performance.now() - askedAt >= sameSignalMs) cutOff(log, `a second signal: ${name}`);
      });
  });
const cutOff = (log: Logger, reason: string): void => {
  log.error({ reason }, 'cut off');
  process.exit(1);
};
/**
 * The end of the terminal that the service writes to ends it in order. Where there is none (`nohup`, a unit of systemd)
 * the signal is somebody's who wants files read again, and ends nothing: certificates and keys are read as they change. (Node
 * forgets that nohup had the signal ignored.)
 */
const heedHangups = (log: Logger): void => {
  if ([0, 1, 2].some((descriptor) => isatty(descriptor))) process.once('SIGHUP', () => process.emit('SIGTERM'));
  else
    process.on('SIGHUP', (signal) =>
      log.info({ signal }, 'nothing to do: certificates and keys are read as they change'),
    );
};

/** Ends all parts. What does not end by itself is cut off: nothing is lost that was acknowledged. */
const closeInTime = async (parts: Parts, closeMs: number, log: Logger): Promise<void> => {
  const deadline = setTimeout(() => {
    cutOff(log, `not closed after ${closeMs} ms`);
  }, closeMs);
  await parts.close();
  clearTimeout(deadline);
};

/** Others reach an address only where somebody asks for keys, or nobody wants to. @throws ConfigError */
const checkReach = ({ listen, insecure }: ServeConfig, guarded: boolean): void => {
  const reachable = listen.find(isReachable);
  if (!guarded && !insecure && reachable)
    throw new ConfigError(
      `-l ${listenText(reachable)}: others can reach this address, and there is no access control: -auth.keys or -auth.domain turn it on, -insecure goes without`,
    );
};

/** Syslog knows no keys: who lets others write by it says into which pool. @throws ConfigError */
const checkSyslog = ({ syslog }: ServeConfig, guarded: boolean): void => {
  if (!syslog || syslog.isPoolNamed) return;
  const address = `-syslog ${listenText({ kind: 'tcp', ...syslog })}`;
  const why = guarded ? 'there is access control' : loopback(syslog.host) ? undefined : 'others can reach this address';
  if (why !== undefined)
    throw new ConfigError(
      `${address}: ${why}, and syslog has no keys: -syslog.pool names the pool that anyone who reaches the port may write`,
    );
};

/** Whether others than people of this machine may reach an address; what systemd opened may be anything. */
const isReachable = (address: ListenAddress): boolean =>
  address.kind === 'tcp' ? !loopback(address.host) : address.kind === 'descriptor';

/** Threads that the engine starts before any code of ours runs: they collect and compile for all others. */
const engineThreads = 5;
/**
 * Lets the main thread go before them, as it goes before the workers, or it would wait for its turn while these collect
 * for scans.
 */
const yieldCollectors = (): void => {
  if (process.platform !== 'linux' || !existsSync('/proc/self/task')) return;
  const others = readdirSync('/proc/self/task')
    .map(Number)
    .sort((a, b) => a - b)
    .filter((id) => id !== process.pid);
  for (const id of others.slice(0, engineThreads)) giveWay(id);
};

const welcome = (addresses: readonly string[], directory: string): string => {
  const [first = ''] = addresses;
  const target = first.startsWith('unix:') ? `--unix-socket ${first.slice('unix:'.length)} http://localhost` : first;
  return `The lake in ${directory} is served on ${addresses.join(' and ')}

Try: curl ${target}/pool -H 'Accept: application/json' -d '{name:"events"}'
`;
};

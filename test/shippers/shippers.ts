/**
 * Programs that people run, with the configurations that the manual shows: each text is taken from there, and only the
 * address in it changes. What a program reads is added by the test, for that is the user's own.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { lacksPython } from '../support/python.ts';

/** Where the service is to be reached, and a folder for what the program keeps. */
export interface Place {
  readonly http: number;
  readonly syslog: number;
  readonly folder: string;
}
/** A program that runs. */
export interface Running {
  /** Gives it records, by their numbers; resolves when it has taken them, or will by itself. */
  readonly feed: (start: number, end: number) => Promise<void>;
  readonly stop: () => Promise<void>;
  /** What it said. */
  readonly said: () => string;
}
/**
 * How sure a program's records are when the service is killed: each is there once; each is there, perhaps twice; those
 * that were under way are lost, for the protocol has no answers.
 */
export type Sureness = 'once' | 'perhaps twice' | 'some lost';

export interface Shipper {
  /** As the table of the manual calls it. */
  readonly name: string;
  readonly protocol: string;
  readonly sureness: Sureness;
  readonly lacks: () => boolean;
  /** The pool that it ships to (with a filter, if others do too), and the expression that is a record's text there. */
  readonly pool: string;
  readonly text: string;
  readonly start: (place: Place) => Promise<Running>;
}

/** The text of a record: no other has it. */
const line = (n: number): string => `order ${String(n).padStart(7, '0')} was shipped`;
export const lines = (start: number, end: number): string =>
  Array.from({ length: end - start }, (_, k) => `${line(start + k)}\n`).join('');

const absent = (program: string, option: string): boolean =>
  process.env['NO_SKIPS'] === undefined && isAbsent(program, option);
/** For programs that have to be built: also with NO_SKIPS, since not every machine can. */
const isAbsent = (program: string, option: string): boolean => spawnSync(program, [option]).status !== 0;
const collector = process.env['OTEL_COLLECTOR'] ?? 'otelcol';
const telegraf = process.env['TELEGRAF'] ?? 'telegraf';

/** The block of code behind a text of a page of the manual, with the service's ports in it. */
const fromManual = (page: string, behind: string, { http, syslog }: Pick<Place, 'http' | 'syslog'>): string => {
  const text = readFileSync(fileURLToPath(new URL(`../../visualize/docs/manual/${page}`, import.meta.url)), 'utf8');
  const at = text.indexOf(behind);
  const block = /```\w*\n([\s\S]*?)```/.exec(text.slice(at))?.[1];
  if (at < 0 || block === undefined) throw new Error(`${page} has no block behind ${behind}`);
  return block.replaceAll('9867', String(http)).replaceAll('5514', String(syslog));
};

/** A program of its own process, whose end is awaited when it is told to stop. */
const begin = (
  command: string,
  argv: readonly string[],
  options: { readonly env?: NodeJS.ProcessEnv; readonly input?: boolean } = {},
): { readonly child: ChildProcess; readonly stop: () => Promise<void>; readonly said: () => string } => {
  const child = spawn(command, argv, {
    env: { ...process.env, ...options.env },
    stdio: [options.input ? 'pipe' : 'ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout!, child.stderr!])
    stream.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-20_000);
    });
  // One that has ended takes no more input: what is missing in the end tells.
  child.stdin?.on('error', (error) => {
    said += `${error.message}\n`;
  });
  const ended = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      said += error.message;
      resolve();
    });
    child.once('close', () => resolve());
  });
  return {
    child,
    said: () => said,
    stop: async () => {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 20_000);
      await ended;
      clearTimeout(timer);
    },
  };
};

/** A program that follows a file. */
const following = (file: string, { stop, said }: Pick<Running, 'stop' | 'said'>): Running => ({
  stop,
  said,
  feed: async (start, end) => appendFileSync(file, lines(start, end)),
});
/** A program that is run for each of so many records; `run` resolves when it has ended. */
const eachTime = (size: number, run: (start: number, end: number) => Promise<void>, said: () => string): Running => ({
  feed: async (start, end) => {
    for (let at = start; at < end; at += size) await run(at, Math.min(end, at + size));
  },
  stop: async () => undefined,
  said,
});

const startCollector = async (place: Place): Promise<Running> => {
  const { folder } = place;
  const log = join(folder, 'shop.log');
  writeFileSync(log, '');
  mkdirSync(join(folder, 'state'));
  const own = join(folder, 'manual.yaml');
  writeFileSync(own, fromManual('shippers.md', 'A collector:', place));
  const more = join(folder, 'more.yaml');
  writeFileSync(
    more,
    `receivers:
  otlp: { protocols: { http: { endpoint: '127.0.0.1:0' } } }
  filelog: { include: ['${log}'], start_at: beginning, poll_interval: 50ms, storage: file_storage }
extensions: { file_storage: { directory: '${join(folder, 'state')}' } }
service: { extensions: [file_storage], telemetry: { metrics: { level: none }, logs: { level: warn } } }
`,
  );
  return following(log, begin(collector, ['--config', own, '--config', more], { env: { LAKE_TOKEN: 'none' } }));
};

const startTelegraf = async (place: Place): Promise<Running> => {
  const log = join(place.folder, 'shop.log');
  writeFileSync(log, '');
  const config = join(place.folder, 'telegraf.conf');
  writeFileSync(
    config,
    `[agent]
  flush_interval = "200ms"
  omit_hostname = true
[[inputs.tail]]
  files = ["${log}"]
  from_beginning = true
  data_format = "value"
  data_type = "string"
${fromManual('elasticsearch.md', 'Telegraf:', place)}`,
  );
  return following(log, begin(telegraf, ['--config', config]));
};

const startRsyslog =
  (page: string, behind: string) =>
  async (place: Place): Promise<Running> => {
    const { folder } = place;
    const log = join(folder, 'shop.log');
    writeFileSync(log, '');
    const config = join(folder, 'rsyslog.conf');
    writeFileSync(
      config,
      `global(workDirectory="${folder}")
module(load="imfile")
input(type="imfile" File="${log}" Tag="filed")
${fromManual(page, behind, place)}`,
    );
    return following(log, begin('rsyslogd', ['-n', '-f', config, '-i', join(folder, 'pid')]));
  };

const startShell =
  (size: number, behind: string) =>
  async (place: Place): Promise<Running> => {
    let said = '';
    const script = fromManual('shippers.md', behind, place);
    return eachTime(
      size,
      async (start, end) => {
        const file = join(place.folder, 'shop.log');
        writeFileSync(file, lines(start, end));
        const run = begin('sh', ['-c', script], { env: { FILE: file, LAKE_TOKEN: 'none' } });
        await new Promise((resolve) => run.child.once('close', resolve));
        said = (said + run.said()).slice(-20_000);
      },
      () => said,
    );
  };

const python = `
import logging, sys
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.sdk._logs import LoggerProvider, LoggingHandler
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
logs = LoggerProvider()
logs.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
log = logging.getLogger("orders")
log.setLevel(logging.INFO)
log.addHandler(LoggingHandler(logger_provider=logs))
for k, line in enumerate(sys.stdin):
    log.info(line.strip())
    if k % 500 == 499:
        logs.force_flush(120000)
logs.shutdown()
`;
const startPython = async (place: Place): Promise<Running> => {
  const settings = fromManual('shippers.md', 'An application with an SDK', place);
  let said = '';
  return {
    // Each time a process of its own, which ends when it has shipped all.
    feed: async (start, end) => {
      const run = begin('sh', ['-c', `${settings}\nexec python3 -W ignore -c '${python}'`], {
        env: { LAKE_TOKEN: 'none', OTEL_BLRP_SCHEDULE_DELAY: '100', OTEL_EXPORTER_OTLP_TIMEOUT: '120' },
        input: true,
      });
      run.child.stdin!.end(lines(start, end));
      await new Promise((resolve) => run.child.once('close', resolve));
      said = (said + run.said()).slice(-20_000);
    },
    stop: async () => undefined,
    said: () => said,
  };
};

const nodeModules = fileURLToPath(new URL('../../node_modules', import.meta.url));
const javaScript = `
const { OTLPLogExporter } = require('@opentelemetry/exporter-logs-otlp-proto');
const { BatchLogRecordProcessor, LoggerProvider } = require('@opentelemetry/sdk-logs');
const logs = new LoggerProvider({
  processors: [new BatchLogRecordProcessor(new OTLPLogExporter(), { exportTimeoutMillis: 120_000 })],
});
const log = logs.getLogger('orders');
(async () => {
  // Not readline's iterator: Node 24 throws in it when the input ends while the body of the loop waits.
  const lines = require('node:fs').readFileSync(0, 'utf8').trimEnd().split('\\n');
  for (const [k, line] of lines.entries()) {
    log.emit({ severityText: 'INFO', body: line });
    if ((k + 1) % 500 === 0) await logs.forceFlush();
  }
  await logs.shutdown();
})();
`;
/** The settings of the manual, and more time for attempts, as the manual has it for slow starts. */
const startNode = async (place: Place): Promise<Running> => {
  const settings = fromManual('shippers.md', 'An application with an SDK', place);
  const run = startScript('sh', () => `${settings}\nexec "$NODE" -e "$SCRIPT"`, {
    NODE: process.execPath,
    SCRIPT: javaScript,
    NODE_PATH: nodeModules,
    LAKE_TOKEN: 'none',
    OTEL_EXPORTER_OTLP_LOGS_HEADERS: 'X-Lake-Pool=node_logs',
    OTEL_EXPORTER_OTLP_TIMEOUT: '120000',
  });
  return run(place);
};

/** A script that reads lines and sends them, in a process of its own each time, which ends when it has shipped all. */
const startScript =
  (command: string, scriptOf: (place: Place) => string, env: NodeJS.ProcessEnv = {}) =>
  async (place: Place): Promise<Running> => {
    const script = scriptOf(place);
    let said = '';
    return {
      feed: async (start, end) => {
        const run = begin(command, [command === process.execPath ? '-e' : '-c', script], { env, input: true });
        run.child.stdin!.end(lines(start, end));
        await new Promise((resolve) => run.child.once('close', resolve));
        said = (said + run.said()).slice(-20_000);
      },
      stop: async () => undefined,
      said: () => said,
    };
  };
const elasticPython = (place: Place): string => `${fromManual('elasticsearch.md', 'For Python:', place)}
import sys
lines = [line.strip() for line in sys.stdin]
for k in range(0, len(lines), 1000):
    send([{"_id": line, "line": line} for line in lines[k:k + 1000]])
`;
const elasticPackages = join(process.env['ELASTIC_CLIENT'] ?? '', 'node_modules');
const elasticJavaScript = (place: Place): string => `${fromManual('elasticsearch.md', 'For JavaScript:', place)}
(async () => {
  const lines = require('node:fs').readFileSync(0, 'utf8').trimEnd().split('\\n');
  for (let k = 0; k < lines.length; k += 1000)
    await send(lines.slice(k, k + 1000).map((line) => ({ _id: line, line })));
})();
`;
const startLogger = async (place: Place): Promise<Running> => {
  const file = join(place.folder, 'shop.log');
  const command = fromManual('shippers.md', 'By hand:', place).replace(/'[^']*'\s*$/, `-f '${file}'`);
  let said = '';
  return eachTime(
    2_000,
    async (start, end) => {
      writeFileSync(file, lines(start, end));
      const run = begin('sh', ['-c', command]);
      await new Promise((resolve) => run.child.once('close', resolve));
      said = (said + run.said()).slice(-20_000);
    },
    () => said,
  );
};

/** In the order of the manual's table. */
export const shippers: readonly Shipper[] = [
  {
    name: 'OpenTelemetry Collector',
    protocol: 'OTLP/HTTP',
    sureness: 'once',
    lacks: () => isAbsent(collector, 'components'),
    pool: 'shop',
    text: 'body',
    start: startCollector,
  },
  {
    name: "OpenTelemetry's SDK for Python",
    protocol: 'OTLP/HTTP',
    sureness: 'once',
    lacks: () => lacksPython('opentelemetry.sdk', 'opentelemetry.exporter.otlp.proto.http'),
    pool: 'otel_logs',
    text: 'body',
    start: startPython,
  },
  {
    name: "OpenTelemetry's SDK for Node",
    protocol: 'OTLP/HTTP',
    sureness: 'once',
    lacks: () => false,
    pool: 'node_logs',
    text: 'body',
    start: startNode,
  },
  {
    name: 'rsyslog, `omelasticsearch`',
    protocol: 'Elasticsearch bulk',
    sureness: 'once',
    lacks: () => absent('rsyslogd', '-v'),
    pool: 'syslog',
    text: 'message',
    start: startRsyslog('elasticsearch.md', 'rsyslog:'),
  },
  {
    name: "Elasticsearch's client for Python",
    protocol: 'Elasticsearch bulk',
    sureness: 'once',
    lacks: () => lacksPython('elasticsearch'),
    pool: 'fruits',
    text: 'line',
    start: startScript('python3', elasticPython),
  },
  {
    name: "Elasticsearch's client for JavaScript",
    protocol: 'Elasticsearch bulk',
    sureness: 'once',
    lacks: () => process.env['NO_SKIPS'] === undefined && !existsSync(join(elasticPackages, '@elastic/elasticsearch')),
    pool: 'birds',
    text: 'line',
    start: startScript(process.execPath, elasticJavaScript, { NODE_PATH: elasticPackages }),
  },
  {
    name: 'rsyslog, `omfwd`',
    protocol: 'syslog by TCP',
    sureness: 'some lost',
    lacks: () => absent('rsyslogd', '-v'),
    pool: "listened | app=='filed'",
    text: 'message',
    start: startRsyslog('shippers.md', 'on that port. rsyslog:'),
  },
  {
    name: '`logger`',
    protocol: 'syslog by TCP',
    sureness: 'some lost',
    lacks: () => absent('logger', '--version'),
    pool: "listened | app=='shop'",
    text: 'message',
    start: startLogger,
  },
  {
    name: 'Telegraf, `outputs.loki`',
    protocol: 'Loki push',
    sureness: 'perhaps twice',
    lacks: () => isAbsent(telegraf, '--version'),
    pool: 'telegraf',
    text: 'line',
    start: startTelegraf,
  },
  {
    name: '`curl`',
    protocol: 'lines',
    sureness: 'once',
    lacks: () => absent('curl', '--version'),
    pool: 'orders',
    text: 'this',
    start: startShell(500, 'Or any file'),
  },
];

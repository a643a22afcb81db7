/** The built program at a pseudo terminal: what a person types, what the screen shows. Python makes the terminal. */
import { spawn } from 'node:child_process';

export interface TerminalStep {
  /** A regular expression that the output since the last step must show before anything is typed. */
  readonly wait: string;
  readonly type: string;
}
interface TerminalOptions {
  readonly argv: readonly string[];
  readonly steps: readonly TerminalStep[];
  readonly columns?: number;
  readonly environment?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}
/** `shown` has the output of each step up to its match, and what came behind the last one. Escapes are as they came. */
export interface TerminalEnd {
  readonly status: number | null;
  readonly shown: readonly string[];
  readonly fault: string;
}

const driver = `
import fcntl, json, os, pty, re, select, struct, sys, termios, time
spec = json.load(sys.stdin)
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 40, spec['columns'], 0, 0))
    os.chdir(spec['cwd'])
    os.execvpe(spec['argv'][0], spec['argv'], spec['environment'])
out, shown, fault, ended = '', [], '', False
import codecs
decoder = codecs.getincrementaldecoder('utf-8')('replace')
def more(seconds):
    global out, ended
    if ended: return
    ready, _, _ = select.select([fd], [], [], seconds)
    if not ready: return
    try: data = os.read(fd, 65536)
    except OSError: data = b''
    if not data: ended = True
    out += decoder.decode(data)
for step in spec['steps']:
    end = time.time() + 20
    while True:
        found = re.search(step['wait'], out)
        if found or ended or time.time() > end: break
        more(0.1)
    if not found:
        fault = 'not shown: ' + step['wait'] + ' in ' + repr(out[-2000:])
        break
    shown.append(out[:found.end()])
    out = out[found.end():]
    os.write(fd, step['type'].encode())
end = time.time() + 20
while not ended and not fault and time.time() < end: more(0.1)
shown.append(out)
if not ended: os.kill(pid, 9)
_, status = os.waitpid(pid, 0)
print(json.dumps({'status': os.waitstatus_to_exitcode(status), 'shown': shown, 'fault': fault or ('' if ended else 'it did not end: ' + repr(out[-2000:]))}))
`;

/** Runs a program to its end; `fault` tells of a step whose output did not come in 20 s. */
export const inTerminal = ({
  argv,
  steps,
  columns = 80,
  environment = {},
  cwd = process.cwd(),
}: TerminalOptions): Promise<TerminalEnd> =>
  new Promise((resolve, reject) => {
    const child = spawn('python3', ['-c', driver], { stdio: ['pipe', 'pipe', 'pipe'] });
    let output = '';
    let complaint = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      complaint += chunk.toString();
    });
    child.on('error', reject);
    child.on('close', () => {
      if (output === '') reject(new Error(complaint));
      else resolve(JSON.parse(output) as TerminalEnd);
    });
    child.stdin.end(
      JSON.stringify({
        argv,
        steps,
        columns,
        cwd,
        environment: {
          PATH: process.env['PATH'] ?? '',
          HOME: process.env['HOME'] ?? '',
          TERM: 'xterm-256color',
          ...environment,
        },
      }),
    );
  });

/** The text without colours and movements of the cursor. */
export const withoutEscapes = (text: string): string => text.replace(/\x1b\[[\d;?]*[A-Za-z]/g, '').replaceAll('\r', '');

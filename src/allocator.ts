/**
 * The C library's allocator. glibc keeps freed buffers for the next ones of their size: its threshold beyond which
 * memory comes from the system, and goes back to it, rises with the largest buffer that was freed, up to 32 MB. After
 * some dozens of large queries at once half of the process's memory is of that kind, and no bound on what is in use
 * holds it. The threshold can be fixed by the environment alone, which is read before the program is: so the service
 * replaces itself by itself, once.
 */

/** Named by `MALLOC_MMAP_THRESHOLD_`: what the threshold is before it rises. */
const thresholdBytes = 128 << 10;
/** A process that says one of these has its allocator as somebody wants it. */
const allocatorVariables = ['MALLOC_MMAP_THRESHOLD_', 'GLIBC_TUNABLES', 'LD_PRELOAD'];

/** What is known of a process that has just begun. */
type Begun = Pick<NodeJS.Process, 'argv' | 'env' | 'execArgv' | 'execPath' | 'platform' | 'channel'>;
/** A program as `process.execve` of Node 22.15 and later takes it: the same process runs it from its beginning. */
type Program = readonly [file: string, argv: readonly string[], environment: NodeJS.ProcessEnv];

/**
 * The program with an environment in which freed buffers go back; undefined where that is not needed, or is not ours to
 * say.
 */
export const withFixedThreshold = ({
  argv,
  env,
  execArgv,
  execPath,
  platform,
  channel,
}: Begun): Program | undefined => {
  if (
    platform !== 'linux' ||
    argv[2] !== 'serve' ||
    channel ||
    allocatorVariables.some((name) => env[name] !== undefined)
  )
    return undefined;
  return [
    execPath,
    [execPath, ...execArgv, ...argv.slice(1)],
    { ...env, MALLOC_MMAP_THRESHOLD_: String(thresholdBytes) },
  ];
};

/**
 * Begins the service again where that helps. An older Node has no way to do it: there the unit and the image set the
 * variable.
 */
export const freeBuffersAtOnce = (): void => {
  const program = withFixedThreshold(process);
  if (!program || !('execve' in process) || typeof process.execve !== 'function') return;
  const execve = process.execve as (...program: Program) => never;
  const { emitWarning } = process;
  // It is new, of which Node warns on standard error: the log is there.
  process.emitWarning = () => undefined;
  try {
    execve.call(process, ...program);
  } catch {
    // Not permitted here: the service runs as it is.
  }
  process.emitWarning = emitWarning;
};

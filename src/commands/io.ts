/** The surroundings of a command. */
import { fstatSync } from 'node:fs';

/** What a line needs of the terminal behind standard error. */
export interface ProgressTerminal {
  readonly columns: () => number;
  /** Default: as many as there are lines. */
  readonly rows?: () => number;
  readonly color: boolean;
}

/** What a command sees of its surroundings; tests give their own. */
export interface CommandIo {
  readonly cwd: string;
  readonly stdin: AsyncIterable<Uint8Array>;
  /** Whether a program writes to standard input: it is a pipe. Default: none does. */
  readonly stdinIsPipe?: boolean;
  readonly stdoutIsTerminal: boolean;
  /** Hints go along with errors only if a person sees them. Default: nobody does. */
  readonly stderrIsTerminal?: boolean;
  /** Where standard error is a terminal that a line can be drawn on, and drawn over. */
  readonly progress?: ProgressTerminal;
  /** Standard output; resolves when more may be written. */
  readonly write: (chunk: Uint8Array) => Promise<void>;
  /** Text for standard error, with its newline. */
  readonly complain: (text: string) => void;
}

/**
 * Whether a descriptor is a pipe, as shells make them. Of the sockets that Node and others hand to their children it is
 * not known whether they are meant.
 */
export const isPipe = (descriptor: number): boolean => {
  try {
    return fstatSync(descriptor).isFIFO();
  } catch {
    // It is closed.
    return false;
  }
};

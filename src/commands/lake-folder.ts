/** Where a command's lake is. */
import { existsSync } from 'node:fs';
import { resolve as resolvePath } from 'node:path';
import { ConfigError } from '../config/options.ts';

/** What bytes of a name became that are no text in UTF-8. */
const noText = '\ufffd';

/** Of a service or a bucket. */
const isAddress = /^[a-z][a-z0-9+.-]*:\/\//i;

/**
 * The folder's absolute path. An empty name, as of a variable of a shell that is not set, is not the working folder, and
 * an address no folder of that name. Names of files are bytes, those that the program is given are text: a name that is none
 * in UTF-8 comes here as another one, under which a second lake would be made beside the one that is meant. @throws
 * ConfigError
 */
export const lakeFolder = (cwd: string, name: string): string => {
  if (name === '') throw new ConfigError('-lake is empty: it is the folder of a lake');
  if (isAddress.test(name))
    throw new ConfigError(
      `-lake ${name}: that is an address, not the folder of a lake (lake shell asks a service by -s, lake serve has a bucket by -store)`,
    );
  const directory = resolvePath(cwd, name);
  if (!directory.includes(noText) || existsSync(directory)) return directory;
  throw new ConfigError(
    `-lake ${name}: the name of ${directory} is not UTF-8 text: rename the folder, or give a link to it (ln -s) whose name is`,
  );
};

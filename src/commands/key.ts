/** `lake key add | list | revoke`: the API keys of a lake. A service that has it open follows within a second. */
import { existsSync } from 'node:fs';
import { messageOf } from '../errors.ts';
import { optionsText } from '../config/help.ts';
import { ConfigError, parseOptions } from '../config/options.ts';
import { keyOptions } from '../config/tables.ts';
import { newKey } from '../http/access/keys.ts';
import { type Grant, parseGrant, roles } from '../http/access/roles.ts';
import { makeFolder } from '../lake/lock.ts';
import type { CommandIo } from './io.ts';
import { changeKeys, readKeys } from './key-file.ts';
import { lakeFolder } from './lake-folder.ts';

/** Runs the command; gives its exit status. @throws ConfigError */
export const keyCommand = async (argv: readonly string[], io: CommandIo): Promise<number> => {
  const [action = '', ...options] = argv;
  const { values, rest, help } = parseOptions(keyOptions, action.startsWith('-') ? argv : options, process.env);
  const print = (line: string): Promise<void> => io.write(Buffer.from(`${line}\n`));
  if (help || action === '' || action.startsWith('-')) {
    await io.write(Buffer.from(optionsText('key', keyOptions)));
    return help ? 0 : 2;
  }
  const directory = lakeFolder(io.cwd, values['lake']);
  if (action !== 'add' && !existsSync(directory)) throw new ConfigError(`no lake in ${directory}`);
  switch (action) {
    case 'add': {
      const [name = ''] = rest;
      if (name === '' || rest.length > 1)
        throw new ConfigError('lake key add takes one name, after its options: lake key add -role reader NAME');
      if (readKeys(directory).some((key) => key.name === name))
        throw new ConfigError(`there is a key ${JSON.stringify(name)} already: revoke it first, or take another name`);
      const grants = values['role'].map(grantOf);
      if (grants.length === 0) throw new ConfigError('lake key add: -role says what the key may do');
      makeFolder(directory);
      const ttlMs = values['ttl'];
      const key = newKey({ name, grants, ...(ttlMs > 0 && { expires: new Date(Date.now() + ttlMs) }) });
      io.complain('This is shown once and kept nowhere:\n');
      // Before it counts: where it cannot be written nobody has seen it.
      await print(key.text);
      try {
        changeKeys(directory, (keys) => [...keys, key.record]);
      } catch (cause) {
        throw new Error(`the key above is none, it could not be kept: ${messageOf(cause)}`, { cause });
      }
      return 0;
    }
    case 'list':
      for (const { id, name, grants, created, expires } of readKeys(directory))
        await print(
          [id, name, grants.join(' '), `since ${created}`, ...(expires === undefined ? [] : [`until ${expires}`])].join(
            '  ',
          ),
        );
      return 0;
    case 'revoke': {
      if (rest.length === 0) throw new ConfigError('lake key revoke takes names or ids of keys');
      const unknown = rest.find(
        (wanted) => !readKeys(directory).some(({ id, name }) => wanted === id || wanted === name),
      );
      if (unknown !== undefined) throw new ConfigError(`no key ${JSON.stringify(unknown)}: lake key list shows them`);
      changeKeys(directory, (keys) => keys.filter(({ id, name }) => !rest.includes(id) && !rest.includes(name)));
      return 0;
    }
    default:
      throw new ConfigError(`lake key ${action}: add, list or revoke`);
  }
};

const grantOf = (text: string): Grant => {
  const grant = parseGrant(text);
  if (!grant)
    throw new ConfigError(
      `bad value for -role: ${JSON.stringify(text)} (${roles.join(', ')}, or with a pool writer:POOL)`,
    );
  return grant;
};

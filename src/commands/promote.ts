/** `lake promote`: a standby becomes the writer of its bucket, whether the one before lives or not. */
import { optionsText } from '../config/help.ts';
import { noMore, parseOptions } from '../config/options.ts';
import { promoteOptions } from '../config/tables.ts';
import type { CommandIo } from './io.ts';
import { addressIn, serviceOf, shownService } from './load/address.ts';
import { noAnswer, Refused } from './load/service.ts';

/** Gives the exit status. @throws ConfigError, NoAnswer, Refused */
export const promoteCommand = async (argv: readonly string[], io: CommandIo): Promise<number> => {
  const { values, rest, help } = parseOptions(promoteOptions, argv, process.env);
  if (help) {
    await io.write(Buffer.from(optionsText('promote', promoteOptions)));
    return 0;
  }
  noMore('promote', rest);
  const service = serviceOf(values['lake']);
  const token = values['token'];
  const answer = await fetch(addressIn(service, '/promote'), {
    method: 'POST',
    headers: { ...(token !== '' && { authorization: `Bearer ${token}` }) },
  }).catch((cause: unknown) => {
    throw noAnswer(service, cause);
  });
  const text = await answer.text();
  if (!answer.ok) throw new Refused(answer.status, errorOf(text) ?? `${answer.status} ${text}`);
  await io.write(Buffer.from(`${shownService(service)} is the writer\n`));
  return 0;
};
const errorOf = (text: string): string | undefined => {
  try {
    return (JSON.parse(text) as { readonly error?: string }).error;
  } catch {
    return undefined;
  }
};

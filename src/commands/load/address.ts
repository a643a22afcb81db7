/** What commands are told to ask: a service by its URL, with a path where a proxy serves it below one; a pool and a branch. */
import { ConfigError } from '../../config/options.ts';

/** Ends in a slash; without a scheme it is http. @throws ConfigError for what is no address of a service */
export const serviceOf = (address: string, option = 'lake'): URL => {
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(address) ? address : `http://${address}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || `${url.search}${url.hash}` !== '')
    throw new ConfigError(
      `bad value for -${option}: ${JSON.stringify(address)} (address of a service, such as http://127.0.0.1:9867)`,
    );
  url.pathname = url.pathname.replace(/\/*$/, '/');
  return url;
};
/** The URL of a path of the service, which begins with a slash. */
export const addressIn = (service: URL, path: string): URL => new URL(path.slice(1), service);
/** The address as people write it, without a slash at the end. */
export const shownService = ({ origin, pathname }: URL): string => `${origin}${pathname.replace(/\/$/, '')}`;

/** POOL or POOL@BRANCH of -use; an empty text names no pool. @throws ConfigError */
export const poolAndBranch = (use: string): { readonly pool: string; readonly branch: string } => {
  const at = use.indexOf('@');
  const [pool, branch] = at < 0 ? [use, 'main'] : [use.slice(0, at), use.slice(at + 1)];
  if (branch === '' || (pool === '' && use !== ''))
    throw new ConfigError(`bad value for -use: ${JSON.stringify(use)} (POOL or POOL@BRANCH)`);
  return { pool, branch };
};

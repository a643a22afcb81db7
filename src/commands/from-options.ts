/** The `-from.*` options as the policy that the workers follow. */
import { realpathSync, statSync } from 'node:fs';
import { resolve as resolvePath } from 'node:path';
import type { FromConfig } from '../config/limits.ts';
import { ConfigError } from '../config/options.ts';
import { type FromPolicy, type HttpRule, parseHttpRule } from '../workers/from/policy.ts';

/**
 * Folders by their real paths, URLs as rules. @throws ConfigError for a folder that is not there and for what is no
 * host or URL
 */
export const fromPolicyOf = ({ files, http, httpBytesMax, httpMsMax }: FromConfig, cwd: string): FromPolicy => ({
  files: files.map((given) => {
    const path = resolvePath(cwd, given);
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory())
      throw new ConfigError(`bad value for -from.files: ${JSON.stringify(given)} (a folder that is there)`);
    return { path, real: realpathSync(path) };
  }),
  http: { rules: httpRules(http), bytesMax: httpBytesMax, waitMsMax: httpMsMax },
});

/** @throws ConfigError */
export const httpRules = (entries: readonly string[]): readonly HttpRule[] =>
  entries.map((entry) => {
    const rule = parseHttpRule(entry);
    if (!rule)
      throw new ConfigError(
        `bad value for -from.http: ${JSON.stringify(entry)} (a host such as example.com:8080, *.example.com or *, or the beginning of a URL such as https://example.com/data/)`,
      );
    return rule;
  });

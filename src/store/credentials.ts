/**
 * Credentials by the chain that S3's tools have: environment, a web identity, the files of a profile, the container's
 * service, the machine's. The first that has any is asked again when they are about to end.
 */
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type Agents, type Answer, exchange } from './http-exchange.ts';
import { elementOf } from './xml.ts';

/** What requests are signed with. `expiresMs`: until when, milliseconds since 1970. */
export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly expiresMs: number;
}
type Environment = Readonly<Record<string, string | undefined>>;

/** They are asked for again so long before they end. */
const renewMs = 5 * 60_000;
const serviceMsMax = 5000;

/** The credentials of a process, kept until they are about to end. */
export class CredentialChain {
  private readonly environment: Environment;
  private readonly agents: Agents;
  private known: Credentials | undefined;
  private asking: Promise<Credentials> | undefined;

  constructor(environment: Environment, agents: Agents) {
    this.environment = environment;
    this.agents = agents;
  }

  /** @throws Error that says where they were looked for */
  async get(): Promise<Credentials> {
    if (this.known && this.known.expiresMs - renewMs > Date.now()) return this.known;
    this.asking ??= this.ask().finally(() => {
      this.asking = undefined;
    });
    this.known = await this.asking;
    return this.known;
  }
  /** The store does not take them any more. */
  forget(): void {
    this.known = undefined;
  }

  private async ask(): Promise<Credentials> {
    const { environment, agents } = this;
    const found =
      ofEnvironment(environment) ??
      (await ofWebIdentity(environment, agents)) ??
      ofFiles(environment) ??
      (await ofContainer(environment, agents)) ??
      (await ofMachine(environment, agents));
    if (found) return found;
    throw new Error(
      'there are no credentials: not in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, not in ~/.aws/credentials, and no role has any',
    );
  }
}

const ofEnvironment = (environment: Environment): Credentials | undefined => {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = environment;
  const token = environment['AWS_SESSION_TOKEN'];
  return accessKeyId && secretAccessKey
    ? { accessKeyId, secretAccessKey, expiresMs: Infinity, ...(token && { sessionToken: token }) }
    : undefined;
};

/** The sections of such a file, by name: a profile each, in `config` after the word profile. */
export const profilesOf = (text: string): ReadonlyMap<string, ReadonlyMap<string, string>> => {
  const profiles = new Map<string, Map<string, string>>();
  let section: Map<string, string> | undefined;
  for (const line of text.split(/\r?\n/)) {
    const name = /^\s*\[\s*(?:profile\s+)?(.*?)\s*\]/.exec(line)?.[1];
    if (name !== undefined) {
      section = profiles.get(name) ?? new Map<string, string>();
      profiles.set(name, section);
      continue;
    }
    const [, key = '', value = ''] = /^([^#;=\s][^=]*?)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (key !== '') section?.set(key.toLowerCase(), value);
  }
  return profiles;
};
/** What the file that a variable names, or the usual one, says of the profile. */
const profileIn = (environment: Environment, variable: string, usual: string): ReadonlyMap<string, string> => {
  const path = environment[variable] || join(environment['HOME'] || homedir(), '.aws', usual);
  let text = '';
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return new Map();
  }
  return profilesOf(text).get(environment['AWS_PROFILE'] || 'default') ?? new Map();
};
/** A file may change while the service runs: what it has is good for a while. */
const fileMs = 10 * 60_000;
const ofFiles = (environment: Environment): Credentials | undefined => {
  for (const [variable, usual] of [
    ['AWS_SHARED_CREDENTIALS_FILE', 'credentials'],
    ['AWS_CONFIG_FILE', 'config'],
  ] as const) {
    const profile = profileIn(environment, variable, usual);
    const accessKeyId = profile.get('aws_access_key_id');
    const secretAccessKey = profile.get('aws_secret_access_key');
    const token = profile.get('aws_session_token');
    if (accessKeyId && secretAccessKey)
      return {
        accessKeyId,
        secretAccessKey,
        expiresMs: Date.now() + fileMs,
        ...(token && { sessionToken: token }),
      };
  }
  return undefined;
};
/** The region of environment or profile; undefined where neither says one. */
export const regionOf = (environment: Environment): string | undefined =>
  environment['AWS_REGION'] ||
  environment['AWS_DEFAULT_REGION'] ||
  profileIn(environment, 'AWS_CONFIG_FILE', 'config').get('region');

const fetched = async (
  agents: Agents,
  url: string,
  { method = 'GET', headers = {} }: { readonly method?: string; readonly headers?: Record<string, string> } = {},
): Promise<Answer> => {
  const answer = await exchange({ method, url: new URL(url), headers, idleMsMax: serviceMsMax }, agents);
  if (answer.status !== 200) throw new Error(`credentials: ${new URL(url).origin} answers ${answer.status}`);
  return answer;
};

/** A token of another issuer for credentials of a role. */
const ofWebIdentity = async (environment: Environment, agents: Agents): Promise<Credentials | undefined> => {
  const { AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: role } = environment;
  if (!file || !role) return undefined;
  const region = regionOf(environment);
  const url = new URL(environment['AWS_ENDPOINT_URL_STS'] || `https://sts.${region ? `${region}.` : ''}amazonaws.com/`);
  url.search = new URLSearchParams({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: role,
    RoleSessionName: environment['AWS_ROLE_SESSION_NAME'] || `lake-${process.pid}`,
    WebIdentityToken: readFileSync(file, 'utf8').trim(),
  }).toString();
  const text = (await fetched(agents, url.href)).body.toString('utf8');
  return credentialsOf(
    {
      AccessKeyId: elementOf(text, 'AccessKeyId'),
      SecretAccessKey: elementOf(text, 'SecretAccessKey'),
      Token: elementOf(text, 'SessionToken'),
      Expiration: elementOf(text, 'Expiration'),
    },
    url.origin,
  );
};

const ofContainer = async (environment: Environment, agents: Agents): Promise<Credentials | undefined> => {
  const path = environment['AWS_CONTAINER_CREDENTIALS_RELATIVE_URI'];
  const url = path ? `http://169.254.170.2${path}` : environment['AWS_CONTAINER_CREDENTIALS_FULL_URI'];
  if (!url) return undefined;
  const file = environment['AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE'];
  const token = file ? readFileSync(file, 'utf8').trim() : environment['AWS_CONTAINER_AUTHORIZATION_TOKEN'];
  return ofJson(await fetched(agents, url, token ? { headers: { authorization: token } } : {}), url);
};

/** The machine's role (IMDSv2); undefined where nobody answers. */
const ofMachine = async (environment: Environment, agents: Agents): Promise<Credentials | undefined> => {
  if (/^true$/i.test(environment['AWS_EC2_METADATA_DISABLED'] ?? '')) return undefined;
  const base = environment['AWS_EC2_METADATA_SERVICE_ENDPOINT'] || 'http://169.254.169.254';
  const roles = `${base}/latest/meta-data/iam/security-credentials/`;
  let token: string;
  try {
    const answer = await fetched(agents, `${base}/latest/api/token`, {
      method: 'PUT',
      headers: { 'x-aws-ec2-metadata-token-ttl-seconds': '21600' },
    });
    token = answer.body.toString('utf8');
  } catch {
    return undefined;
  }
  const headers = { 'x-aws-ec2-metadata-token': token };
  const [role = ''] = (await fetched(agents, roles, { headers })).body.toString('utf8').split('\n');
  return ofJson(await fetched(agents, `${roles}${role.trim()}`, { headers }), base);
};

const ofJson = ({ body }: Answer, from: string): Credentials => {
  let said: unknown;
  try {
    said = JSON.parse(body.toString('utf8'));
  } catch (cause) {
    throw new Error(`credentials: ${from} answers no JSON`, { cause });
  }
  return credentialsOf(typeof said === 'object' && said !== null ? { ...said } : {}, from);
};
const credentialsOf = (said: Readonly<Record<string, unknown>>, from: string): Credentials => {
  const text = (name: string): string => {
    const value = said[name];
    return typeof value === 'string' ? value : '';
  };
  const accessKeyId = text('AccessKeyId');
  const secretAccessKey = text('SecretAccessKey');
  const sessionToken = text('Token');
  const expiresMs = Date.parse(text('Expiration'));
  if (accessKeyId === '' || secretAccessKey === '') throw new Error(`credentials: ${from} answers without any`);
  return {
    accessKeyId,
    secretAccessKey,
    expiresMs: Number.isNaN(expiresMs) ? Date.now() + fileMs : expiresMs,
    ...(sessionToken !== '' && { sessionToken }),
  };
};

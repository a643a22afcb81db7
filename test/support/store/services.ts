/** Services of a test on a bucket that is in this process, each with a folder of its own. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Service, startBuiltService } from '../service/built.ts';
import { type BucketServer, startBucketServer } from './bucket-server.ts';

export interface BucketServices {
  readonly store: BucketServer;
  /** With `-store` or `-follow`, and what else it is given. */
  readonly start: (...flags: readonly string[]) => Promise<Service>;
  /** Ends the services that there are, by SIGKILL if `how` does not say otherwise, and removes their folders. */
  readonly end: (how?: (service: Service) => Promise<unknown>) => Promise<void>;
  /** The bucket too. */
  readonly close: () => Promise<void>;
}

/** The bucket; it takes any credentials, which the environment has from here on. */
export const startBucketServices = async (): Promise<BucketServices> => {
  process.env['AWS_ACCESS_KEY_ID'] = 'key';
  process.env['AWS_SECRET_ACCESS_KEY'] = 'secret';
  const store = await startBucketServer();
  const services: Service[] = [];
  const folders: string[] = [];
  const end: BucketServices['end'] = async (how = (service) => service.end('SIGKILL')) => {
    for (const service of services.splice(0)) await how(service);
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  };
  return {
    store,
    start: async (...flags) => {
      const lake = mkdtempSync(join(tmpdir(), 'lake-bucket-'));
      folders.push(lake);
      const service = await startBuiltService({
        lake,
        flags: ['-workers', '1', '-store.endpoint', store.endpoint, ...flags],
      });
      services.push(service);
      return service;
    },
    end,
    close: async () => {
      await end();
      await store.close();
    },
  };
};

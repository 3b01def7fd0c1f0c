/** The same of Redis, which has no SQL. */
import { keysUnder } from '../stores/redis/layout.js';
import { migrate } from '../stores/redis/migrate.js';
import { readPlace } from '../stores/redis/options.js';
import type { Database } from './database.js';
import type { CommandDatabase } from './define-config.js';

/** Asks the server that has the version of the layout; in a cluster the clock is that of one. */
export function redisDatabase(
  config: Extract<CommandDatabase, { readonly kind: 'redis' }>,
): Database {
  const options = config.prefix === undefined ? {} : { prefix: config.prefix };
  const { link, prefix } = readPlace(config.client, options, 'defineConfig: database');
  const key = keysUnder(prefix).schema;
  return {
    migrate: () => migrate(config.client, options),
    async version() {
      const answer = await link.send(key, ['HMGET', key, 'version', 'min_reader']);
      const [version, minReader] = (answer as readonly unknown[]).map(Number);
      return { version: version ?? 0, minReader: minReader ?? 0 };
    },
    async clock() {
      const [seconds, micros] = (await link.send(key, ['TIME'])) as readonly unknown[];
      return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
    },
    async isPrimary() {
      const [role] = (await link.send(key, ['ROLE'])) as readonly unknown[];
      return String(role) === 'master';
    },
    missingTriggers: async () => null,
    poolSize: null,
  };
}

/** The shared Redis server, with a separate prefix for this accident. */
import { deleteUnder, type Kind } from '../support/redis-clients.ts';
import { SERVERS } from '../support/servers.ts';
import type { Host } from './place.ts';
import { toServer, waysOver } from './redis-ways.ts';

export async function redisHost(kind: Kind): Promise<Host> {
  const prefix = `keyscope-test-${crypto.randomUUID()}:`;
  const { hostname, port } = new URL(SERVERS.redis);
  return {
    address: { host: hostname, port: Number(port) || 6379 },
    visit: (port) => waysOver(toServer(kind, { port }), prefix),
    remove: () => deleteUnder(SERVERS.redis, prefix),
  };
}

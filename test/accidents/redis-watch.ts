/**
 * Replaces node-redis clients that stop answering. Left alone, a client waits on a dead connection
 * until the operating system gives up, because each command it writes restarts its `socketTimeout`.
 * A destroyed client is not reconnected, because it may then return answers that belong to other
 * commands.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { NodeRedis, NodeRedisCluster } from 'keyscope/stores/redis';
import type { Closing } from '../support/redis-clients.ts';

/** Milliseconds between two probes of a client, and how long it has to answer. */
const WATCH_MS = 1_000;

const ignore = () => {};

interface Connecting {
  on(event: 'error', listener: () => void): unknown;
  connect(): Promise<unknown>;
  destroy(): unknown;
}

type Server = NodeRedis & Connecting & { ping(): Promise<unknown> };
type Cluster = NodeRedisCluster & Connecting;

/** `createClient`, watched. */
export async function watchServer(open: () => Server): Promise<Closing<NodeRedis>> {
  const { current, close } = await watch(open, (client) => client.ping());
  return {
    client: { sendCommand: (command, options) => current().sendCommand(command, options) },
    close,
  };
}

/** `createCluster`, watched. */
export async function watchCluster(open: () => Cluster): Promise<Closing<NodeRedisCluster>> {
  async function askAll(client: Cluster): Promise<void> {
    if (client.masters.length === 0) throw new Error('it is not connected');
    const nodes = await Promise.all(client.masters.map((master) => client.nodeClient(master)));
    await Promise.all(nodes.map((node) => node.sendCommand(['PING'], { typeMapping: {} })));
  }
  const { current, close } = await watch(open, askAll);
  return {
    client: {
      get masters() {
        return current().masters;
      },
      nodeClient: (master) => current().nodeClient(master),
      sendCommand: (...args) => current().sendCommand(...args),
    },
    close,
  };
}

interface Watched<C> {
  /** The client currently in use. */
  current(): C;
  close(): void;
}

async function watch<C extends Connecting>(
  open: () => C,
  ask: (client: C) => Promise<unknown>,
): Promise<Watched<C>> {
  let client = open();
  client.on('error', ignore);
  await client.connect();
  let isOn = true;

  function replace(): void {
    end(client);
    client = open();
    client.on('error', ignore);
    client.connect().catch(ignore);
  }

  async function watchOn(): Promise<void> {
    while (isOn) {
      await sleep(WATCH_MS);
      const answers = ask(client).then(() => true, ignore);
      const isThere = await Promise.race([answers, sleep(WATCH_MS)]);
      if (!isThere && isOn) replace();
    }
  }

  void watchOn();
  return {
    current: () => client,
    close() {
      isOn = false;
      end(client);
    },
  };
}

/** Throws if the client is already closed, for example because it never connected. */
function end(client: Connecting): void {
  try {
    client.destroy();
  } catch {
    // Then there is nothing to close.
  }
}

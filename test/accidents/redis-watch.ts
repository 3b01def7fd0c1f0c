/**
 * Replaces clients of node-redis that get no answer. On their own, they stay on a dead connection
 * until the operating system gives it up, because each command that they write restarts their
 * `socketTimeout`. A destroyed client is never connected again: it may then hand out answers that
 * belong to other questions.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { NodeRedis, NodeRedisCluster } from 'keyscope/stores/redis';
import type { Closing } from '../support/redis-clients.ts';

/** The interval between pings, and the time limit of each, in milliseconds. */
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
  /** Returns the client that is in use now. */
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

/** `destroy` throws if the client is closed already, for example if it could not connect. */
function end(client: Connecting): void {
  try {
    client.destroy();
  } catch {
    // Nothing to end.
  }
}

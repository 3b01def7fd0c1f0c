/**
 * The database servers for the tests, and `describe` functions that skip tests whose server is
 * missing.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe } from 'vitest';

const { KEYSCOPE_TEST_POSTGRES, KEYSCOPE_TEST_MYSQL, KEYSCOPE_TEST_REDIS, CI } = process.env;

/** The servers' addresses. Each test uses a separate schema, database or key prefix there. */
export const SERVERS = {
  postgres: KEYSCOPE_TEST_POSTGRES ?? 'postgres://postgres@127.0.0.1:5432/test',
  mysql: KEYSCOPE_TEST_MYSQL ?? 'mysql://root@127.0.0.1:3306/test',
  redis: KEYSCOPE_TEST_REDIS ?? 'redis://127.0.0.1:6379',
} as const;

export type Server = keyof typeof SERVERS;

const DEFAULT_PORTS = { postgres: 5432, mysql: 3306, redis: 6379 } as const;

async function answers(server: Server): Promise<boolean> {
  const { hostname, port } = new URL(SERVERS[server]);
  const socket = connect(Number(port) || DEFAULT_PORTS[server], hostname);
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(2000) });
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/**
 * `describe` for tests that need a server. If it does not answer, its tests are skipped under their
 * names; with `CI=true` they run and fail.
 */
export async function describeOn(server: Server): Promise<typeof describe | typeof describe.skip> {
  const runs = CI === 'true' || (await answers(server));
  return runs ? describe : describe.skip;
}

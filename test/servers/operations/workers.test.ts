/** What docs/operations.md says about Cloudflare Workers, in workerd and with real servers. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { emptyDatabase } from '../../support/mysql-clients.ts';
import { blocksUnder } from '../../support/pages.ts';
import { pgClient, url } from '../../support/postgres-clients.ts';
import { deleteUnder } from '../../support/redis-clients.ts';
import { describeOn, SERVERS } from '../../support/servers.ts';
import {
  describeWithWorkerd,
  SLOW,
  startDriverWorker,
  type Worker,
} from '../../support/workerd.ts';

const [, PRINTED = ''] = blocksUnder('docs/operations.md', '## Cloudflare Workers', 'js');

/** `describe` if workerd and all servers are there. */
const needed = [
  describeWithWorkerd,
  ...(await Promise.all((['postgres', 'mysql', 'redis'] as const).map(describeOn))),
];
const described = needed.find((each) => each !== describe) ?? describe;

const SIX = [1, 2, 3, 4, 5, 6];

async function askSixTimes(worker: Worker, route: string): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const _ of SIX) answers.push(await worker.ask(route));
  return answers;
}

/** The beginning of what each driver says after its client was kept from another request. */
const LATE = /^store\.\w+ did not answer within 1500 ms$/;
const NAMED = /the client was made in another request, and Cloudflare Workers let no other/;
const KEPT: Readonly<Record<string, readonly RegExp[]>> = {
  'pg-pool': [LATE, /^key$/, LATE],
  'pg-client': [LATE, LATE, LATE],
  postgres: [NAMED, /^key$/, NAMED],
  mysql2: [NAMED, /^key$/, NAMED],
  mariadb: [LATE],
  ioredis: [LATE, LATE, LATE],
  redis: [LATE, LATE, LATE],
};

// A connection belongs to the request that opened it. A keyring that was kept from the first
// request therefore answered 200 and 503 in turn.
described('a Worker with servers', SLOW, () => {
  const name = `keyscope_${randomUUID().replaceAll('-', '')}`;
  const address = new URL(url);
  address.pathname = `/${name}`;
  let mysql: Awaited<ReturnType<typeof emptyDatabase>>;
  let drivers: Worker;
  let printed: Worker;

  beforeAll(async () => {
    const admin = await pgClient();
    await admin.query(`CREATE DATABASE ${name}`);
    await admin.end();
    mysql = await emptyDatabase();
    const database = new URL(SERVERS.mysql);
    database.pathname = `/${mysql.name}`;
    const bindings = { MYSQL: database.href, REDIS: SERVERS.redis, PREFIX: `${name}:` };
    drivers = await startDriverWorker(address.href, bindings);
    const text = `import { createApp } from './drivers.ts';\n${PRINTED}`;
    printed = await startDriverWorker(address.href, {}, text);
  }, SLOW.timeout);
  afterAll(async () => {
    await drivers.stop();
    await printed.stop();
    await mysql.drop();
    await deleteUnder(SERVERS.redis, `${name}:`);
    const admin = await pgClient();
    await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await admin.end();
  });

  test('answers every request as the page prints it, also at once', async () => {
    const six = SIX.map(() => 'key');
    expect(await askSixTimes(printed, '/')).toEqual(six);
    expect(await Promise.all(SIX.map(() => printed.ask('/')))).toEqual(six);
  });

  test.each(Object.entries(KEPT))(
    'answers every request with a client of its own, and not with a kept one: %s',
    async (driver, said) => {
      expect(await askSixTimes(drivers, `/each/${driver}`)).toEqual(SIX.map(() => 'key'));
      expect(await drivers.ask(`/kept/${driver}`)).toBe('key');
      for (const words of said) expect(await drivers.ask(`/kept/${driver}`)).toMatch(words);
    },
  );
});

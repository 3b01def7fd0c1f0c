import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type PgListener, postgresInvalidation } from 'keyscope/stores/postgres';
import type pg from 'pg';
import { expect, test, vi } from 'vitest';
import { OTHER, OWN } from '../../support/keyring.ts';
import { namedClient } from '../../support/postgres-channels.ts';
import { url } from '../../support/postgres-clients.ts';
import { describePostgres } from '../../support/postgres-place.ts';

const LIMIT = { timeout: 120_000 };

/** A client without a server; the test decides when it is lost. */
function silentListener(): PgListener & { lose(): void } {
  const lost: ((error: Error) => void)[] = [];
  return {
    connect: async () => {},
    query: async () => {},
    on: (event: string, listener: (given: never) => void) => {
      if (event === 'error') lost.push(listener as (error: Error) => void);
    },
    end: async () => {},
    lose: () => {
      for (const listener of lost) listener(new Error('lost'));
    },
  };
}

// A server that is down is not asked without a pause.
test('a lost connection is replaced a second later', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  try {
    const made: ReturnType<typeof silentListener>[] = [];
    const { subscribe } = postgresInvalidation(() => {
      const listener = silentListener();
      made.push(listener);
      return listener;
    });
    await subscribe(() => {});
    made[0]?.lose();
    await vi.advanceTimersByTimeAsync(999);
    expect(made).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(made).toHaveLength(2);
  } finally {
    vi.useRealTimers();
  }
});

describePostgres('a listening connection', () => {
  test('is replaced once when it is lost, however many errors it emits', LIMIT, async () => {
    const made: pg.Client[] = [];
    const { publish, subscribe } = postgresInvalidation(() => {
      const client = namedClient('keyscope');
      made.push(client);
      return client;
    });
    await subscribe(() => {});
    made[0]?.emit('error', new Error('lost'));
    await publish(OWN);
    expect(made).toHaveLength(2);
    made[0]?.emit('error', new Error('lost again'));
    await publish(OWN);
    expect(made).toHaveLength(2);
    await Promise.all(made.map((client) => client.end()));
  });

  // From pg 9 on, a `Client` rejects what it only warns about today.
  test('gets one query at a time', LIMIT, async () => {
    const asked: string[] = [];
    const client = namedClient('keyscope');
    const query = client.query.bind(client);
    let pending = 0;
    async function watched(config: pg.QueryConfig): Promise<unknown> {
      pending += 1;
      asked.push(`${config.values?.[0] ?? config.text}, ${pending} at once`);
      const answer = await query(config);
      pending -= 1;
      return answer;
    }
    const { publish, subscribe } = postgresInvalidation(() =>
      Object.assign(client, { query: watched }),
    );
    await Promise.all([subscribe(() => {}), publish(OWN), publish(OTHER)]);
    expect(asked).toEqual([
      'LISTEN keyscope_revoked, 1 at once',
      `${OWN}, 1 at once`,
      `${OTHER}, 1 at once`,
    ]);
    await client.end();
  });

  // Each of them stayed open, one more a second, until the server had no free slots; and each
  // message opened one more.
  test('is ended if LISTEN fails, and there is only one at a time', LIMIT, async () => {
    let isStandby = true;
    const made: pg.Client[] = [];
    const ended = new Set<pg.Client>();
    const { publish, subscribe } = postgresInvalidation(() => {
      const client = namedClient('keyscope');
      const query = client.query.bind(client);
      // Like a standby, the server accepts the connection and rejects its first query.
      if (isStandby) Object.assign(client, { query: () => query('LISTEN') });
      made.push(client.on('end', () => ended.add(client)));
      return client;
    });
    await expect(async () => subscribe(() => {})).rejects.toThrow('syntax error');
    for (let attempt = 2; attempt < 4; attempt++) {
      const told = await Promise.allSettled(Array.from({ length: 5 }, () => publish(OWN)));
      expect(told.map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 'rejected'));
      expect(made).toHaveLength(attempt);
    }
    isStandby = false;
    await publish(OWN);
    expect(made).toHaveLength(4);
    await vi.waitFor(() => expect(ended).toEqual(new Set(made.slice(0, 3))), { timeout: 60_000 });
    await made.at(-1)?.end();
  });

  // Nothing else is in progress when the second one publishes.
  const TELLING = `await publish('${OTHER}'); setTimeout(() => publish(OWN).then(tell), 300)`;
  test.each([
    ['hears', "console.log('over')", 'over'],
    ['tells', TELLING, 'told'],
  ])('lets a process end that %s', LIMIT, (_what, then, line) => {
    const script = `
      import pg from 'pg';
      import { postgresInvalidation } from 'keyscope/stores/postgres';
      const OWN = '${OWN}';
      const tell = () => console.log('told');
      const { publish, subscribe } = postgresInvalidation(() => new pg.Client(process.env.URL));
      await subscribe(() => {});
      ${then}`;
    const hooks = fileURLToPath(new URL('../../support/typescript.ts', import.meta.url));
    const args = ['--import', hooks, '--input-type=module', '--eval', script];
    const { status, stdout } = spawnSync(process.execPath, args, {
      env: { ...process.env, URL: url },
      encoding: 'utf8',
      timeout: 60_000,
    });
    expect({ status, stdout }).toEqual({ status: 0, stdout: `${line}\n` });
  });
});

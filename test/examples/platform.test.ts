/**
 * The reference service: entities kept apart, pages that walk, errors that say nothing, a file that
 * lasts.
 */
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer as createNode } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createApp } from '../../examples/hono/server.ts';
import { ENTITY, OTHER_ENTITY, openPlatform, PREFIX } from '../../examples/platform/host/boot.ts';
import { listen as listenAt, stop } from '../../examples/platform/host/listen.ts';
import { whereabouts } from '../../examples/platform/host/whereabouts.ts';
import { Conflict, createDomain } from '../../examples/platform/service/domain.ts';
import { explain } from '../../examples/platform/service/problem.ts';
import { routes } from '../../examples/platform/service/routes.ts';
import { keyPattern, StoreError } from '../../src/index.js';
import {
  A,
  B,
  C,
  close,
  createPlatform,
  exchange,
  listen,
  named,
  startAll,
} from '../http/harness.ts';

const TABLES = ['threats', 'interactions', 'decoys', 'breadcrumbs', 'canaries', 'users'];

describe('entities are kept apart', () => {
  function domainOf() {
    const db = new DatabaseSync(':memory:');
    const domain = createDomain(db);
    for (const entity of [A, B]) domain.seed(entity);
    const rows = (entity: string) =>
      JSON.stringify(
        TABLES.map((table) =>
          db.prepare(`SELECT * FROM ${table} WHERE entity_uuid = ?`).all(entity),
        ),
      );
    return { db, domain, rows };
  }
  const all = { limit: 100, after: null };

  test('lists and reports show the rows of one entity', () => {
    const { domain } = domainOf();
    const lists = [
      domain.listThreats,
      domain.listInteractions,
      domain.listDecoys,
      domain.listCanaries,
      domain.listUsers,
    ];
    for (const list of lists) {
      const [ofA, ofB] = [A, B].map((entity) => list(entity, all).items.map(({ id }) => id));
      expect(ofA?.length).toBeGreaterThan(0);
      expect(ofA?.filter((id) => ofB?.includes(id))).toEqual([]);
      expect(list(C, all)).toEqual({ items: [], next: null });
    }
    expect(domain.exportReport(A).interactions).toBe(12);
    expect(domain.exportReport(C)).toMatchObject({
      interactions: 0,
      top_sources: [],
      threats_by_status: {},
    });
  });

  test('the ids of one entity are nothing to another, and nothing of it changes', () => {
    const { domain, rows } = domainOf();
    const before = rows(B);
    const id = (page: { readonly items: readonly { readonly id: string }[] }) =>
      page.items[0]?.id ?? '';
    const [threat, interaction] = [
      id(domain.listThreats(B, all)),
      id(domain.listInteractions(B, all)),
    ];
    const [decoy, canary, user] = [
      id(domain.listDecoys(B, all)),
      id(domain.listCanaries(B, all)),
      id(domain.listUsers(B, all)),
    ];
    const asB = [
      domain.readThreat(B, threat),
      domain.readDecoy(B, decoy),
      domain.readUser(B, user),
    ];
    expect(asB).not.toContain(null);
    expect([
      domain.readThreat(A, threat),
      domain.updateThreat(A, threat, { status: 'dismissed' }),
      domain.readInteraction(A, interaction),
      domain.readDecoy(A, decoy),
      domain.updateDecoy(A, decoy),
      domain.readCanary(A, canary),
      domain.updateCanary(A, canary, { notes: 'x' }),
      domain.readUser(A, user),
    ]).toEqual(Array(8).fill(null));
    const ended = [
      domain.decommissionDecoy(A, decoy),
      domain.decommissionCanary(A, canary),
      domain.deleteUser(A, user),
    ];
    expect(ended).toEqual([false, false, false]);
    domain.createCanary(A, { name: 'n', kind: 'dns', notes: '' });
    domain.createUser(A, { email: 'new@example.com', name: 'n', role: 'viewer' });
    expect(rows(B)).toBe(before);
  });

  test('every statement on rows names the entity', () => {
    const { db, domain } = domainOf();
    const statements: string[] = [];
    const prepare = db.prepare.bind(db);
    vi.spyOn(db, 'prepare').mockImplementation((sql, ...rest) => {
      statements.push(sql);
      return prepare(sql, ...rest);
    });
    const change = { status: 'open', notes: 'x' } as const;
    for (const [name, call] of Object.entries(domain)) {
      if (name === 'exportReport') domain.exportReport(A);
      else if (name.startsWith('list')) (call as typeof domain.listThreats)(A, all);
      else if (name === 'createCanary')
        domain.createCanary(A, { name: 'n', kind: 'dns', notes: '' });
      else if (name === 'createUser')
        domain.createUser(A, { email: 'e@example.com', name: 'n', role: 'viewer' });
      else (call as typeof domain.updateThreat)(A, 'x', change);
    }
    expect(statements.length).toBeGreaterThan(20);
    const byEntity = /^INSERT INTO \w+ \(entity_uuid, |\bWHERE entity_uuid = (\?|:entity)/;
    expect(statements.filter((sql) => !byEntity.test(sql))).toEqual([]);
  });

  test('a value that is no text reaches no row', () => {
    const { domain } = domainOf();
    expect(() => domain.listThreats(undefined as unknown as string, all)).toThrow();
    expect(() => domain.deleteUser(A, undefined as unknown as string)).toThrow();
  });
});

describe('pages', () => {
  const EACH = 57;

  async function service() {
    const platform = await createPlatform();
    // All at one time: order and cursor must fall back to the id.
    for (let i = 0; i < EACH; i++)
      platform.domain.createCanary(B, { name: `c${i}`, kind: 'dns', notes: '' });
    const app = createApp(platform);
    const get = async (query: string) => {
      const headers = { Authorization: `Bearer ${named(platform, 'full')}` };
      const response = await app.request(`/v1/canaries?entity_uuid=${B}&${query}`, { headers });
      return (await response.json()) as {
        items: { id: string; created_at: string }[];
        next: string | null;
      };
    };
    return { platform, get };
  }

  test.each([1, 7, 19, 60, 100])('of %i walk over everything once, newest first', async (limit) => {
    const { get } = await service();
    const seen: string[] = [];
    let next: string | null = null;
    do {
      const page = await get(`limit=${limit}${next === null ? '' : `&after=${next}`}`);
      expect(page.items.length).toBeLessThanOrEqual(limit);
      seen.push(...page.items.map(({ created_at, id }) => `${created_at} ${id}`));
      next = page.next;
    } while (next !== null);
    expect(seen).toHaveLength(EACH + 3);
    expect(seen).toEqual([...new Set(seen)].sort().reverse());
  });

  test('neither repeat nor skip a row while rows are added', async () => {
    const { platform, get } = await service();
    const first = await get('limit=30');
    platform.domain.createCanary(B, { name: 'late', kind: 'dns', notes: '' });
    const second = await get(`limit=100&after=${first.next}`);
    const ids = [...first.items, ...second.items].map(({ id }) => id);
    expect(new Set(ids).size).toBe(EACH + 3);
    expect(ids).toHaveLength(EACH + 3);
  });

  test('hold 20 by default, and none is left where they end', async () => {
    const { get } = await service();
    expect((await get('')).items).toHaveLength(20);
    expect((await get(`limit=${EACH + 3}`)).next).toBeNull();
  });

  test.each(['0', '101', '05', '+5', '5.0', '1e1', '', ' 5', '٥'])(
    'refuse %j as a limit',
    async (limit) => {
      const platform = await createPlatform();
      const headers = { Authorization: `Bearer ${named(platform, 'full')}` };
      const response = await createApp(platform).request(
        `/v1/canaries?limit=${encodeURIComponent(limit)}`,
        { headers },
      );
      const { detail } = (await response.json()) as { detail: string };
      expect([response.status, detail]).toEqual([400, 'query.limit: a whole number from 1 to 100']);
    },
  );

  test("an entity's cursor shows another entity's rows to nobody", async () => {
    const { platform, get } = await service();
    const { next } = await get('limit=1');
    const headers = { Authorization: `Bearer ${named(platform, 'full')}` };
    const other = await createApp(platform).request(`/v1/canaries?limit=100&after=${next}`, {
      headers,
    });
    const own = platform.domain
      .listCanaries(A, { limit: 100, after: null })
      .items.map(({ id }) => id);
    const { items } = (await other.json()) as { items: { id: string }[] };
    expect(items.filter(({ id }) => !own.includes(id))).toEqual([]);
  });
});

test('what is no id is refused before anything is looked up', async () => {
  const platform = await createPlatform();
  const { domain, keyring } = platform;
  const id = named(platform, 'threat');
  const principal = await keyring.verify(named(platform, 'full'));
  const read = routes.find(({ operation }) => operation === 'readThreat');
  const call = { domain, principal, entityUuid: A, query: {}, body: undefined };
  expect(read?.handle({ ...call, id })).toMatchObject({ id });
  for (const none of [undefined, null, 7, [id]]) {
    expect(() => read?.handle({ ...call, id: none })).toThrow('id: a text');
  }
});

describe('the domain', () => {
  test('is seeded the same on each machine, and once', () => {
    const dump = (times: number) => {
      const db = new DatabaseSync(':memory:');
      const domain = createDomain(db);
      for (let i = 0; i < times; i++) domain.seed(A);
      return TABLES.map((table) => db.prepare(`SELECT * FROM ${table}`).all());
    };
    expect(dump(2)).toEqual(dump(1));
    expect(dump(1).map((rows) => rows.length)).toEqual([5, 12, 3, 6, 3, 3]);
  });

  test('does not change what is decommissioned, and ends it once or twice alike', () => {
    const domain = createDomain(new DatabaseSync(':memory:'), { now: () => 0 });
    domain.seed(A);
    const [decoy, canary] = [domain.listDecoys, domain.listCanaries].map(
      (list) => list(A, { limit: 1, after: null }).items[0]?.id ?? '',
    ) as [string, string];
    expect(domain.updateDecoy(A, decoy)).toMatchObject({
      update_requested_at: '1970-01-01T00:00:00.000Z',
    });
    expect([domain.decommissionDecoy(A, decoy), domain.decommissionDecoy(A, decoy)]).toEqual([
      true,
      true,
    ]);
    expect([domain.decommissionCanary(A, canary), domain.decommissionCanary(A, canary)]).toEqual([
      true,
      true,
    ]);
    expect(() => domain.updateDecoy(A, decoy)).toThrow(Conflict);
    expect(() => domain.updateCanary(A, canary, { notes: 'x' })).toThrow(Conflict);
    expect(domain.readDecoy(A, decoy)).toMatchObject({
      status: 'decommissioned',
      breadcrumbs: [{}, {}],
    });
  });

  test('changes only the columns that were given', () => {
    const domain = createDomain(new DatabaseSync(':memory:'));
    domain.seed(A);
    const threat = domain.listThreats(A, { limit: 1, after: null }).items[0];
    domain.updateThreat(A, threat?.id ?? '', { notes: 'seen' });
    const changed = domain.updateThreat(A, threat?.id ?? '', {
      status: 'resolved',
      notes: undefined,
    });
    expect(changed).toEqual({ ...threat, status: 'resolved', notes: 'seen' });
  });

  test('lets one email stand once in an entity, and a deleted user come back', () => {
    const domain = createDomain(new DatabaseSync(':memory:'));
    const user = { email: 'a@example.com', name: 'A', role: 'viewer' } as const;
    const { id } = domain.createUser(A, user);
    expect(domain.createUser(B, user).id).not.toBe(id);
    expect(() => domain.createUser(A, user)).toThrow(Conflict);
    expect([domain.deleteUser(A, id), domain.deleteUser(A, id)]).toEqual([true, false]);
    expect(domain.createUser(A, user)).toMatchObject(user);
  });
});

test('an error of ours is reported, answered with 500 and no detail, and equal on all frameworks', async () => {
  const fleet = await startAll();
  const request = (key: string) =>
    `GET /v1/users HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n\r\n`;
  try {
    for (const { db } of fleet.all) db.close();
    const answers = await Promise.all(
      fleet.all.map((one) => exchange(one.port, request(named(one, 'full')))),
    );
    for (const { status, headers, body } of answers) {
      expect(status).toBe(500);
      expect(headers).toMatchObject({
        'content-type': 'application/problem+json',
        'cache-control': 'no-store',
      });
      expect(JSON.parse(body)).toEqual({
        type: 'about:blank',
        title: 'Internal Server Error',
        status: 500,
        detail: 'Something went wrong.',
      });
    }
    for (const { errors } of fleet.all)
      expect(errors).toMatchObject([{ message: 'database is not open' }]);
  } finally {
    await fleet.stop();
  }
});

// Behind a broken key store a service answered 503 to everybody, and not one line was logged.
test('an outage of the key store is reported with the reason, once a request, on all frameworks', async () => {
  const fleet = await startAll();
  const request = (key: string) =>
    `GET /v1/users HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n\r\n`;
  try {
    for (const one of fleet.all) {
      expect((await exchange(one.port, request(named(one, 'outage')))).status).toBe(503);
      expect((await exchange(one.port, request(named(one, 'unknown')))).status).toBe(401);
      expect(one.errors.map(explain)).toEqual([
        'store.findByDigest failed: see cause: the database is away',
      ]);
    }
  } finally {
    await fleet.stop();
  }
});

test('what is reported nowhere else goes to the console, an outage with its reason', async () => {
  const said = vi.spyOn(console, 'error').mockImplementation(() => {});
  try {
    const platform = await createPlatform();
    const app = createApp({ keyring: platform.keyring, domain: platform.domain });
    const headers = { Authorization: `Bearer ${named(platform, 'outage')}` };
    expect((await app.request('/v1/me', { headers })).status).toBe(503);
    expect(said.mock.calls).toEqual([
      ['store.findByDigest failed: see cause: the database is away'],
    ]);
  } finally {
    said.mockRestore();
  }
});

test.each([
  // Where a store only took too long there is no driver's error, and explaining it crashed.
  [
    'a store that took too long',
    new StoreError('store.list did not answer within 2000 ms'),
    /^store\.list .+ 2000 ms$/,
  ],
  [
    'a driver with a message',
    new StoreError('store.list failed', new Error('away')),
    /^store\.list failed: away$/,
  ],
  [
    'a driver with a code alone',
    new StoreError('store.list failed', Object.assign(new Error(''), { code: 'ECONNREFUSED' })),
    /^store\.list failed: ECONNREFUSED$/,
  ],
  [
    'a driver that quotes a line break, in one line',
    new StoreError('store.list failed', new Error('x\r\n\u001b[2K\u009b\u2028y')),
    /^store\.list failed: x\\u000d\\u000a\\u001b\[2K\\u009b\\u2028y$/,
  ],
  [
    'a driver that throws no error',
    new StoreError('store.list failed', null),
    /^store\.list failed$/,
  ],
  [
    'any other error, whose cause is its own affair',
    new Error('full', { cause: new Error('secret') }),
    /^full$/,
  ],
])('explains %s', (_, error, wanted) => {
  expect(explain(error)).toMatch(wanted);
});

describe('on a file', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'keyscope-platform-'));
    vi.stubEnv('KEYSCOPE_PEPPER', '');
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
    vi.unstubAllEnvs();
  });
  const issue = (platform: Awaited<ReturnType<typeof openPlatform>>) =>
    platform.keyring.issue(
      { name: 'n', scopes: ['threats:read'], expiresAt: 'never' },
      { entityUuid: ENTITY },
    );

  test('keys and rows outlast the process, the pepper is its own secret, and no key is in any file', async () => {
    const inner = join(folder, 'of-its-own');
    const first = await openPlatform(inner);
    const { key, info } = await issue(first);
    const [threat] = first.domain.listThreats(ENTITY, { limit: 1, after: null }).items;
    first.domain.updateThreat(ENTITY, threat?.id ?? '', { notes: 'kept' });
    await first.close();

    expect(statSync(join(inner, 'pepper')).mode & 0o777).toBe(0o600);
    expect(statSync(inner).mode & 0o777).toBe(0o700);
    const files = readdirSync(inner).map((name) => readFileSync(join(inner, name), 'latin1'));
    expect(files.join('').match(new RegExp(keyPattern(PREFIX)))).toBeNull();
    expect(files.join('')).not.toContain(key.slice(-32));

    const second = await openPlatform(inner);
    expect(await second.keyring.verify(key)).toMatchObject({ keyId: info.keyId });
    expect(second.domain.readThreat(ENTITY, threat?.id ?? '')).toMatchObject({ notes: 'kept' });
    expect(second.domain.listThreats(OTHER_ENTITY, { limit: 9, after: null }).items).toHaveLength(
      5,
    );
    await second.close();
  });

  test('the pepper from the environment comes first, and keys of the file keep working', async () => {
    const first = await openPlatform(folder);
    const old = await issue(first);
    await first.close();
    vi.stubEnv('KEYSCOPE_PEPPER', 'a pepper from the environment, 32 bytes or more');
    const second = await openPlatform(folder);
    expect(second.pepper).toContain('KEYSCOPE_PEPPER');
    const next = await issue(second);
    expect(await second.keyring.verify(old.key)).toMatchObject({ keyId: old.info.keyId });
    expect(await second.keyring.verify(next.key)).toMatchObject({ keyId: next.info.keyId });
    await second.close();
  });

  test('a pepper from the environment leaves no file behind', async () => {
    vi.stubEnv('KEYSCOPE_PEPPER', 'a pepper from the environment, 32 bytes or more');
    await (await openPlatform(folder)).close();
    expect(readdirSync(folder)).not.toContain('pepper');
  });

  test('the pepper of a file that keys still need is named beside that of the environment', async () => {
    await (await openPlatform(folder)).close();
    vi.stubEnv('KEYSCOPE_PEPPER', 'a pepper from the environment, 32 bytes or more');
    const { pepper, close: end } = await openPlatform(folder);
    await end();
    expect(pepper).toMatch(/KEYSCOPE_PEPPER, and \S+pepper for keys that it made$/);
  });

  test('a port that is taken is an error, not a wait', async () => {
    const [one, two] = [createNode(), createNode()];
    const port = await listen(one);
    await expect(listenAt(two, port)).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await close(one);
  });
});

describe('a server that stops', () => {
  // Node waited for ever for whoever had connected and said nothing, so usage was never written and
  // the store never closed.
  test.each([
    ['nothing', ''],
    ['half of its headers', 'GET /v1/me HTTP/1.1\r\nHost: x\r\n'],
    ['half of a body', 'POST /v1/token HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf'],
  ])('waits for a client that says %s only for a while', async (_, said) => {
    const server = createNode((req, res) => req.resume().on('end', () => res.end()));
    const socket = connect(Number(new URL(await listenAt(server, 0)).port), '127.0.0.1').on(
      'error',
      () => {},
    );
    const closed = once(socket, 'close');
    await Promise.all([
      once(server, 'connection'),
      new Promise<void>((sent) => void socket.write(said, () => sent())),
    ]);
    await stop(server, 50);
    await closed;
  });

  test('finishes the request that it serves', async () => {
    let stopped: Promise<void> | undefined;
    const server = createNode((_, res) => {
      stopped = stop(server, 60_000);
      setImmediate(() => res.end('whole'));
    });
    const answer = await fetch(await listenAt(server, 0), { headers: { Connection: 'close' } });
    expect([answer.status, await answer.text()]).toEqual([200, 'whole']);
    await stopped;
  });
});

// Whoever kept the keys in PostgreSQL was told that they were in the folder, and offered to remove
// their pepper with it.
describe('whoever starts the service is told', () => {
  const [folder, file, pepper] = ['/srv/demo', '/srv/demo/platform.db', 'the pepper of the tests'];
  const told = (keys: Parameters<typeof whereabouts>[0]['keys']) =>
    whereabouts({ file, pepper, keys }, folder);

  test.each(['/srv/demo/platform.db', '/srv/demo/keys.db'])(
    'to remove the folder, where the keys are in it: %s',
    (path) => {
      const text = told({ kind: 'file', path });
      expect(text).toContain(path.slice(1));
      expect(text).toMatch(/Pepper: the pepper of the tests\.\n.*Start afresh: rm -r \S+demo/);
      expect(text).not.toContain('Keep the pepper');
    },
  );

  test.each([
    ['server', { kind: 'server', name: 'postgres://db/keys' }, 'Keys: postgres://db/keys'],
    ['file', { kind: 'file', path: '/srv/keys.db' }, 'srv/keys.db'],
    ['neighbour', { kind: 'file', path: '/srv/demo2/keys.db' }, 'srv/demo2/keys.db'],
  ] as const)('to keep the pepper, where the keys are elsewhere: %s', (_, keys, where) => {
    const text = told(keys);
    expect(text).toContain(where);
    expect(text).toMatch(
      /Rows of the service: \S+demo\/platform\.db\..*\nKeep the pepper: without it/,
    );
    expect(text).not.toContain('rm -r');
  });

  test('that keys in memory end with the process', () => {
    const text = told({ kind: 'memory' });
    expect(text).toMatch(
      /^Keys: in memory, until it stops\. .+demo\/platform\.db\. Pepper: .+\nStop: Ctrl-C$/,
    );
  });
});

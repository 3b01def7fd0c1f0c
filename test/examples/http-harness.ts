/**
 * The reference service on all three frameworks with the same keys and rows, and a client that
 * sends raw bytes.
 */
import { createHash } from 'node:crypto';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { createServer as createExpress } from '../../examples/express/server.ts';
import { createServer as createFastify } from '../../examples/fastify/server.ts';
import { createServer as createHono } from '../../examples/hono/server.ts';
import { catalog } from '../../examples/platform/service/catalog.ts';
import type { Domain } from '../../examples/platform/service/domain.ts';
import { createDomain } from '../../examples/platform/service/domain.ts';
import { allOperations, type PlatformKeyring } from '../../examples/platform/service/policy.ts';
import type { IssuedKey, Keyring, KeyStore } from '../../src/index.js';
import { createKeyring, digestKey, generateKey } from '../../src/index.js';
import { memoryStore } from '../../src/stores/memory/index.js';

export const A = 'aaaaaaaa-0000-4000-8000-00000000000a';
export const B = 'bbbbbbbb-0000-4000-8000-00000000000b';
/** An entity that no key can address. */
export const C = 'cccccccc-0000-4000-8000-00000000000c';
export const PREFIX = 'lure';
const PEPPER = { id: 'test', secret: 'a pepper of the tests, of 32 bytes and more' };
const START = Date.UTC(2026, 5, 1);

/** Returns the same bytes on each run and for each framework, so key ids are equal too. */
function deterministic(seed: string): (length: number) => Uint8Array {
  let counter = 0;
  return (length) => {
    const blocks: Buffer[] = [];
    while (blocks.length * 32 < length) {
      blocks.push(createHash('sha256').update(`${seed} ${counter}`).digest());
      counter += 1;
    }
    return new Uint8Array(Buffer.concat(blocks).subarray(0, length));
  };
}

/** Makes a key that the platform's keyring has not issued. */
function generateSpare(name: string): string {
  return generateKey({ prefix: PREFIX, random: deterministic(name) });
}

/** A store that fails for one key, and returns a tampered record with more scopes for another. */
function brokenStore(outage: string, tampered: () => string): KeyStore {
  const store = memoryStore();
  return {
    ...store,
    async findByDigest(digests) {
      if (digests.includes(digestKey(outage, PEPPER))) throw new Error('the database is away');
      const rows = await store.findByDigest(digests);
      if (!digests.includes(digestKey(tampered(), PEPPER))) return rows;
      return rows.map((row) => ({ ...row, scopes: [...catalog.all] }));
    },
  };
}

export interface Platform {
  readonly keyring: PlatformKeyring;
  readonly domain: Domain;
  readonly db: DatabaseSync;
  /** Values by name. `<name>.id` is the key id. */
  readonly values: Readonly<Record<string, string>>;
  /** The errors that the service reported. */
  readonly errors: unknown[];
}

/** A clock that tests set. */
interface Clock {
  now: number;
}

export async function createPlatform(): Promise<Platform> {
  const clock: Clock = { now: START };
  const outage = generateSpare('outage');
  const unknown = generateSpare('unknown');
  const values: Record<string, string> = { A, B, C, outage, unknown };
  // Until there is a key to tamper with, this matches none.
  const store = brokenStore(outage, () => {
    const { tampered = unknown } = values;
    return tampered;
  });
  const keyring = createKeyring({
    prefix: PREFIX,
    policy: allOperations,
    store,
    peppers: [PEPPER],
    now: () => clock.now,
    random: deterministic('keys'),
  });
  const full = await issueKeys(keyring, values);
  clock.now += OVERLAP_MS;

  const db = new DatabaseSync(':memory:');
  const domain = createRows(db);
  nameRows(domain, values);
  Object.assign(values, {
    // With another last character, which belongs to the checksum.
    checksum: full.slice(0, -1) + (full.endsWith('0') ? '1' : '0'),
    digest: digestKey(full, PEPPER).replace(/^.*\$/, ''),
  });
  return { keyring, domain, db, values, errors: [] };
}

/** The lifetime of keys that have expired when the platform starts. */
const OVERLAP_MS = 1000;

type Values = Record<string, string>;

interface Wanted {
  readonly scopes: readonly (typeof catalog.all)[number][];
  /** Default: {@link A}. */
  readonly entityId?: string;
  readonly expiresAt?: Date;
}

/** Issues the keys of a platform by name, and returns the one with all scopes. */
async function issueKeys(keyring: Keyring<typeof catalog>, values: Values): Promise<string> {
  async function issue(name: string, wanted: Wanted): Promise<IssuedKey> {
    const { scopes, entityId = A, expiresAt = 'never' } = wanted;
    const accessibleEntities = entityId === A ? [B] : [];
    const justification = 'tests';
    const issued = await keyring.issue(
      { name, scopes, expiresAt, accessibleEntities, justification },
      { entityId, entities: [A, B], scopes: 'all' },
    );
    values[name] = issued.key;
    values[`${name}.id`] = issued.info.keyId;
    return issued;
  }
  const { key: full } = await issue('full', { scopes: catalog.all });
  await issue('bare', { scopes: [] });
  await issue('reader', { scopes: ['threats:read'] });
  await issue('foreign', { scopes: catalog.all, entityId: C });
  await issue('tampered', { scopes: ['threats:read'] });
  const revoked = await issue('revoked', { scopes: catalog.all });
  await keyring.revoke(revoked.info.keyId, { entityId: A });
  const expiresAt = new Date(START + OVERLAP_MS);
  await issue('expired', { scopes: catalog.all, expiresAt });
  const retired = await issue('retired', { scopes: ['threats:read'] });
  const authority = { entityId: A, entities: [A, B], scopes: 'all' } as const;
  await keyring.rotate(retired.info.keyId, { overlapMs: OVERLAP_MS }, authority);
  for (const scope of catalog.all) await issue(scope, { scopes: [scope] });
  return full;
}

/** Creates rows of three entities. Their ids are the same on each run. */
function createRows(db: DatabaseSync): Domain {
  let last = 0;
  const newId = (): string => {
    last += 1;
    return `00000000-0000-4000-8000-${String(last).padStart(12, '0')}`;
  };
  const domain = createDomain(db, { now: () => START, newId });
  for (const entity of [A, B, C]) domain.seed(entity);
  return domain;
}

/** Names the first row of each kind. */
function nameRows(domain: Domain, values: Values): void {
  const first = { limit: 1, after: null };
  const name = (row: string, { items }: { readonly items: readonly { id: string }[] }): void => {
    const [item] = items;
    if (item === undefined) throw new Error(`no ${row}`);
    values[row] = item.id;
  };
  name('threat', domain.listThreats(A, first));
  name('threatB', domain.listThreats(B, first));
  name('threatC', domain.listThreats(C, first));
  name('interaction', domain.listInteractions(A, first));
  name('decoy', domain.listDecoys(A, first));
  name('canary', domain.listCanaries(A, first));
  name('user', domain.listUsers(A, first));
}

// ── Servers ────────────────────

export const FRAMEWORKS = ['express', 'fastify', 'hono'] as const;
export type Framework = (typeof FRAMEWORKS)[number];

const CREATE = { express: createExpress, fastify: createFastify, hono: createHono };

export interface Running extends Platform {
  readonly framework: Framework;
  readonly port: number;
}

export interface Fleet {
  readonly all: readonly Running[];
  stop(): Promise<void>;
}

export async function startAll(): Promise<Fleet> {
  const servers: Server[] = [];
  const all = await Promise.all(
    FRAMEWORKS.map(async (framework): Promise<Running> => {
      const platform = await createPlatform();
      const { keyring, domain } = platform;
      const server = await CREATE[framework]({
        keyring,
        domain,
        report: (error) => platform.errors.push(error),
      });
      servers.push(server);
      return { ...platform, framework, port: await listen(server) };
    }),
  );
  return {
    all,
    async stop() {
      for (const server of servers) await close(server);
    },
  };
}

/**
 * Keeps idle connections open. Otherwise, on a busy machine, the server may close one at the moment
 * in which the client uses it again, which is ECONNRESET.
 */
export async function listen(server: Server): Promise<number> {
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

export function close(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

/** Returns a value of a platform by its name. */
export function named({ values }: Pick<Platform, 'values'>, name: string): string {
  const value = values[name];
  if (value === undefined) throw new Error(`no value ${name}`);
  return value;
}

/** Replaces `{name}` with the value of that name. Unknown names stay, so that JSON survives. */
export function fill(text: string, values: Readonly<Record<string, string>>): string {
  const PLACE = /\{([A-Za-z][A-Za-z:.]*)\}/g;
  return text.replace(PLACE, (whole, name: string) => values[name] ?? whole);
}

// ── A client that sends raw bytes ────────────────────

export interface Response {
  readonly status: number;
  /** Without `Date`, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends the characters of `text` as bytes (latin1), and reads until the server closes. */
export function exchange(port: number, text: string): Promise<Response> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(port, '127.0.0.1', () => socket.write(text, 'latin1'));
    // Ends the wait for a server that hangs. A busy machine may be slow.
    socket.setTimeout(20_000, () => {
      socket.destroy(new Error(`no answer to ${JSON.stringify(text.slice(0, 200))}`));
    });
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('close', () => resolve(parse(Buffer.concat(chunks).toString())));
  });
}

function parse(text: string): Response {
  const end = text.indexOf('\r\n\r\n');
  const [first = '', ...lines] = text.slice(0, end).split('\r\n');
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [name = '', ...value] = line.split(': ');
    if (name.toLowerCase() in headers) throw new Error(`two lines of ${name}`);
    if (name !== 'Date') headers[name.toLowerCase()] = value.join(': ');
  }
  return { status: Number(first.split(' ')[1]), headers, body: text.slice(end + 4) };
}

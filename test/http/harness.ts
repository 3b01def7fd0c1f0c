/**
 * The reference service on all three frameworks, with the same keys and rows, and a client that
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
import { catalog } from '../../examples/platform/catalog.ts';
import type { Domain } from '../../examples/platform/domain.ts';
import { createDomain } from '../../examples/platform/domain.ts';
import type { Keyring, KeyStore } from '../../src/index.js';
import { createKeyring, digestKey, generateKey } from '../../src/index.js';
import { memoryStore } from '../../src/stores/memory/index.js';

export const A = 'aaaaaaaa-0000-4000-8000-00000000000a';
export const B = 'bbbbbbbb-0000-4000-8000-00000000000b';
/** No key can address it. */
export const C = 'cccccccc-0000-4000-8000-00000000000c';
export const PREFIX = 'lure';
const PEPPER = { id: 'test', secret: 'a pepper of the tests, of 32 bytes and more' };
const START = Date.UTC(2026, 5, 1);

/** The same bytes on each run and for each framework: key ids are equal too. */
function deterministic(seed: string): (length: number) => Uint8Array {
  let block = 0;
  return (length) => {
    const blocks = Array.from({ length: Math.ceil(length / 32) }, () =>
      createHash('sha256').update(`${seed} ${block++}`).digest(),
    );
    return new Uint8Array(Buffer.concat(blocks).subarray(0, length));
  };
}

/** Breaks for one key, and returns another's record with more scopes. */
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
  readonly keyring: Keyring<typeof catalog>;
  readonly domain: Domain;
  readonly db: DatabaseSync;
  /** By name; `<name>.id` is the key id. */
  readonly values: Readonly<Record<string, string>>;
  /** What `report` was told: errors that are ours. */
  readonly errors: unknown[];
}

export async function createPlatform(): Promise<Platform> {
  let now = START;
  let ids = 0;
  const random = deterministic('keys');
  const spare = (name: string) => generateKey({ prefix: PREFIX, random: deterministic(name) });
  const outage = spare('outage');
  let tampered = spare('not yet');
  const values: Record<string, string> = { A, B, C, outage, unknown: spare('unknown') };
  const store = brokenStore(outage, () => tampered);
  const keyring = createKeyring({
    prefix: PREFIX,
    catalog,
    store,
    peppers: [PEPPER],
    now: () => now,
    random,
  });
  const db = new DatabaseSync(':memory:');
  const newId = () => `00000000-0000-4000-8000-${String(++ids).padStart(12, '0')}`;
  const domain = createDomain(db, { now: () => START, newId });
  for (const entity of [A, B, C]) domain.seed(entity);

  async function issue(
    name: string,
    scopes: readonly (typeof catalog.all)[number][],
    entityUuid = A,
    expires = 0,
  ) {
    const { key, info } = await keyring.issue(
      {
        name,
        scopes,
        expiresAt: expires === 0 ? 'never' : new Date(START + expires),
        accessibleEntities: entityUuid === A ? [B] : [],
        justification: 'tests',
      },
      { entityUuid, entities: [A, B] },
    );
    values[name] = key;
    values[`${name}.id`] = info.keyId;
    return { key, keyId: info.keyId };
  }
  const full = (await issue('full', catalog.all)).key;
  await issue('bare', []);
  await issue('reader', ['threats:read']);
  await issue('foreign', catalog.all, C);
  tampered = (await issue('tampered', ['threats:read'])).key;
  await keyring.revoke((await issue('revoked', catalog.all)).keyId, { entityUuid: A });
  await issue('expired', catalog.all, A, 1000);
  const retired = await issue('retired', ['threats:read']);
  await keyring.rotate(retired.keyId, { overlapMs: 1000 }, { entityUuid: A, entities: [A, B] });
  for (const scope of catalog.all) await issue(scope, [scope]);
  now += 1000;

  const first = { limit: 1, after: null };
  const id = ({ items }: { readonly items: readonly { readonly id: string }[] }) => items[0]?.id;
  Object.assign(values, {
    threat: id(domain.listThreats(A, first)),
    threatB: id(domain.listThreats(B, first)),
    threatC: id(domain.listThreats(C, first)),
    interaction: id(domain.listInteractions(A, first)),
    decoy: id(domain.listDecoys(A, first)),
    canary: id(domain.listCanaries(A, first)),
    user: id(domain.listUsers(A, first)),
    checksum: full.slice(0, -1) + (full.endsWith('0') ? '1' : '0'),
    digest: digestKey(full, PEPPER).replace(/^.*\$/, ''),
  });
  return { keyring, domain, db, values, errors: [] };
}

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

export async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

export function close(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

/** A value of a platform by its name. */
export function named({ values }: Pick<Platform, 'values'>, name: string): string {
  const value = values[name];
  if (value === undefined) throw new Error(`no value ${name}`);
  return value;
}

/** Replaces `{name}` by the value of that name; unknown names stay, so that JSON does. */
export const fill = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replace(/\{([A-Za-z][A-Za-z:.]*)\}/g, (whole, name) => values[name] ?? whole);

export interface Response {
  readonly status: number;
  /** Names in lower case, without `Date`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends the characters of `text` as bytes (latin1), and reads until the server closes. */
export function exchange(port: number, text: string): Promise<Response> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(port, '127.0.0.1', () => socket.write(text, 'latin1'));
    socket.setTimeout(3000, () =>
      socket.destroy(new Error(`no answer to ${JSON.stringify(text.slice(0, 200))}`)),
    );
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

/** The parts of docs/migrating.md's recipes that the tests use, and a service built with them. */
import { createServer, type Server } from 'node:http';
import express, { type Request, type RequestHandler } from 'express';
import type { GrantAuthority, IssuedKey, IssueInput, KeyInfo } from 'keyscope';
import { createKeyring, definePolicy, defineScopes } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { createGuard } from '../../../examples/express/adapter.ts';
import type { Recipes } from '../../support/recipes.ts';

export type Scope = 'threats:read' | 'threats:write' | 'reports:read';
export type Operation = 'listThreats' | 'updateThreat';
export type Table = Readonly<Record<string, readonly Scope[]>>;

export interface Move {
  readonly owner: string;
  readonly isSuspended: boolean;
  readonly input: IssueInput<Scope>;
}

export interface OldKeys {
  readonly find: (req: Request) => string | null;
  readonly ownerOf: (key: string, operation: Operation) => Promise<string | null>;
}

const catalog = defineScopes({
  threats: { read: 'Read threats.', write: 'Update threats.' },
  reports: { read: 'Read reports.' },
});
const policy = definePolicy(catalog, {
  listThreats: ['threats:read'],
  updateThreat: ['threats:write'],
});

export function createAcme() {
  const store = memoryStore();
  return createKeyring({ prefix: 'acme', policy, store, peppers: 'none' });
}

export type Acme = ReturnType<typeof createAcme>;

/** The blocks that all recipes share. */
export interface Shared {
  scopesFor(permissions: readonly string[], table: Table): readonly Scope[];
  metadataFor(old: object | null | undefined): Record<string, string>;
  issueSuccessor(keyring: Acme, move: Move, authority: GrantAuthority): Promise<IssuedKey>;
  createDoor(
    guard: (operation: Operation) => RequestHandler,
    old: OldKeys,
    entityOf: (owner: string) => string,
  ): (operation: Operation) => RequestHandler;
}

export async function loadShared(recipes: Recipes): Promise<Shared> {
  const move = (await recipes.load('move.ts')) as Omit<Shared, 'createDoor'>;
  const door = (await recipes.load('door.ts')) as Pick<Shared, 'createDoor'>;
  return { ...move, createDoor: door.createDoor };
}

const entities = new Map<string, string>();

/** As if the owners' table had a column for it. */
function entityOf(owner: string): string {
  const entityId = entities.get(owner) ?? crypto.randomUUID();
  entities.set(owner, entityId);
  return entityId;
}

/** A successor, issued by a member of the owner's organization. */
export async function moved(shared: Shared, keyring: Acme, move: Move): Promise<MovedKey> {
  const entityId = entityOf(move.owner);
  const authority = { entityId, scopes: 'all', actor: 'ada' } as const;
  const { key, info } = await shared.issueSuccessor(keyring, move, authority);
  const now = await keyring.get(info.keyId, authority);
  if (now === null || !('name' in now)) throw new Error('The successor is not there.');
  return { key, info: now };
}

interface MovedKey {
  readonly key: string;
  readonly info: KeyInfo;
}

/** A service's answer: the status, and the entity if the request got in. */
export type Ask = (path: string, headers: Record<string, string>) => Promise<string>;

/** Serves `/list` and `/update` behind a door while `use` runs. */
export async function serving(
  shared: Shared,
  keyring: Acme,
  old: OldKeys,
  use: (ask: Ask) => Promise<void>,
): Promise<void> {
  const guard = createGuard({ keyring, realm: 'acme' });
  const either = shared.createDoor(guard, old, entityOf);
  const app = express();
  app.get('/list', either('listThreats'), (req, res) => void res.send(req.entityId));
  app.get('/update', either('updateThreat'), (req, res) => void res.send(req.entityId));
  const server = createServer(app);
  const url = await listening(server);
  try {
    await use(async (path, headers) => {
      const answer = await fetch(`${url}${path}`, { headers });
      return answer.ok ? `${answer.status} ${await answer.text()}` : String(answer.status);
    });
  } finally {
    server.close();
  }
}

export async function listening(server: Server): Promise<string> {
  // Keeps idle connections open on a busy machine: see `listen` in the examples' tests.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return typeof address === 'object' ? `http://127.0.0.1:${address?.port}` : '';
}

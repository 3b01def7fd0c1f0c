/** `--check`: walks through console, HTTP and MCP, and through the whole life of a key. */

import { mkdtempSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Link } from '../../../console/link.ts';
import { createDemoLink, createServer } from '../../../console/server.ts';
import { explain } from '../../service/problem.ts';
import type { Platform } from '../boot.ts';
import { ENTITY, OTHER_ENTITY, openPlatform } from '../boot.ts';
import { listen, stop } from '../listen.ts';
import { type Ci, startCi, walkCi } from './ci.ts';
import { obtainKey } from './console.ts';
import { PUBLIC_URL, walkTwoInstances } from './instances.ts';
import { callRefused, useTools } from './mcp.ts';
import { ask, REFUSED } from './rest.ts';
import { Surprise, say } from './surprise.ts';

const SCOPES = ['threats:read', 'decoys:read'];
const AUTHORITY = { entityId: ENTITY, scopes: ['*:*'], actor: 'walk' };

interface Clock {
  /** Added to the present time, in milliseconds. */
  ahead: number;
}

/** The service during the walk. */
interface Walk {
  readonly platform: Platform;
  readonly link: Link;
  readonly clock: Clock;
  readonly ci: Ci;
  readonly folder: string;
  readonly store: string | undefined;
  /** The base URL of the REST interface. */
  readonly base: string;
  readonly mcp: string;
}

/** The key that the walk creates and uses. */
interface WalkedKey {
  readonly key: string;
  readonly keyId: string;
  /** The answer of `/me` to it. */
  readonly me: Readonly<Record<string, unknown>>;
}

async function makeKey({ platform, link, base, store }: Walk): Promise<WalkedKey> {
  say('1. Console: sign in and create a key with threats:read and decoys:read');
  const key = await obtainKey(new URL(base).origin, link.open(), SCOPES);
  const { keyId } = await platform.keyring.verify(key);
  say(`   ${key}, key id ${keyId}`);
  const stays = Boolean(store) && platform.keys !== 'memory';
  if (stays) {
    const others = 'and so do the tables and the other keys that this walk creates';
    say(`   The key stays in that database, ${others} (entity ${ENTITY})`);
  }
  const me = { entity_uuid: ENTITY, key_id: keyId, scopes: SCOPES, accessible_entities: [ENTITY] };
  return { key, keyId, me };
}

async function walkRest({ platform, base }: Walk, { key, me }: WalkedKey): Promise<void> {
  say('2. /me returns the id, entities and scopes of the key');
  await ask(`${base}/me`, key, { status: 200, body: me });

  say('3. Allowed: the key has threats:read');
  const threats = platform.domain.listThreats(ENTITY, { limit: 1, after: null }).items;
  await ask(`${base}/threats?limit=1`, key, { status: 200, body: { items: threats } });

  say('4. Missing scope: the key lacks users:read');
  await ask(`${base}/users`, key, {
    status: 403,
    challenge: 'Bearer realm="deception platform", error="insufficient_scope", scope="users:read"',
    body: { error: 'insufficient_scope', scope: 'users:read' },
  });

  say("5. Wrong entity: the key cannot address another organization's threats");
  await ask(`${base}/threats?entity_uuid=${OTHER_ENTITY}`, key, {
    status: 403,
    challenge: 'none',
    body: { error: 'entity_forbidden' },
  });
}

async function walkMcp({ mcp }: Walk, { key, me }: WalkedKey): Promise<void> {
  say('6. MCP with the same key: list its tools; whoami returns the same as /me');
  await useTools(mcp, key, me);

  say('7. MCP without a key');
  await callRefused(mcp, PUBLIC_URL, { tool: 'whoami', key: null, status: 401, challenge: '' });

  say('8. MCP with a missing scope: the key lacks users:read');
  await callRefused(mcp, PUBLIC_URL, {
    tool: 'listUsers',
    key,
    status: 403,
    challenge: 'error="insufficient_scope", scope="users:read"',
  });
}

async function walkLife(walk: Walk, { key, keyId, me }: WalkedKey): Promise<void> {
  const { base, mcp, clock } = walk;
  const { keyring } = walk.platform;
  say('9. Rotate with an overlap of one minute: both keys work');
  const { key: next, info } = await keyring.rotate(keyId, { overlapMs: 60_000 }, AUTHORITY);
  const nextMe = { ...me, key_id: info.keyId };
  await ask(`${base}/me`, key, { status: 200, body: me }, 'old key');
  await ask(`${base}/me`, next, { status: 200, body: nextMe }, 'new key');

  say('10. One minute later (the clock is moved forward): only the new key works');
  clock.ahead = 60_001;
  await ask(`${base}/me`, key, REFUSED, 'old key');
  await ask(`${base}/me`, next, { status: 200, body: nextMe }, 'new key');

  say('11. Revoke: the new key no longer works');
  await keyring.revoke(info.keyId, AUTHORITY);
  await ask(`${base}/me`, next, REFUSED, 'new key');
  const challenge = 'error="invalid_token"';
  await callRefused(mcp, PUBLIC_URL, { tool: 'whoami', key: next, status: 401, challenge });
}

async function walkInstances({ platform, base, folder, store }: Walk): Promise<void> {
  if (platform.keys === 'memory')
    say('13. Two instances: skipped, because no other process can read a store in memory');
  else if (store !== undefined) await walkTwoInstances(base, platform, folder, store);
}

async function walkAll(server: Server, walk: Omit<Walk, 'base' | 'mcp'>): Promise<void> {
  const base = await listen(server, 0);
  const whole = { ...walk, base, mcp: base.replace('/v1', '/mcp') };
  const key = await makeKey(whole);
  await walkRest(whole, key);
  await walkMcp(whole, key);
  await walkLife(whole, key);
  await walkCi(base, walk.platform, walk.ci);
  await walkInstances(whole);
  say('All as expected.');
}

function sayFailure(error: unknown): void {
  if (error instanceof Surprise) say(`   Unexpected: ${error.message}`);
  else say(`   Failed: ${explain(error)}\n${(error as Error).stack}`);
  process.exitCode = 1;
}

/** Starts a service in a temporary folder, walks through it, and removes the folder. */
export async function check(store: string | undefined): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'keyscope-demo-'));
  const clock: Clock = { ahead: 0 };
  try {
    const now = (): number => Date.now() + clock.ahead;
    const ci = await startCi();
    const issuers = [ci.issuer];
    const platform = await openPlatform(folder, { now, store, publicUrl: PUBLIC_URL, issuers });
    const link = createDemoLink(platform);
    const server = createServer(platform, link);
    try {
      await walkAll(server, { platform, link, clock, ci, folder, store });
    } catch (error) {
      sayFailure(error);
    } finally {
      await stop(server);
      await platform.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

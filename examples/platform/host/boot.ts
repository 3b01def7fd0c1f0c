/**
 * Assembles the platform for the demo and for single servers. By default it keeps everything in one
 * SQLite file.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createKeyring } from 'keyscope';
import { type ChannelState, cacheStore, pollingInvalidation } from 'keyscope/cache';
import { githubActions, type KeylessIssuer } from 'keyscope/keyless';
import { LRUCache } from 'lru-cache';
import type { Domain } from '../service/domain.ts';
import { createDomain } from '../service/domain.ts';
import { allOperations, type PlatformKeyring } from '../service/policy.ts';
import { reportError } from '../service/problem.ts';
import { reportChannel } from './connections.ts';
import type { OpenedStore } from './open-store.ts';
import { openStore } from './open-store.ts';
import { readPeppers } from './peppers.ts';
import { createReadiness, type Readiness } from './readiness.ts';
import type { Tokens } from './tokens.ts';
import { audiences, openTokens } from './tokens.ts';
import type { Whereabouts } from './whereabouts.ts';

export const PREFIX = 'lure';
/** The organization that owns the demo's keys, and one that these keys cannot address. */
export const ENTITY = '11111111-1111-4111-8111-111111111111';
export const OTHER_ENTITY = '22222222-2222-4222-8222-222222222222';
/** The names of the demo's organizations. */
export const ORGANIZATIONS: ReadonlyMap<string, string> = new Map([
  [ENTITY, 'Acme'],
  [OTHER_ENTITY, 'Globex'],
]);

export interface Platform extends Whereabouts {
  readonly keyring: PlatformKeyring;
  /** The keyring for MCP. */
  readonly mcpKeyring: PlatformKeyring;
  readonly tokens: Tokens;
  readonly publicUrl: string;
  readonly domain: Domain;
  readonly readiness: Readiness;
  /** Milliseconds since the epoch, for the whole platform. */
  readonly now: () => number;
  /** Writes the usage that is still in memory, and closes the stores. */
  close(): Promise<void>;
}

export interface PlatformOptions {
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /**
   * The address of the key store, in a form that `openStore` accepts. Default: the folder's SQLite
   * file, which also has the service's rows.
   */
  readonly store?: string | undefined;
  /** The origin at which clients reach the service. Default: `http://127.0.0.1:8787`. */
  readonly publicUrl?: string;
  /** Whose tokens may act as keys without a secret. Default: GitHub Actions. */
  readonly issuers?: readonly KeylessIssuer[];
}

/**
 * A key that another process revoked may still work here for this long, unless the channel reports
 * it sooner.
 */
export const MAX_STALENESS_MS = 5_000;

const MOST_CACHED = 10_000;

/** For databases without notifications. */
const POLLING = { intervalMs: 500, skewMs: 1_000 };

interface OpenedKeys extends Pick<OpenedStore, 'store' | 'close'> {
  readonly channelState: () => ChannelState;
}

/** Opens the key store. Look-ups on a server are cached, so most requests need no database. */
async function openKeys(address: string): Promise<OpenedKeys> {
  const { store, invalidation, close } = await openStore(address);
  if (address.startsWith('sqlite:')) return { store, close, channelState: () => 'none' };
  const polling = invalidation === undefined ? pollingInvalidation(store, POLLING) : undefined;
  const cached = cacheStore(store, {
    cache: new LRUCache<string, object>({ max: MOST_CACHED }),
    maxStalenessMs: MAX_STALENESS_MS,
    invalidation: invalidation ?? polling,
    onError: reportChannel,
  });
  return {
    store: cached,
    channelState: cached.channelState,
    async close() {
      polling?.stop();
      await close();
    },
  };
}

interface Service extends Pick<Platform, 'domain'> {
  close(): void;
}

/** Opens the service's own rows, and gives each of the demo's organizations some. */
function openService(file: string, now: () => number): Service {
  const rows = new DatabaseSync(file, { timeout: 5_000 });
  const domain = createDomain(rows, { now });
  for (const entity of [ENTITY, OTHER_ENTITY]) domain.seed(entity);
  return { domain, close: () => rows.close() };
}

/** SQLite keeps a database in memory with this name or this parameter of a URI. */
const IN_MEMORY = /:memory:|[?&]mode=memory(?:&|$)/;

function placeOf(store: string | undefined): Whereabouts['keys'] {
  if (store === undefined) return 'file';
  return store.startsWith('sqlite:') && IN_MEMORY.test(store) ? 'memory' : 'store';
}

export async function openPlatform(
  folder: string,
  options: PlatformOptions = {},
): Promise<Platform> {
  const { now = Date.now, publicUrl = 'http://127.0.0.1:8787' } = options;
  const { issuers = [githubActions()] } = options;
  const file = join(folder, 'platform.db');
  const { store: address = `sqlite:${file}` } = options;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { peppers, source: pepper } = await readPeppers(folder);
  const tokens = await openTokens(folder, publicUrl, now, issuers);
  // A second handle on the file, so that the service's transactions never include key writes.
  const opened = await openKeys(address);
  try {
    const keyringFor = (audience: string): PlatformKeyring =>
      createKeyring({
        prefix: PREFIX,
        policy: allOperations,
        store: opened.store,
        peppers,
        now,
        tokens: tokens.verifiers[audience],
        onError: reportError,
      });
    // Two keyrings on one store: a token for one does not open the other. Keys open both.
    const { rest, mcp } = audiences(publicUrl);
    const keyring = keyringFor(rest);
    const mcpKeyring = keyringFor(mcp);
    const { domain, close: closeService } = openService(file, now);
    const close = async (): Promise<void> => {
      try {
        await Promise.all([keyring.flush(), mcpKeyring.flush()]);
      } finally {
        await opened.close();
        closeService();
      }
    };
    const { channelState } = opened;
    const { verify } = keyring;
    const asked = { verify, prefix: PREFIX, channelState, report: reportError, now };
    const doors = { keyring, mcpKeyring, tokens, publicUrl, domain, now };
    const stored = { file, keys: placeOf(options.store), pepper };
    return { ...doors, ...stored, readiness: createReadiness(asked), close };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

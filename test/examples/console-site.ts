/**
 * The console over real sockets, for tests that visit it as somebody does who sends what its forms
 * do not. The walk by hand is in `test/slow`.
 */
import type { Server } from 'node:http';
import type { KeyInfo } from 'keyscope';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { createServer } from '../../examples/console/server.ts';
import type { PlatformOptions } from '../../examples/platform/host/boot.ts';
import {
  ENTITY,
  OTHER_ENTITY,
  openPlatform,
  type Platform,
} from '../../examples/platform/host/boot.ts';
import { listen, stop } from '../../examples/platform/host/listen.ts';
import { folder } from '../support/folder.ts';

export const PASSWORD = 'correct horse battery staple';
export const KEYS = '/settings/configuration/api-keys';

/** These tests sign in often, and try no password by force. */
export const CHEAP = { cost: 2, blockSize: 1, parallelization: 1 };

export type Fields = Readonly<Record<string, string | readonly string[]>>;

export interface Page {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** A form for a new key, as it is to be filled in. */
export const WHOLE = {
  name: 'Export',
  scopes: ['threats:read', 'decoys:read'],
  lifetime: '30',
  justification: '',
};

/** What Hono knows of a connection from there. */
export function connectionFrom(
  remoteAddress: string,
  headersDistinct: Readonly<Record<string, readonly string[]>> = {},
): object {
  const socket = { remoteAddress, remotePort: 1, remoteFamily: 'IPv4' };
  return { incoming: { socket, headersDistinct } };
}

export function formBody(fields: Fields): URLSearchParams {
  const body = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    const values = typeof value === 'string' ? [value] : value;
    for (const each of values) body.append(name, each);
  }
  return body;
}

/** The cookie that an answer sets, as it is sent back. */
export function cookieOf({ headers }: Pick<Page, 'headers'>): string {
  return String(headers.get('Set-Cookie')).split(';')[0] ?? '';
}

/** The token of the form on a page. */
export function onceOf({ text }: Pick<Page, 'text'>): string {
  return /name="once" value="([^"]+)"/.exec(text)?.[1] ?? 'none';
}

/** The key that a page shows. */
export function keyOf({ text }: Page): string {
  return /id="key" value="([^"]+)"/.exec(text)?.[1] ?? 'none';
}

export interface Me {
  readonly status: number;
  readonly key_id?: string;
  readonly scopes?: readonly string[];
}

export interface Site {
  readonly platform: Platform;
  readonly origin: string;
  /** A clock that stands still, unless a test moves it. */
  readonly clock: { ahead: number };
  /** Everything that was ever answered. */
  readonly answers: readonly string[];
  send(path: string, init: RequestInit, at?: string): Promise<Page>;
  get(path: string, cookie?: string): Promise<Page>;
  post(
    path: string,
    fields: Fields,
    cookie?: string,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Page>;
  enter(email: string, password?: string): Promise<Page>;
  /** @returns The cookie of the session. */
  signIn(email: string): Promise<string>;
  /** Makes a key by the form. @returns The page that shows it, or the form with its faults. */
  create(cookie: string, fields?: Fields): Promise<Page>;
  /** The page that an answer leads to; the answer itself if it leads nowhere. */
  follow(page: Page, cookie: string): Promise<Page>;
  /** Of a key that can be read. */
  infoOf(keyId: unknown, entityUuid?: string): Promise<KeyInfo>;
  /** What the interface for programs says of a key. */
  me(key: string): Promise<Me>;
  /** A key that nobody made by the form. @returns Its id. */
  issue(scopes?: readonly 'users:read'[]): Promise<string>;
  countOf(entityUuid?: string): Promise<number>;
}

/** With one password for all: Ana is an admin, Ben an analyst, Chi a viewer; Dan is elsewhere. */
async function openSite(file: string, options: PlatformOptions): Promise<Platform> {
  const platform = await openPlatform(file, { ...options, passwordCost: CHEAP });
  const { accounts, domain } = platform;
  for (const { id } of domain.listUsers(ENTITY, { limit: 10, after: null }).items)
    await accounts.setPassword({ entityUuid: ENTITY, userId: id }, PASSWORD);
  const dan = domain.createUser(OTHER_ENTITY, {
    email: 'dan@example.com',
    name: 'Dan',
    role: 'admin',
  });
  await accounts.setPassword({ entityUuid: OTHER_ENTITY, userId: dan.id }, PASSWORD);
  return platform;
}

/** Serves the console for the tests of a file. Called at its top, before any test runs. */
export function useSite(): Site {
  const files = folder();
  const clock = { ahead: 0 };
  const answers: string[] = [];
  let platform: Platform;
  let server: Server;
  let origin: string;

  beforeAll(async () => {
    const start = Date.now();
    platform = await openSite(files.file('console'), { now: () => start + clock.ahead });
    server = createServer(platform);
    origin = new URL(await listen(server, 0)).origin;
  });
  afterEach(() => {
    clock.ahead = 0;
  });
  afterAll(async () => {
    await stop(server);
    await platform.close();
    files.remove();
  });

  const site: Site = {
    get platform() {
      return platform;
    },
    get origin() {
      return origin;
    },
    clock,
    answers,
    async send(path, init, at = origin) {
      const response = await fetch(`${at}/console${path}`, { redirect: 'manual', ...init });
      const text = await response.text();
      answers.push(text);
      return { status: response.status, headers: response.headers, text };
    },
    get: (path, cookie = '') => site.send(path, { headers: { Cookie: cookie } }),
    post(path, fields, cookie = '', headers = {}) {
      const all = { Cookie: cookie, Origin: origin, ...headers };
      return site.send(path, { method: 'POST', body: formBody(fields), headers: all });
    },
    enter: (email, password = PASSWORD) => site.post('/sign-in', { email, password }),
    async signIn(email) {
      const page = await site.enter(email);
      expect([page.status, page.headers.get('Location')]).toEqual([303, '/console']);
      return cookieOf(page);
    },
    async create(cookie, fields = {}) {
      const once = onceOf(await site.get(`${KEYS}/new`, cookie));
      return site.follow(await site.post(KEYS, { once, ...WHOLE, ...fields }, cookie), cookie);
    },
    async follow(page, cookie) {
      const to = page.headers.get('Location');
      return to === null ? page : site.get(to.replace('/console', ''), cookie);
    },
    async infoOf(keyId, entityUuid = ENTITY) {
      const info = await platform.keyring.get(String(keyId), { entityUuid });
      if (info === null || !('name' in info)) throw new Error(`there is no ${keyId} to read`);
      return info;
    },
    async me(key) {
      const headers = { Authorization: `Bearer ${key}` };
      const response = await fetch(`${origin}/v1/me`, { headers });
      return { status: response.status, ...((await response.json()) as object) };
    },
    async issue(scopes = []) {
      const input = { name: 'x', scopes, expiresAt: 'never', justification: 'tests' } as const;
      const { info } = await platform.keyring.issue(input, { entityUuid: ENTITY, scopes: 'all' });
      return info.keyId;
    },
    async countOf(entityUuid = ENTITY) {
      const { keys } = await platform.keyring.list({ limit: 1000 }, { entityUuid });
      return keys.length;
    },
  };
  return site;
}

/**
 * The console over real sockets, for tests that send more than its forms would. The tests in a
 * browser are in `test/slow`.
 */
import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import type { KeyInfo } from 'keyscope';
import { afterAll, afterEach, beforeAll } from 'vitest';
import type { Link } from '../../examples/console/link.ts';
import { createDemoLink, createServer, findMember } from '../../examples/console/server.ts';
import type { SignIn } from '../../examples/console/service.ts';
import { csrfTokenOf } from '../../examples/console/sessions.ts';
import {
  ENTITY,
  OTHER_ENTITY,
  openPlatform,
  type Platform,
} from '../../examples/platform/host/boot.ts';
import { listen, stop } from '../../examples/platform/host/listen.ts';
import { folder } from '../support/folder.ts';

export const KEYS = '/settings/configuration/api-keys';

export type Fields = Readonly<Record<string, string | readonly string[]>>;

export interface Page {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** A completed form for a new key. */
export const WHOLE = {
  name: 'Export',
  scopes: ['threats:read', 'decoys:read'],
  lifetime: '30',
  justification: '',
};

export function formBody(fields: Fields): URLSearchParams {
  const body = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    const values = typeof value === 'string' ? [value] : value;
    for (const each of values) body.append(name, each);
  }
  return body;
}

/** The cookie that an answer sets, in the form in which browsers return it. */
export function cookieOf({ headers }: Pick<Page, 'headers'>): string {
  return String(headers.get('Set-Cookie')).split(';')[0] ?? '';
}

/** The secret in the URL of a sign-in link. */
export function linkIn(url: string): string {
  return new URL(url).searchParams.get('link') ?? 'none';
}

/** The token in the forms of a page. */
export function csrfOf({ text }: Pick<Page, 'text'>): string {
  return /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? 'none';
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
  /** Added to the present time, in milliseconds. Tests change it. */
  readonly clock: { ahead: number };
  /** The texts of all answers so far. */
  readonly answers: readonly string[];
  send(path: string, init: RequestInit, at?: string): Promise<Page>;
  get(path: string, cookie?: string): Promise<Page>;
  /** Sends a form, with the token of the session unless the fields have one. */
  post(
    path: string,
    fields: Fields,
    cookie?: string,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Page>;
  /** Makes a link that signs in Ana. @returns The secret that its form sends. */
  openLink(): string;
  enter(link: string, cookie?: string): Promise<Page>;
  /** Signs in any member, without a link. @returns The cookie of the session. */
  signIn(email: string): string;
  /** Creates a key with the form. @returns The page that shows it, or the form with messages. */
  create(cookie: string, fields?: Fields): Promise<Page>;
  /** Sends a form and follows the redirect, with the cookie for the notice. */
  change(path: string, fields: Fields, cookie: string): Promise<Page>;
  /** The info of a key with a readable record. */
  infoOf(keyId: unknown, entityId?: string): Promise<KeyInfo>;
  /** Calls `/v1/me` with a key. */
  me(key: string): Promise<Me>;
  /** Issues a key without the form. @returns Its id. */
  issue(scopes?: readonly 'users:read'[]): Promise<string>;
  countOf(entityId?: string): Promise<number>;
}

/** Ana is an admin, Ben an analyst and Chi a viewer. Dan belongs to another organization. */
async function openSite(file: string, now: () => number): Promise<Platform> {
  const platform = await openPlatform(file, { now });
  const dan = { email: 'dan@example.com', name: 'Dan', role: 'admin' } as const;
  platform.domain.createUser(OTHER_ENTITY, dan);
  return platform;
}

interface OwnSignIn extends SignIn {
  enter(email: string): string;
}

/** A sign-in of the service's own. The link still works next to it. */
function createSignIn(platform: Platform, link: Link): OwnSignIn {
  const visitors = new Map<string, readonly [entityId: string, userId: string]>();
  return {
    ...link,
    whoIs(request) {
      const session = /visitor=[^;]+/.exec(request.headers.get('Cookie') ?? '')?.[0] ?? '';
      const visitor = visitors.get(session);
      if (visitor === undefined) return link.whoIs(request);
      const member = findMember(platform, ...visitor);
      return member && { ...member, session };
    },
    enter(email) {
      for (const entityId of [ENTITY, OTHER_ENTITY]) {
        const users = platform.domain.listUsers(entityId, { limit: 100, after: null }).items;
        const user = users.find((one) => one.email === email);
        if (user === undefined) continue;
        const session = `visitor=${randomUUID()}`;
        visitors.set(session, [entityId, user.id]);
        return session;
      }
      throw new Error(`no user has the email ${email}`);
    },
  };
}

/** Serves the console for the tests of a file. Call it at the top, before any test runs. */
export function useSite(): Site {
  const files = folder();
  const clock = { ahead: 0 };
  const answers: string[] = [];
  let platform: Platform;
  let link: Link;
  let signIn: OwnSignIn;
  let server: Server;
  let origin: string;

  beforeAll(async () => {
    const start = Date.now();
    platform = await openSite(files.file('console'), () => start + clock.ahead);
    link = createDemoLink(platform);
    signIn = createSignIn(platform, link);
    server = createServer(platform, signIn);
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
    async post(path, fields, cookie = '', headers = {}) {
      const member = await signIn.whoIs(new Request(origin, { headers: { Cookie: cookie } }));
      const csrf = member === null ? 'none' : csrfTokenOf(member);
      const all = { Cookie: cookie, Origin: origin, ...headers };
      return site.send(path, { method: 'POST', body: formBody({ csrf, ...fields }), headers: all });
    },
    openLink: () => linkIn(link.open()),
    enter: (sent, cookie) => site.post('/sign-in', { link: sent }, cookie),
    signIn: (email) => signIn.enter(email),
    create: (cookie, fields = {}) => site.post(KEYS, { ...WHOLE, ...fields }, cookie),
    async change(path, fields, cookie) {
      const answer = await site.post(path, fields, cookie);
      const to = answer.headers.get('Location');
      if (to === null) return answer;
      return site.get(to.replace('/console', ''), `${cookie}; ${cookieOf(answer)}`);
    },
    async infoOf(keyId, entityId = ENTITY) {
      const info = await platform.keyring.get(String(keyId), { entityId });
      if (info === null || !('name' in info)) throw new Error(`the key ${keyId} cannot be read`);
      return info;
    },
    async me(key) {
      const headers = { Authorization: `Bearer ${key}` };
      const response = await fetch(`${origin}/v1/me`, { headers });
      return { status: response.status, ...((await response.json()) as object) };
    },
    async issue(scopes = []) {
      const input = { name: 'x', scopes, expiresAt: 'never', justification: 'tests' } as const;
      const { info } = await platform.keyring.issue(input, { entityId: ENTITY, scopes: 'all' });
      return info.keyId;
    },
    async countOf(entityId = ENTITY) {
      const { keys } = await platform.keyring.list({ limit: 1000 }, { entityId });
      return keys.length;
    },
  };
  return site;
}

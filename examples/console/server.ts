/**
 * The platform's console, where keys are made, shown once, replaced and revoked. Its pages are for
 * people; for programs, it serves REST and MCP as well. `npm run demo` starts it, and so does
 * `npx node examples/console/server.ts`.
 */
import { randomBytes } from 'node:crypto';
import type { Server } from 'node:http';
import { createHandler, tryMcp } from '../mcp/server.ts';
import { ENTITY, type Platform } from '../platform/host/boot.ts';
import { socketAddress } from '../platform/host/client-address.ts';
import { fetchListener } from '../platform/host/fetch.ts';
import { createNodeServer } from '../platform/host/node-server.ts';
import { run } from '../platform/host/run.ts';
import { Busy } from '../platform/host/turns.ts';
import { catalog } from '../platform/service/catalog.ts';
import { reportError } from '../platform/service/problem.ts';
import { createConsole } from './app.ts';
import { BASE } from './paths.ts';
import type { ConsoleService } from './service.ts';

/** The platform, as the console wants it. */
export function serviceOf(platform: Platform): ConsoleService {
  const { keyring, accounts, publicUrl, now, clientAddress = socketAddress } = platform;
  const isBusy = (error: unknown) => error instanceof Busy;
  return { keyring, catalog, accounts, publicUrl, now, clientAddress, isBusy, report: reportError };
}

/** The whole platform: the console, REST and MCP. */
export function createServer(platform: Platform): Server {
  const pages = createConsole(serviceOf(platform));
  const programs = createHandler(platform);
  const listener = fetchListener((request, env) => {
    const { pathname } = new URL(request.url);
    const isConsole = pathname === BASE || pathname.startsWith(`${BASE}/`);
    if (isConsole) return pages.fetch(request, env);
    return programs(request);
  });
  return createNodeServer(listener, platform);
}

export interface Credentials {
  readonly email: string;
  readonly password: string;
}

/** A new password for an admin of the demo's organization; `null` if it has no admin. */
export async function openAccount({ accounts, domain }: Platform): Promise<Credentials | null> {
  const users = domain.listUsers(ENTITY, { limit: 10, after: null }).items;
  const admin = users.find(({ role }) => role === 'admin');
  if (!admin) return null;
  const password = randomBytes(12).toString('base64url');
  await accounts.setPassword({ entityUuid: ENTITY, userId: admin.id }, password);
  return { email: admin.email, password };
}

/** If nobody can sign in yet, creates a sign-in; says how to sign in. */
async function trySignIn(origin: string, platform: Platform): Promise<string> {
  const address = `Console: ${origin}${BASE}, then Settings, Configuration, API Keys`;
  if (platform.accounts.any()) return `${address}. The password was shown on the first run.`;
  const account = await openAccount(platform);
  if (account === null) return '';
  const { email, password } = account;
  return `${address}\n\n  sign in as ${email} with the password ${password} (shown this once)`;
}

/** For whoever has just started it. */
export async function tryDoors(origin: string, platform: Platform): Promise<string> {
  return `${tryMcp(origin)}\n${await trySignIn(origin, platform)}\n`;
}

if (import.meta.main) await run(createServer, tryDoors);

/**
 * The whole demo: the console, where people create, rotate and revoke keys, and REST and MCP for
 * programs. Start it with `npm run demo` or `npx node examples/console/server.ts`.
 */
import type { Server } from 'node:http';
import type { GrantAuthority } from 'keyscope';
import { createHandler, tryMcp } from '../mcp/server.ts';
import { ENTITY, ORGANIZATIONS, type Platform } from '../platform/host/boot.ts';
import { fetchListener } from '../platform/host/fetch.ts';
import { createNodeServer } from '../platform/host/node-server.ts';
import { run } from '../platform/host/run.ts';
import { reportError } from '../platform/service/problem.ts';
import type { User } from '../platform/service/records.ts';
import type { Page, PageInput } from '../platform/service/rows.ts';
import { createConsole } from './app.ts';
import { createLink, type Link } from './link.ts';
import { BASE } from './paths.ts';
import type { ConsoleService, SignIn } from './service.ts';
import type { Member } from './visit.ts';

/**
 * The scopes that each role may grant. The form offers only these, and the keyring refuses all
 * others. Revoking is not granting: anyone who manages keys may end every key of the organization.
 */
const GRANTABLE: Readonly<Record<User['role'], GrantAuthority['scopes'] | null>> = {
  admin: 'all',
  analyst: ['threats:*', 'interactions:*', 'decoys:*', 'canaries:*', 'reports:*'],
  viewer: null,
};

function authorityOf({ role, email }: User, entityId: string): GrantAuthority | null {
  const scopes = GRANTABLE[role];
  if (scopes === null) return null;
  return { entityId, scopes, actor: email };
}

/** Returns the current state of a user; `null` if they were deleted. */
export function findMember(
  { domain }: Pick<Platform, 'domain'>,
  entityId: string,
  userId: string,
): Member | null {
  const user = domain.readUser(entityId, userId);
  if (user === null) return null;
  return { user, entityId, authority: authorityOf(user, entityId) };
}

/** Finds an admin of the demo's organization, however many users it has. */
function findAdmin({ domain }: Platform): User | null {
  let after: PageInput['after'] = null;
  do {
    const page: Page<User> = domain.listUsers(ENTITY, { limit: 100, after });
    const admin = page.items.find(({ role }) => role === 'admin');
    if (admin !== undefined) return admin;
    after = page.next;
  } while (after !== null);
  return null;
}

/** Makes the sign-in of the demo: a link for an admin of its organization. */
export function createDemoLink(platform: Platform): Link {
  const admin = findAdmin(platform);
  return createLink(platform, () => findMember(platform, ENTITY, admin?.id ?? ''));
}

/** Turns the platform into the service that the console needs. */
export function serviceOf(platform: Platform, signIn: SignIn): ConsoleService {
  const { keyring, publicUrl, now } = platform;
  const nameOf = (entityId: string): string | null => ORGANIZATIONS.get(entityId) ?? null;
  return { keyring, signIn, nameOf, publicUrl, now, report: reportError };
}

/** Serves the console, REST and MCP. */
export function createServer(
  platform: Platform,
  signIn: SignIn = createDemoLink(platform),
): Server {
  const pages = createConsole(serviceOf(platform, signIn));
  const programs = createHandler(platform);
  const listener = fetchListener((request) => {
    const { pathname } = new URL(request.url);
    const isConsole = pathname === BASE || pathname.startsWith(`${BASE}/`);
    if (isConsole) return pages.fetch(request);
    return programs(request);
  });
  return createNodeServer(listener, platform);
}

const NO_ADMIN =
  'Console: you cannot sign in, because the organization has no admin left. Delete the ' +
  'database and start again.\n';

function trySignIn(link: string): string {
  return `Console: open this link to create and manage keys.

  ${link}

  It works once, within 15 minutes. For a new link, start the demo again.
`;
}

/**
 * Starts the demo, prints how to call it and how to sign in, and runs until a signal stops it.
 *
 * @param folder The folder for the demo's files, as in `run`.
 */
export async function runDemo(folder?: string): Promise<void> {
  let help = NO_ADMIN;
  const createWithLink = (platform: Platform): Server => {
    const signIn = createDemoLink(platform);
    if (findAdmin(platform) !== null) help = trySignIn(signIn.open());
    return createServer(platform, signIn);
  };
  await run(createWithLink, (origin) => `${tryMcp(origin)}\n${help}`, folder);
}

if (import.meta.main) await runDemo();

/**
 * The platform's console, where keys are made, shown once, replaced and revoked. Its pages are for
 * people; for programs, it serves REST and MCP as well. `npm run demo` starts it, and so does
 * `npx node examples/console/server.ts`.
 */
import type { Server } from 'node:http';
import type { GrantAuthority } from 'keyscope';
import { createHandler, tryMcp } from '../mcp/server.ts';
import { ENTITY, type Platform } from '../platform/host/boot.ts';
import { fetchListener } from '../platform/host/fetch.ts';
import { createNodeServer } from '../platform/host/node-server.ts';
import { run } from '../platform/host/run.ts';
import { catalog } from '../platform/service/catalog.ts';
import { reportError } from '../platform/service/problem.ts';
import type { User } from '../platform/service/records.ts';
import type { Page, PageInput } from '../platform/service/rows.ts';
import { createConsole } from './app.ts';
import { createLink, type Link } from './link.ts';
import { BASE } from './paths.ts';
import type { ConsoleService, SignIn } from './service.ts';
import type { Member } from './visit.ts';

/**
 * What a role may grant, and so what its form offers. The keyring enforces it whatever the form
 * says. Ending a key is not granting: whoever manages keys may end any of their organization.
 */
const GRANTABLE: Readonly<Record<User['role'], GrantAuthority['scopes'] | null>> = {
  admin: 'all',
  analyst: ['threats:*', 'interactions:*', 'decoys:*', 'canaries:*', 'reports:*'],
  viewer: null,
};

function authorityOf({ role, email }: User, entityUuid: string): GrantAuthority | null {
  const scopes = GRANTABLE[role];
  if (scopes === null) return null;
  return { entityUuid, scopes, actor: email };
}

/** A user as they are now; `null` once they are deleted. */
export function findMember(
  { domain }: Pick<Platform, 'domain'>,
  entityUuid: string,
  userId: string,
): Member | null {
  const user = domain.readUser(entityUuid, userId);
  if (user === null) return null;
  return { user, entityUuid, authority: authorityOf(user, entityUuid) };
}

/** An admin of the demo's organization, of however many users. */
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

/** Signs in an admin of the demo's organization, by a link. */
export function createDemoLink(platform: Platform): Link {
  const admin = findAdmin(platform);
  return createLink(platform, () => findMember(platform, ENTITY, admin?.id ?? ''));
}

/** The platform, as the console wants it. */
export function serviceOf(platform: Platform, signIn: SignIn): ConsoleService {
  const { keyring, publicUrl, now } = platform;
  return { keyring, catalog, signIn, publicUrl, now, report: reportError };
}

/** The whole platform: the console, REST and MCP. */
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
  'Console: nobody can sign in, because the organization has no admin. Start afresh.\n';

function trySignIn(link: string): string {
  return `Console: open this link, then Settings, Configuration, API Keys. The link works once,
within 15 minutes; for another, start the demo again.

  ${link}
`;
}

/**
 * Starts it, says how to call it and how to sign in, and stays up.
 *
 * @param folder As `run` takes it.
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

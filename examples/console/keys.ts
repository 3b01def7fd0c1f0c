/** The pages where keys are listed, made, shown once, replaced and revoked. */
import { randomUUID } from 'node:crypto';
import type { Hono } from 'hono';
import type { Authority, IssuedKey, ListPage } from 'keyscope';
import { isAccessError } from 'keyscope';
import { issueInputSchemaFor } from 'keyscope/schemas';
import { catalog } from '../platform/service/catalog.ts';
import { keyPage, OVERLAPS } from './pages/key.ts';
import { keyListPage } from './pages/key-list.ts';
import type { NewKey } from './pages/new-key.ts';
import { LIFETIMES, NOTHING_ENTERED, newKeyPage, shownOncePage } from './pages/new-key.ts';
import { BASE, KEYS } from './paths.ts';
import type { ConsoleService, Env, Visit } from './visit.ts';
import { field, Refused } from './visit.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** How long a scope must be unused for `advise` to name it. */
const UNUSED_MS = 90 * DAY_MS;
const PAGE_SIZE = 50;

type Answer = Response | Promise<Response>;

/** On whose behalf: the session decides, and nothing that a form says. */
function requireAuthority(c: Visit): Authority {
  const { authority } = c.var.member;
  if (authority === null)
    throw new Refused(403, 'Your role looks at keys, and makes and ends none.');
  return authority;
}

// ── Forms that make one key ─────────────────────────────────────────────────────────────────────

function openForm(c: Visit): string {
  const once = randomUUID();
  c.var.session.forms.set(once, true);
  return once;
}

function closeForm(c: Visit): void {
  const wasOpen = c.var.session.forms.delete(field(c, 'once'));
  if (wasOpen) return;
  const words = 'This form was sent before, or is too old.';
  throw new Refused(409, `${words} If it made a key that you did not see, revoke it.`);
}

function showOnce(c: Visit, { key, info }: IssuedKey, { publicUrl }: ConsoleService): Answer {
  return c.html(shownOncePage(c.var.member, key, info, `${publicUrl}/v1`), 201);
}

// ── The list ────────────────────────────────────────────────────────────────────────────────────

async function readPage(c: Visit, { keyring }: ConsoleService): Promise<ListPage> {
  const { entityUuid } = c.var.member;
  const after = c.req.query('after');
  try {
    return await keyring.list({ after, limit: PAGE_SIZE }, { entityUuid });
  } catch (error) {
    if (error instanceof TypeError && after !== undefined)
      throw new Refused(400, 'This is no page of the list.');
    throw error;
  }
}

async function showList(c: Visit, service: ConsoleService): Promise<Response> {
  const { keys, next } = await readPage(c, service);
  return c.html(keyListPage(c.var.member, keys, next, service.now()));
}

// ── A new key ───────────────────────────────────────────────────────────────────────────────────

function showForm(c: Visit, input: NewKey, error: string | null): Answer {
  const offered = catalog.expand(requireAuthority(c).scopes ?? ['*:*']);
  const form = { offered, once: openForm(c), input, error };
  return c.html(newKeyPage(c.var.member, form), error === null ? 200 : 400);
}

function readNewKey(c: Visit): NewKey {
  return {
    name: field(c, 'name').trim(),
    scopes: c.var.form.getAll('scopes'),
    lifetime: field(c, 'lifetime'),
    justification: field(c, 'justification').trim(),
  };
}

/** As the schema takes it; a lifetime that nobody offered ends at once, which that refuses. */
function expiryOf(lifetime: string, now: number): string {
  if (lifetime === 'never') return lifetime;
  const days = Object.hasOwn(LIFETIMES, lifetime) ? Number(lifetime) : 0;
  return new Date(now + days * DAY_MS).toISOString();
}

function serveNewKey(app: Hono<Env>, path: string, service: ConsoleService): void {
  const { keyring, now } = service;
  const schema = issueInputSchemaFor(catalog, { now });

  app.get(`${path}/new`, (c) => showForm(c, NOTHING_ENTERED, null));

  app.post(path, async (c) => {
    const authority = requireAuthority(c);
    const entered = readNewKey(c);
    const { name, scopes, lifetime, justification } = entered;
    closeForm(c);
    const read = schema.safeParse({
      name,
      scopes,
      expiresAt: expiryOf(lifetime, now()),
      ...(justification !== '' && { justification }),
    });
    if (read.success) return showOnce(c, await keyring.issue(read.data, authority), service);
    const error = read.error.issues.map(({ message }) => message).join('; ');
    return showForm(c, entered, error);
  });
}

// ── One key ─────────────────────────────────────────────────────────────────────────────────────

async function showKey(c: Visit, id: string, service: ConsoleService): Promise<Response> {
  const { keyring, now } = service;
  const { entityUuid, authority } = c.var.member;
  // First, because it writes the usage that this process has noted.
  const advice = await keyring.advise(id, { unusedForMs: UNUSED_MS }, { entityUuid });
  const key = await keyring.get(id, { entityUuid });
  if (key === null) throw new Refused(404, 'There is no such key.');
  const once = authority === null ? '' : openForm(c);
  return c.html(keyPage(c.var.member, { key, unused: advice.unusedScopes, once, now: now() }));
}

async function rotate(
  id: string,
  overlapMs: number,
  authority: Authority,
  { keyring }: ConsoleService,
): Promise<IssuedKey> {
  try {
    return await keyring.rotate(id, { overlapMs }, authority);
  } catch (error) {
    // For programs, a denial of their credential; here, the key on the page has changed.
    if (isAccessError(error) && error.code === 'invalid_token')
      throw new Refused(409, 'This key has ended, or its record is damaged: make a new one.');
    throw error;
  }
}

async function changeKey(c: Visit, id: string, service: ConsoleService): Promise<Response> {
  const authority = requireAuthority(c);
  const action = field(c, 'action');
  if (action === 'revoke') {
    await service.keyring.revoke(id, authority);
    return c.redirect(`${KEYS}/${id}`, 303);
  }
  const overlap = field(c, 'overlap');
  if (action !== 'rotate' || !Object.hasOwn(OVERLAPS, overlap))
    throw new Refused(400, 'The form asks for what nobody offered.');
  closeForm(c);
  const next = await rotate(id, Number(overlap) * HOUR_MS, authority, service);
  return showOnce(c, next, service);
}

/** Serves them all; the sign-in is to be served before. */
export function serveKeys(app: Hono<Env>, service: ConsoleService): void {
  const path = KEYS.slice(BASE.length);
  app.get(path, (c) => showList(c, service));
  serveNewKey(app, path, service);
  app.get(`${path}/:id`, (c) => showKey(c, c.req.param('id'), service));
  app.post(`${path}/:id`, (c) => changeKey(c, c.req.param('id'), service));
}

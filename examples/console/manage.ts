/** One key: what it is, and how it is replaced, suspended and ended. */
import type { Hono } from 'hono';
import type { DamagedKey, GrantAuthority, IssuedKey, KeyInfo } from 'keyscope';
import { isAccessError } from 'keyscope';
import { unusedScopes } from 'keyscope/reports';
import {
  closeForm,
  leadToNewKey,
  openForm,
  orRefused,
  requireAuthority,
  requireAuthorityWithReason,
} from './forms.ts';
import { damagedKeyPage, keyPage } from './pages/key.ts';
import { OVERLAPS } from './pages/manage-key.ts';
import { KEYS } from './paths.ts';
import type { ConsoleService } from './service.ts';
import type { Answer, Env, Visit } from './visit.ts';
import { field, Refused } from './visit.ts';

const HOUR_MS = 3_600_000;
/** How long a scope must be unused to be named. */
const UNUSED_MS = 90 * 24 * HOUR_MS;

async function readKey(
  c: Visit,
  id: string,
  { keyring }: ConsoleService,
): Promise<KeyInfo | DamagedKey> {
  const { entityUuid } = c.var.member;
  // What this process has noted; if it cannot be written, the page shows what is known.
  await keyring.flush().catch(() => {});
  const key = await keyring.get(id, { entityUuid });
  if (key === null) throw new Refused(404, 'There is no such key.');
  return key;
}

async function showKey(c: Visit, id: string, service: ConsoleService): Promise<Response> {
  const key = await readKey(c, id, service);
  if (!('name' in key)) return c.html(damagedKeyPage(c.var.member, key));
  const once = c.var.member.authority === null ? '' : openForm(c);
  const { catalog, now } = service;
  const unused = unusedScopes(key, { unusedForMs: UNUSED_MS, now });
  const scopes = unused.known ? unused.scopes : [];
  return c.html(keyPage(c.var.member, { catalog, key, unused: scopes, once, now: now() }));
}

/** The scopes that are kept, if the form offered to leave some out. */
function keptScopes(c: Visit): readonly string[] | undefined {
  return field(c, 'narrow') === '' ? undefined : c.var.form.getAll('scopes');
}

async function rotate(
  c: Visit,
  id: string,
  authority: GrantAuthority,
  { keyring }: ConsoleService,
): Promise<IssuedKey> {
  const overlap = field(c, 'overlap');
  if (!Object.hasOwn(OVERLAPS, overlap))
    throw new Refused(400, 'The form asks for what nobody offered.');
  closeForm(c);
  const input = { overlapMs: Number(overlap) * HOUR_MS, scopes: keptScopes(c) };
  try {
    return await orRefused(keyring.rotate(id, input, authority));
  } catch (error) {
    // For programs, a denial of their credential; here, the key on the page has changed.
    if (isAccessError(error) && error.code === 'invalid_token')
      throw new Refused(409, 'This key has ended, or its record is damaged: make a new one.');
    throw error;
  }
}

type Action = (id: string, authority: GrantAuthority, service: ConsoleService) => Promise<unknown>;

/** What a form may ask for, besides a rotation. */
const ACTIONS: ReadonlyMap<string, Action> = new Map<string, Action>([
  ['revoke', (id, authority, { keyring }) => keyring.revoke(id, authority)],
  ['revoke-lineage', (id, authority, { keyring }) => keyring.revokeLineage(id, authority)],
  ['suspend', (id, authority, { keyring }) => keyring.suspend(id, authority)],
  ['resume', (id, authority, { keyring }) => keyring.resume(id, authority)],
]);

async function changeKey(c: Visit, id: string, service: ConsoleService): Promise<Response> {
  const asked = field(c, 'action');
  if (asked === 'rotate') {
    const issued = await rotate(c, id, requireAuthority(c), service);
    return leadToNewKey(c, issued);
  }
  const authority = requireAuthorityWithReason(c);
  const action = ACTIONS.get(asked);
  if (action === undefined) throw new Refused(400, 'The form asks for what nobody offered.');
  await orRefused(action(id, authority, service));
  return c.redirect(`${KEYS}/${id}`, 303);
}

export function serveOneKey(app: Hono<Env>, path: string, service: ConsoleService): void {
  app.get(`${path}/:id`, (c): Answer => showKey(c, c.req.param('id'), service));
  app.post(`${path}/:id`, (c): Answer => changeKey(c, c.req.param('id'), service));
}

/** One key: its page, and the forms that rotate, suspend, resume and revoke it. */
import type { Hono } from 'hono';
import type { DamagedKey, GrantAuthority, KeyInfo } from 'keyscope';
import { unusedScopes } from 'keyscope/reports';
import {
  expiryOf,
  leadTo,
  orRefused,
  requireAuthority,
  requireAuthorityWithReason,
  ruleFor,
  showOnce,
  takeNotice,
} from './forms.ts';
import { damagedKeyPage, keyPage } from './pages/key.ts';
import { ROTATED } from './pages/manage-key.ts';
import { KEYS } from './paths.ts';
import type { ConsoleService } from './service.ts';
import type { Answer, Env, Visit } from './visit.ts';
import { field, Refused } from './visit.ts';

const HOUR_MS = 3_600_000;
/** The page points out scopes that have been unused for this long. */
const UNUSED_MS = 90 * 24 * HOUR_MS;
/** The page looks for the successor of a key among this many of the newest keys. */
const MOST_SEARCHED = 1000;

async function readKey(
  c: Visit,
  id: string,
  { keyring }: ConsoleService,
): Promise<KeyInfo | DamagedKey> {
  const { entityId } = c.var.member;
  // Writes the last uses that are still in memory. If that fails, the page shows older ones.
  await keyring.flush().catch(() => {});
  const key = await orRefused(keyring.get(id, { entityId }));
  if (key === null) throw new Refused(404, 'Your organization has no key with this id.');
  return key;
}

type Found = KeyInfo | DamagedKey | null;

/** The key that this one was rotated from; `null` if it was not, or if that key was purged. */
async function readPredecessor(key: KeyInfo, { keyring }: ConsoleService): Promise<Found> {
  const { rotatedFrom, entityId } = key;
  return rotatedFrom === null ? null : keyring.get(rotatedFrom, { entityId });
}

/** The key that this one was rotated to; `null` if it was not, or if that key is not found. */
async function findSuccessor(
  { keyId, entityId, retireAt }: KeyInfo,
  { keyring }: ConsoleService,
): Promise<KeyInfo | null> {
  if (retireAt === null) return null;
  const { keys } = await keyring.list({ limit: MOST_SEARCHED }, { entityId });
  const isSuccessor = (one: Found): one is KeyInfo =>
    one !== null && 'name' in one && one.rotatedFrom === keyId;
  return keys.find(isSuccessor) ?? null;
}

async function showKey(c: Visit, id: string, service: ConsoleService): Promise<Response> {
  const key = await readKey(c, id, service);
  const { member } = c.var;
  const notice = await takeNotice(c);
  if (!('name' in key)) return c.html(damagedKeyPage(member, key, notice));
  const { keyring, nameOf, now } = service;
  const unused = unusedScopes(key, { unusedForMs: UNUSED_MS, now });
  const details = {
    catalog: keyring.catalog,
    key,
    predecessor: await readPredecessor(key, service),
    successor: await findSuccessor(key, service),
    unused: unused.known ? unused.scopes : [],
    notice,
    nameOf,
    now: now(),
  };
  return c.html(keyPage(member, details));
}

/** The scopes that the new key keeps; `undefined` for all, where the form offered no choice. */
function keptScopes(c: Visit): readonly string[] | undefined {
  if (field(c, 'narrow') === '') return undefined;
  const scopes = c.var.form.getAll('scopes');
  if (scopes.length === 0) throw new Refused(400, 'Select at least one scope for the new key.');
  return scopes;
}

/** The expiry of the new key; `undefined` for that of the old one. */
function newExpiry(c: Visit, now: number): Date | 'never' | undefined {
  const lifetime = field(c, 'lifetime');
  return lifetime === '' ? undefined : expiryOf(lifetime, now);
}

async function rotate(c: Visit, id: string, service: ConsoleService): Promise<Response> {
  const { keyring, now } = service;
  const authority = requireAuthority(c);
  const overlap = field(c, 'overlap');
  const oldKey = ROTATED.get(overlap);
  if (oldKey === undefined) throw new Refused(400, ruleFor('overlap'));
  const overlapMs = Number(overlap) * HOUR_MS;
  const input = { overlapMs, scopes: keptScopes(c), expiresAt: newExpiry(c, now()) };
  const issued = await orRefused(keyring.rotate(id, input, authority));
  return showOnce(c, issued, `Key rotated. ${oldKey}`, service);
}

/** Changes a key, and resolves to the notice about it. */
type Action = (
  keyring: ConsoleService['keyring'],
  id: string,
  authority: GrantAuthority,
) => Promise<string>;

/** The actions of the forms, except the rotation. */
const ACTIONS: ReadonlyMap<string, Action> = new Map<string, Action>([
  [
    'revoke',
    async (keyring, id, authority) => {
      await keyring.revoke(id, authority);
      return 'Key revoked. It cannot be used again.';
    },
  ],
  [
    'revoke-lineage',
    async (keyring, id, authority) => {
      const { length } = await keyring.revokeLineage(id, authority);
      return `Keys revoked: ${length}. This key and all related keys have ended.`;
    },
  ],
  [
    'suspend',
    async (keyring, id, authority) => {
      await keyring.suspend(id, authority);
      return 'Key suspended. Requests with it are refused until you resume it.';
    },
  ],
  [
    'resume',
    async (keyring, id, authority) => {
      await keyring.resume(id, authority);
      return 'Key resumed.';
    },
  ],
]);

async function changeKey(c: Visit, id: string, service: ConsoleService): Promise<Response> {
  const asked = field(c, 'action');
  if (asked === 'rotate') return rotate(c, id, service);
  const authority = requireAuthorityWithReason(c);
  const action = ACTIONS.get(asked);
  if (action === undefined) throw new Refused(400, ruleFor('action'));
  const notice = await orRefused(action(service.keyring, id, authority));
  return leadTo(c, `${KEYS}/${id}`, notice, service);
}

export function serveOneKey(app: Hono<Env>, path: string, service: ConsoleService): void {
  app.get(`${path}/:id`, (c): Answer => showKey(c, c.req.param('id'), service));
  app.post(`${path}/:id`, (c): Answer => changeKey(c, c.req.param('id'), service));
}

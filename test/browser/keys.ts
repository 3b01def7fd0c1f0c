/** The keys on the screenshots: every state, like those of an organization after a year. */
import { DatabaseSync } from 'node:sqlite';
import type { IssuedKey } from 'keyscope';
import type { Platform } from '../../examples/platform/host/boot.ts';
import { ENTITY, OTHER_ENTITY } from '../../examples/platform/host/boot.ts';
import { dropSafeguards } from '../support/sqlite-databases.ts';

const DAY_MS = 24 * 3_600_000;
/** The time on the screenshots. It is fixed, so that new pictures show the same times. */
export const TODAY: number = Date.UTC(2026, 2, 2, 9, 30);

const ANA = { entityId: ENTITY, scopes: 'all', actor: 'ana@example.com' } as const;
const BEN = { entityId: ENTITY, scopes: 'all', actor: 'ben@example.com' } as const;
const OTHERS = { entityId: OTHER_ENTITY, entities: [ENTITY], scopes: 'all' } as const;

/** A platform during a year. */
export interface Year {
  readonly platform: Platform;
  /** The origin of its server. */
  readonly origin: string;
  /** Milliseconds since the epoch, for the whole platform. */
  readonly clock: { at: number };
}

type Input = Parameters<Platform['keyring']['issue']>[0];
type Made = Omit<Input, 'expiresAt'> & { readonly days: number | 'never' };

function daysAgo({ clock }: Year, days: number): void {
  clock.at = TODAY - days * DAY_MS;
}

function make({ platform, clock }: Year, { days, ...rest }: Made): Promise<IssuedKey> {
  const expiresAt = days === 'never' ? days : new Date(clock.at + days * DAY_MS);
  const isOurs = rest.accessibleEntities === undefined;
  return platform.keyring.issue({ ...rest, expiresAt }, isOurs ? ANA : OTHERS);
}

/** Uses a key, so that the list shows when it was last used. */
async function use({ platform, origin }: Year, { key }: IssuedKey, ...paths: string[]) {
  const headers = { Authorization: `Bearer ${key}` };
  for (const path of paths) {
    const { status } = await fetch(`${origin}/v1/${path}`, { headers });
    if (status !== 200) throw new Error(`GET /${path} answered ${status}`);
  }
  await platform.keyring.flush();
}

/**
 * Edits two rows in the database, like an attacker with write access: one no longer matches its
 * seal, and the other cannot be read.
 */
function damage({ platform }: Year, widened: IssuedKey, unreadable: IssuedKey): void {
  const db = new DatabaseSync(platform.file);
  dropSafeguards(db);
  const edit = db.prepare('UPDATE keyscope_keys SET scopes = ? WHERE key_id = ?');
  edit.run('["canaries:read","canaries:write"]', widened.info.keyId);
  edit.run('{', unreadable.info.keyId);
  db.close();
}

async function makeOthers(year: Year): Promise<void> {
  const to = { days: 'never', accessibleEntities: [ENTITY] } as const;
  daysAgo(year, 90);
  const audit = await make(year, { ...to, name: 'Audit of 2025', scopes: ['reports:read'] });
  daysAgo(year, 50);
  await make(year, { ...to, name: 'Threat feed of the group', scopes: ['threats:read'] });
  daysAgo(year, 10);
  const scopes = ['threats:read', 'threats:write', 'interactions:read', 'decoys:read'] as const;
  await make(year, { ...to, days: 30, name: 'Night shift of the SOC', scopes });
  await year.platform.keyring.withdraw(audit.info.keyId, ANA);
}

/** Lets the year pass. It ends today, and the clock stops. */
export async function makeKeys(year: Year): Promise<void> {
  const { keyring } = year.platform;
  daysAgo(year, 395);
  const tickets = { name: 'Ticket sync', days: 365, scopes: ['threats:*'] } as const;
  await use(year, await make(year, tickets), 'threats');
  daysAgo(year, 300);
  const reads = ['threats:read', 'interactions:read', 'decoys:read', 'reports:read'] as const;
  const board = await make(year, { name: 'SOC dashboard', days: 'never', scopes: reads });
  await use(year, board, 'decoys');
  daysAgo(year, 210);
  const decoys = ['decoys:read', 'decoys:update'] as const;
  const rollOut = await make(year, { name: 'Decoy roll-out', days: 'never', scopes: decoys });
  daysAgo(year, 120);
  const leavers = await make(year, {
    name: 'Offboarding',
    days: 'never',
    scopes: ['users:read', 'users:delete'],
    justification: 'Deletes the users of people who leave, nightly.',
  });
  daysAgo(year, 83);
  const siem = { name: 'Nightly SIEM export', days: 90, scopes: reads.slice(0, 2) };
  const exported = await make(year, siem);
  daysAgo(year, 60);
  const portal = { name: 'Partner portal', days: 'never', scopes: ['canaries:read'] } as const;
  const suspended = await make(year, portal);
  await makeOthers(year);
  daysAgo(year, 40);
  const monthly = { name: 'Board report', days: 365, scopes: ['reports:read'] } as const;
  const report = await make(year, monthly);
  daysAgo(year, 30);
  const canaries = { name: 'Canary watch', days: 90, scopes: ['canaries:read'] } as const;
  const widened = await make(year, canaries);
  daysAgo(year, 25);
  const unreadable = await make(year, { ...canaries, name: 'Canary log' });
  daysAgo(year, 20);
  await keyring.revoke(rollOut.info.keyId, { ...ANA, reason: 'found in a build log' });
  daysAgo(year, 1);
  await keyring.suspend(suspended.info.keyId, { ...BEN, reason: 'calls from a strange network' });
  daysAgo(year, 0.2);
  await keyring.rotate(report.info.keyId, { overlapMs: DAY_MS }, ANA);
  await use(year, leavers, 'users');
  daysAgo(year, 0);
  await use(year, exported, 'threats', 'interactions');
  await use(year, board, 'threats', 'interactions');
  damage(year, widened, unreadable);
}

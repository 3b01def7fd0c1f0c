/** The audit trail: events alone tell the whole life of a key, including failed attempts. */
import { createKeyring, type KeyringEvent } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  bearer,
  HOUR,
  OTHER,
  OWN,
  PEPPER,
  policy,
  START,
  stoppedClock,
  THIRD,
} from '../support/keyring.ts';
import { outcome } from '../support/outcome.ts';
import { trailOf } from '../support/trail.ts';

/** A service whose clock advances by an hour before each act. */
function service() {
  const clock = stoppedClock();
  const events: KeyringEvent[] = [];
  const keyring = createKeyring({
    prefix: 'acme',
    policy,
    store: memoryStore(),
    peppers: [PEPPER],
    maxLifetimeMs: 1_000 * HOUR,
    now: clock.now,
    onEvent: (event) => events.push(event),
  });
  /** Performs an act and ignores its result. */
  async function next(act: () => Promise<unknown>): Promise<string> {
    clock.advance(HOUR);
    return outcome(act);
  }
  return { keyring, clock, events, next };
}

type Service = ReturnType<typeof service>;

const everything = { entityId: OWN, entities: [OTHER], scopes: 'all' } as const;
const ada = { ...everything, actor: 'ada', reason: 'ticket 1' };
const bob = { ...everything, actor: 'bob', reason: 'least privilege' };
const intern = { ...everything, scopes: ['decoys:read'], actor: 'intern', reason: 'let me' };
const mallory = { entityId: THIRD, scopes: 'all', actor: 'mallory' } as const;
const zoe = { entityId: OTHER, actor: 'zoe', reason: 'contract ended' };
const guard = { entityId: OWN, actor: 'guard', reason: 'odd traffic' };
const eve = { entityId: OWN, actor: 'eve', reason: 'found on GitHub' };

/** Issues a key and takes it through its whole life. */
async function live({ keyring, clock, next }: Service) {
  const expiresAt = new Date(START + 900 * HOUR);
  const first = await keyring.issue(
    {
      name: 'export',
      scopes: ['threats:read', 'threats:write', 'users:read'],
      accessibleEntities: [OTHER],
      justification: 'nightly export',
      expiresAt,
    },
    ada,
  );
  const { keyId } = first.info;
  await next(() => keyring.admit(bearer(first.key), { operation: 'triage' }));
  await next(() => keyring.rotate(keyId, { overlapMs: 0, expiresAt: 'never' }, ada));
  await next(() => keyring.rotate(keyId, { overlapMs: 0 }, intern));
  await next(() => keyring.rotate(keyId, { overlapMs: 0, scopes: ['users:delete'] }, ada));
  await next(() => keyring.get(keyId, mallory));
  await next(() => keyring.revoke(keyId, mallory));
  await next(() => keyring.issue({ name: 'x', scopes: ['*:update'], expiresAt: 'never' }, intern));

  clock.advance(HOUR);
  const scopes = ['threats:read', 'users:read'] as const;
  const second = await keyring.rotate(keyId, { overlapMs: 20 * HOUR, scopes }, bob);
  await next(() => keyring.withdraw(second.info.keyId, zoe));
  await next(() => keyring.withdraw(second.info.keyId, zoe));
  await next(() => keyring.suspend(second.info.keyId, guard));
  await next(() => keyring.admit(bearer(second.key), { operation: 'list' }));
  await next(() => keyring.rotate(second.info.keyId, { overlapMs: 0 }, bob));
  await next(() => keyring.resume(second.info.keyId, { ...guard, reason: 'all clear' }));
  await next(() => keyring.admit(bearer(second.key), { operation: 'list' }));

  await next(() => keyring.identify(second.key, { actor: 'eve', reason: 'found it' }));
  await next(() => keyring.revokeLineage(second.info.keyId, eve));
  await next(() => keyring.revokeLineage(second.info.keyId, eve));
  await next(() => keyring.suspend(second.info.keyId, guard));
  await next(() => keyring.resume(keyId, guard));
  await next(() => keyring.admit(bearer(second.key), { operation: 'list' }));
  return { first: keyId, second: second.info.keyId };
}

describe('the events of one key’s life', () => {
  it('say who did or tried what, when, why, and with what result', async () => {
    const given = service();
    const { first, second } = await live(given);
    const names = new Map([
      [first, 'first'],
      [second, 'second'],
      [OWN, 'own'],
      [OTHER, 'other'],
      [THIRD, 'third'],
    ]);
    const SECOND = 'second of own |';
    const DENIED = 'management.denied';
    expect(trailOf(given.events, START, names)).toEqual([
      '+0h | ada: ticket 1 | key.issued first of own | ' +
        'threats:read threats:write users:read for own other',
      '+1h | a request | access.granted first of own | triage',

      `+2h | ada: ticket 1 | ${DENIED} first of own | ` +
        'rotate ceiling_exceeded lifetime_beyond_authority expiresAt',
      `+3h | intern: let me | ${DENIED} first of own | ` +
        'rotate ceiling_exceeded scopes_beyond_authority threats:read threats:write users:read',
      `+4h | ada: ticket 1 | ${DENIED} first of own | ` +
        'rotate ceiling_exceeded scopes_beyond_predecessor users:delete',
      `+5h | mallory | ${DENIED} first of third | get not_found foreign_key`,
      `+6h | mallory | ${DENIED} first of third | revoke not_found foreign_key`,
      `+7h | intern: let me | ${DENIED} - of own | ` +
        'issue ceiling_exceeded scopes_beyond_authority decoys:update expiresAt',

      '+8h | bob: least privilege | key.rotated second of own | ' +
        'from first: threats:read users:read for own other',
      '+9h | zoe: contract ended | key.withdrawn second of own | without other',
      '+9h | zoe: contract ended | key.withdrawn first of own | without other',
      // Already withdrawn: no event at +10h.
      `+11h | guard: odd traffic | key.suspended ${SECOND} `,
      '+12h | a request | access.denied second of - | list invalid_token suspended',
      `+13h | bob: least privilege | ${DENIED} ${SECOND} rotate conflict suspended`,
      `+14h | guard: all clear | key.resumed ${SECOND} `,
      `+15h | a request | access.granted ${SECOND} list`,

      `+16h | eve: found it | key.identified ${SECOND} `,
      '+17h | eve: found on GitHub | key.revoked first of own | ',
      `+17h | eve: found on GitHub | key.revoked ${SECOND} `,
      // Already revoked: no event at +18h.
      `+19h | guard: odd traffic | ${DENIED} ${SECOND} suspend conflict already_ended`,
      `+20h | guard: odd traffic | ${DENIED} first of own | resume conflict already_ended`,
      '+21h | a request | access.denied second of - | list invalid_token revoked',
    ]);
  });

  it('agree with the final records', async () => {
    const given = service();
    const { first, second } = await live(given);
    const words = { endedBy: 'eve', endReason: 'found on GitHub', state: 'revoked' };
    const revokedAt = new Date(START + 17 * HOUR);
    expect(await given.keyring.get(first, eve)).toMatchObject({
      ...words,
      revokedAt,
      createdBy: 'ada',
      tampered: false,
    });
    expect(await given.keyring.get(second, eve)).toMatchObject({
      ...words,
      revokedAt,
      createdBy: 'bob',
      rotatedFrom: first,
      withdrawn: [OTHER],
      tampered: false,
    });
  });
});

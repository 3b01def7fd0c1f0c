/** Tests that an adapter checks the scope of the operation and the addressed entity. */
import type { AccessError } from '../../core/errors.js';
import type { AdapterFixture } from './contract-client.js';
import {
  MALFORMED_ENTITY,
  MALFORMED_ID,
  NOT_ACCESSIBLE,
  REPEATED_ENTITY,
  UNDER_SCOPED,
} from './denials.js';
import { bearer } from './http-exchange.js';
import { assertDenied, assertLetIn } from './request-assertions.js';
import { FOREIGN, OTHER, OWN } from './service.js';

/**
 * Sends keys that lack the scope of the operation. The adapter must answer 403 with a challenge
 * that names the scope.
 *
 * Catches: a guard that does not authorize or uses another operation; 401 instead of 403.
 */
export async function deniesWithoutScope(fixture: AdapterFixture): Promise<void> {
  const none = await fixture.issue([]);
  const write = await fixture.issue(['reports:write']);
  await assertDenied(fixture, UNDER_SCOPED, {
    what: 'a key without scopes',
    path: '/reports',
    lines: [bearer(none.key)],
  });
  await assertDenied(fixture, UNDER_SCOPED, {
    what: 'a key with another scope',
    path: '/reports',
    lines: [bearer(write.key)],
  });
  await assertDenied(fixture, UNDER_SCOPED, {
    what: 'a key with another scope, on an entity that it can address',
    path: `/reports?entity=${OTHER}`,
    lines: [bearer(write.key)],
  });
}

/**
 * Addresses the key's own entity, another one that it can address, and none. The handler must get
 * the entity that the guard checked.
 *
 * Catches: not calling the entity reader, and passing on the key's own entity instead of the
 * checked one.
 */
export async function handsOnTheEntity(fixture: AdapterFixture): Promise<void> {
  const { key, keyId } = await fixture.issue(['reports:read']);
  const lines = [bearer(key)];
  const ask = (path: string, entityId: string, what: string) =>
    assertLetIn(fixture, { keyId, entityId }, { what, path, lines });
  await ask('/reports', OWN, 'no entity');
  await ask(`/reports?entity=${OTHER}`, OTHER, 'another entity that the key can address');
  await ask(`/reports?entity=${OWN}`, OWN, "the key's own entity");
  await ask('/reports', OWN, 'no entity, after another was addressed');
  const elsewhere = await fixture.issue(['reports:read'], OTHER);
  const otherCaller = { keyId: elsewhere.keyId, entityId: OTHER };
  await assertLetIn(fixture, otherCaller, {
    what: "another entity's key",
    path: '/reports',
    lines: [bearer(elsewhere.key)],
  });
}

/**
 * Addresses entities whose ids are not UUIDs. The handler must get each id unchanged; an id that
 * differs in case, and a value that is not an id, are denied.
 *
 * Catches: folding, trimming, or reading a value as a number, as JSON or as a path.
 */
export async function handsOnAnyId(fixture: AdapterFixture): Promise<void> {
  for (const entityId of IDS) {
    const { key, keyId } = await fixture.issue(['reports:read'], entityId);
    const path = `/reports?entity=${encodeURIComponent(entityId)}`;
    const request = { what: `the id ${entityId}`, path, lines: [bearer(key)] };
    await assertLetIn(fixture, { keyId, entityId }, request);
  }
  const { key } = await fixture.issue(['reports:read'], 'org_2abc');
  const lines = [bearer(key)];
  const deny = (value: string, error: AccessError) =>
    assertDenied(fixture, error, { what: value, path: `/reports?entity=${value}`, lines });
  await deny('ORG_2ABC', NOT_ACCESSIBLE);
  for (const value of ['', '..', 'org_2abc%20', 'org_2abc,a']) {
    await deny(value, MALFORMED_ID);
  }
}

/** Ids that a parser may fold, trim, or read as something other than a text. */
const IDS = ['org_2abc', 'ORG_2aBc', '7', '07', 'null', 'true', '__proto__', 'a:b', '-x', '~|@.'];

/**
 * Addresses an entity that the key cannot address or can no longer address, several entities at
 * once, and values that are not entities. No handler may run: an adapter that picks one value or
 * repairs one may check a different entity than the handler uses.
 *
 * Catches: using the first or last of several values; joining, trimming or folding values; treating
 * an empty value as absent; caching which entities a key can address.
 */
export async function deniesOtherEntities(fixture: AdapterFixture): Promise<void> {
  const { key, keyId } = await fixture.issue(['reports:read']);
  const lines = [bearer(key)];
  const deny = (query: string, error: AccessError) => {
    const path = `/reports?${query}`;
    return assertDenied(fixture, error, { what: `GET ${path}`, path, lines });
  };
  await deny(`entity=${FOREIGN}`, NOT_ACCESSIBLE);
  for (const query of REPEATED_ENTITIES) {
    await deny(query, REPEATED_ENTITY);
  }
  await deny(`${MANY_PARAMETERS}entity=x`, MALFORMED_ENTITY);
  for (const value of MALFORMED_ENTITIES) {
    await deny(`entity=${value}`, MALFORMED_ENTITY);
  }
  // Lets the key in once, so that a caching adapter remembers it.
  await fixture.send('GET', `/reports?entity=${OTHER}`, ...lines);
  await fixture.ring.withdraw(keyId, { entityId: OTHER });
  await deny(`entity=${OTHER}`, NOT_ACCESSIBLE);
}

/** Some parsers stop after 1,000 parameters and ignore the rest. */
const MANY_PARAMETERS = 'a&'.repeat(1000);

/** Queries with more than one entity, some of them hidden. */
const REPEATED_ENTITIES = [
  `entity=${OWN}&entity=${OTHER}`,
  `entity=${OTHER}&entity=${OWN}`,
  `entity=${OWN}&entity=${OWN}`,
  `entity=${OWN}&entity=${FOREIGN}`,
  `entity=${OWN}&entity=`,
  `entity=&entity=${OWN}`,
  `entity=${OWN}&${MANY_PARAMETERS}entity=${OTHER}`,
];

/** Values that are not a lower-case UUID, but that a lax reader may turn into one, or ignore. */
const MALFORMED_ENTITIES = [
  '',
  OWN.toUpperCase(),
  `${OWN}%20`,
  `${OWN},${OTHER}`,
  'null',
  'undefined',
  '1',
  '*',
  `{${OWN}}`,
];

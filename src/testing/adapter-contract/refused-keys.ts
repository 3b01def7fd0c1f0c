/** Tests that an adapter answers all refused keys alike. */
import { generateKey } from '../../notation/keys.js';
import { same } from '../assertions.js';
import type { AdapterFixture } from './contract-client.js';
import { INVALID } from './denials.js';
import { type Answer, bearer } from './http-exchange.js';
import { assertDenied } from './request-assertions.js';
import { OTHER, OWN } from './service.js';

/**
 * Sends unknown, revoked, suspended, retired, expired and malformed keys. The answers must be
 * identical, headers included, so that a stranger cannot learn which keys exist. Headers that
 * change when the same request is repeated are not compared.
 *
 * Catches: answers that reveal which keys exist or existed; the reason, the key id or the state in
 * a header.
 */
export async function deniesAllKeysAlike(fixture: AdapterFixture): Promise<void> {
  const refused = await issueRefusedKeys(fixture);
  const ask = (what: string, credential: string) =>
    assertDenied(fixture, INVALID, { what, path: '/reports', lines: [bearer(credential)] });
  const first = await ask('a malformed key', 'x');
  const repeated = await ask('a malformed key', 'x');
  const changing = changingHeaders(first, repeated);
  const expected = withoutHeaders(first, changing);
  const assertAlike = (what: string, answer: Answer) => {
    const message = `${what} must get the same answer as every other refused key`;
    same(withoutHeaders(answer, changing), expected, message);
  };
  assertAlike('the same malformed key, sent again,', repeated);
  for (const [what, credential] of Object.entries(refused)) {
    assertAlike(what, await ask(what, credential));
  }
}

/** One credential per reason to refuse it, by its description. */
async function issueRefusedKeys(
  fixture: AdapterFixture,
): Promise<Readonly<Record<string, string>>> {
  const { ring, clock, issue, watch } = fixture;
  const expired = await issue(['reports:read']);
  clock.now += 1000;
  const revoked = await issue(['reports:read']);
  const retired = await issue(['reports:read']);
  const suspended = await issue(['reports:read']);
  const { key } = await issue([]);
  await ring.revoke(revoked.keyId, { entityId: OWN });
  await ring.suspend(suspended.keyId, { entityId: OWN });
  const authority = { entityId: OWN, entities: [OTHER], scopes: 'all' } as const;
  const successor = await ring.rotate(retired.keyId, { overlapMs: 0 }, authority);
  watch(successor.key);
  return {
    'an unknown key': watch(generateKey({ prefix: 'acme' })),
    'a key of another prefix': watch(generateKey({ prefix: 'else' })),
    'a wrong checksum': key.slice(0, -1) + (key.endsWith('0') ? '1' : '0'),
    'a revoked key': revoked.key,
    'a suspended key': suspended.key,
    'a retired key': retired.key,
    'an expired key': expired.key,
    'a malformed key': `${key}0`,
    'a token of another kind': 'eyJhbGciOiJub25lIn0.e30.',
  };
}

/**
 * The names of headers that change when the same request is repeated, such as a request id or the
 * time.
 */
function changingHeaders(first: Answer, repeated: Answer): ReadonlySet<string> {
  const known = new Set(repeated.headers.map(([name, value]) => `${name}: ${value}`));
  const changed = first.headers.filter(([name, value]) => !known.has(`${name}: ${value}`));
  return new Set(['date', ...changed.map(([name]) => name)]);
}

function withoutHeaders(answer: Answer, names: ReadonlySet<string>): Answer {
  return { ...answer, headers: answer.headers.filter(([name]) => !names.has(name)) };
}

/** Keys in the wrong place: in names, lists, cursors and key ids. No refusal shows them. */
import { generateKey } from 'keyscope';
import { describe, expect, it } from 'vitest';
import { canariesIn, keyCanaries } from '../support/canary.ts';
import {
  AUTHORITY,
  inputError,
  issue,
  PLAIN,
  type Ring,
  setUp,
  thrown,
  untyped,
} from '../support/keyring.ts';
import { CALLS_ON_A_KEY } from '../support/managing.ts';

const secret = generateKey({ prefix: 'acme' });
const canaries = keyCanaries('key', secret);

/** The key in every form in which a field may be passed. */
const FORMS: readonly (readonly [string, unknown])[] = [
  ['unchanged', secret],
  ['with a line break', `${secret}\n`],
  ['with text around it', `my key: ${secret}!`],
  ['as in a header', `Bearer ${secret}`],
  ['quoted', `"${secret}"`],
  ['in a list', [secret]],
  ['in a list in a list', [[secret]]],
  ['in an object', { key: secret }],
  ['as a name of a field', { [secret]: 'value' }],
  ['as a name with a quote', { [`"${secret}`]: 'value' }],
  ['in an error', new Error(secret)],
  ['in a function', Object.assign(() => secret, { key: secret })],
  ['as a symbol', Symbol(secret)],
  ['in a text that is too long', `${secret}${'x'.repeat(1_000)}`],
  ['boxed', Object(secret) as unknown],
];

type Call = (keyring: Ring, value: unknown) => Promise<unknown>;

const issuing =
  (field: string): Call =>
  (keyring, value) =>
    keyring.issue(untyped({ ...PLAIN, [field]: value }), AUTHORITY);

const rotating =
  (field: string): Call =>
  async (keyring, value) => {
    const { info } = await keyring.issue(PLAIN, AUTHORITY);
    return keyring.rotate(info.keyId, untyped({ overlapMs: 0, [field]: value }), AUTHORITY);
  };

const listing =
  (field: string): Call =>
  (keyring, value) =>
    keyring.list(untyped({ [field]: value }), AUTHORITY);

/** By refused field. A call may also accept a form of the key and refuse nothing. */
const FIELDS: readonly (readonly [string, string, Call])[] = [
  ...['name', 'scopes', 'expiresAt', 'accessibleEntities', 'justification', 'metadata'].map(
    (field) => ['issue', field, issuing(field)] as const,
  ),
  ...['overlapMs', 'expiresAt', 'name', 'scopes', 'accessibleEntities', 'justification'].map(
    (field) => ['rotate', field, rotating(field)] as const,
  ),
  ...['after', 'limit', 'addressing'].map((field) => ['list', field, listing(field)] as const),
];

describe('a secret in the wrong place', () => {
  it.each(FIELDS)('is not in the error of %s about %s', async (_name, field, call) => {
    let refusals = 0;
    for (const [how, value] of FORMS) {
      const { keyring, events } = setUp();
      const answer = await call(keyring, value).catch((error: unknown) => error);
      if (!(answer instanceof Error)) continue;
      refusals += 1;
      expect(answer, how).toMatchObject({ name: 'InputError', field });
      expect(canariesIn([answer, answer.stack, events], canaries), how).toEqual([]);
    }
    expect(refusals).toBeGreaterThan(5);
  });

  it.each([
    ['issue', (keyring: Ring, input: unknown) => keyring.issue(untyped(input), AUTHORITY)],
    ['rotate', (keyring: Ring, input: unknown) => keyring.rotate('id', untyped(input), AUTHORITY)],
    ['list', (keyring: Ring, input: unknown) => keyring.list(untyped(input), AUTHORITY)],
  ])(
    'is not in the error of %s about an unknown field or a missing object',
    async (_name, call) => {
      const { keyring, events } = setUp();
      const unknown = { [secret]: 1 };
      const error = await inputError(
        () => call(keyring, unknown),
        'input',
        /unknown field "\[masked\]"/,
      );
      expect(canariesIn([error, error.stack, events], canaries)).toEqual([]);
      for (const [how, value] of FORMS) {
        const refusal = await thrown(() => call(keyring, value));
        expect(refusal, how).toMatchObject({ name: 'InputError', field: 'input' });
        expect(canariesIn([refusal, events], canaries), how).toEqual([]);
      }
    },
  );

  it.each([...CALLS_ON_A_KEY, 'rotate' as const])(
    'is not in the error of %s about a key id',
    async (name) => {
      const { keyring, events } = setUp();
      for (const [how, value] of FORMS) {
        const keyId = untyped<string>(value);
        const answer = await (name === 'rotate'
          ? keyring.rotate(keyId, { overlapMs: 0 }, AUTHORITY)
          : keyring[name](keyId, AUTHORITY)
        ).catch((error: unknown) => error);
        expect(canariesIn([answer, events], canaries), how).toEqual([]);
      }
    },
  );

  it('is not in an error about any field of an authority', async () => {
    const fields = ['reason', 'actor', 'entityId', 'entities', 'scopes', 'maxLifetimeMs', secret];
    for (const field of fields) {
      for (const [how, value] of FORMS) {
        const { keyring } = setUp();
        const authority = untyped<typeof AUTHORITY>({ ...AUTHORITY, [field]: value });
        const answer = await keyring.get('id', authority).catch((error: unknown) => error);
        if (answer instanceof Error) {
          expect(canariesIn([answer, answer.stack], canaries), `${field} ${how}`).toEqual([]);
        }
      }
    }
  });

  // `reason: 'found acme_… in a chat'` was stored on the record and repeated in every event.
  it('is refused in every text that is stored, shown or in an event', async () => {
    const { keyring, events } = setUp();
    const { info } = await keyring.issue(PLAIN, AUTHORITY);
    const told = events.length;
    const of = (field: string) => (text: string) => ({
      issue: () => keyring.issue({ ...PLAIN, [field]: text }, AUTHORITY),
      rotate: () => keyring.rotate(info.keyId, { overlapMs: 0, [field]: text }, AUTHORITY),
    });
    const saying = (field: string) => (text: string) => ({
      revoke: () => keyring.revoke(info.keyId, { ...AUTHORITY, [field]: text }),
    });
    type Calls = Readonly<Record<string, () => Promise<unknown>>>;
    const inputs: Readonly<Record<string, (text: string) => Calls>> = {
      name: of('name'),
      justification: of('justification'),
      reason: saying('reason'),
    };
    // A percent-encoded key was stored, and every reader can decode it.
    const encoded = [secret.replace('_', '%5f'), secret.replace('_', '%255f')];
    for (const text of [
      secret,
      `found ${secret} in a chat`,
      `x${secret}`,
      `${secret}.`,
      ...encoded,
    ]) {
      for (const [field, calls] of Object.entries(inputs)) {
        for (const act of Object.values(calls(text))) {
          await inputError(act, field, /write the id or hint of an API key/);
        }
      }
      await expect(saying('actor')(text).revoke()).rejects.toThrow(TypeError);
    }
    expect(events).toHaveLength(told);
    expect((await keyring.verify((await issue(keyring)).key)).name).toBe(PLAIN.name);
  });

  it('is distinguished from ids and hashes of the same length', async () => {
    const { keyring } = setUp();
    for (const text of [
      'user_0a0a0a0a0000400080000000000000ff',
      'md5_D41D8CD98F00B204E9800998ECF8427E',
      `${secret}x`,
      secret.slice(0, -1),
      secret.replace('_', '-'),
    ]) {
      const { info } = await keyring.issue({ ...PLAIN, name: text }, { ...AUTHORITY, actor: text });
      expect([info.name, info.createdBy]).toEqual([text, text]);
    }
  });
});

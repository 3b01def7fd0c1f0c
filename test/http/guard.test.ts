import { describe, expect, it } from 'vitest';
import type { Admitting, KeyringEvent, OperationOf } from '../../src/index.js';
import {
  AccessError,
  defineGuard,
  definePolicy,
  isAccessError,
  StoreError,
  toResponse,
} from '../../src/index.js';
import { operationOf, readChain } from '../../src/tools/lock/guards.js';
import { bearer, catalog, issue, OTHER, OWN, setUp } from '../support/keyring.ts';

const policy = definePolicy(catalog, { whoami: [], listThreats: ['threats:read'] });
const CHALLENGE = { realm: 'test' };

async function prepared() {
  const events: KeyringEvent[] = [];
  const { keyring } = setUp({ policy, onEvent: (event) => events.push(event) });
  const { key, info } = await issue(keyring);
  const define = defineGuard({ keyring, ...CHALLENGE });
  return { define, keyring, key, info, events };
}

describe('defineGuard', () => {
  it('admits by the lines, and reads entity and context from the request', async () => {
    const { define, key, info, events } = await prepared();
    const guard = define('listThreats', {
      entity: (request: { asked?: string }) => request.asked,
      context: () => ({ requestId: 'r1' }),
    });
    const { principal, entityId } = await guard.admit({}, bearer(key));
    expect(principal.keyId).toBe(info.keyId);
    expect(entityId).toBe(OWN);
    const foreign = guard.admit({ asked: OTHER }, bearer(key));
    await expect(foreign).rejects.toMatchObject({ code: 'entity_forbidden' });
    expect(events.slice(-2)).toMatchObject([
      { type: 'access.granted', operation: 'listThreats', context: { requestId: 'r1' } },
      { type: 'access.denied', entityId: OTHER, context: { requestId: 'r1' } },
    ]);
  });

  it('answers a denial as toResponse does', async () => {
    const { define } = await prepared();
    const guard = define('whoami');
    const error = await guard.admit(undefined, undefined).catch((reason: unknown) => reason);
    expect(isAccessError(error)).toBe(true);
    expect(guard.answer(error)).toEqual(toResponse(error, CHALLENGE));
  });

  it('calls onError only for outages, and answers the same whatever it does', async () => {
    const { keyring } = await prepared();
    const told: unknown[] = [];
    const outage = new StoreError('away');
    const onError = (error: StoreError) => {
      told.push(error);
      throw new Error('the log is full');
    };
    const guard = defineGuard({ keyring, ...CHALLENGE, onError })('whoami');
    expect(guard.answer(outage)).toEqual(toResponse(outage, CHALLENGE));
    expect(guard.answer(new AccessError('invalid_token', 'revoked')).status).toBe(401);
    expect(told).toEqual([outage]);
  });

  it('rethrows any bug', async () => {
    const guard = (await prepared()).define('whoami');
    const bug = new TypeError('a bug');
    expect(() => guard.answer(bug)).toThrow(bug);
    expect(() => guard.answer(undefined)).toThrow();
    // `entity` that throws is a bug.
    const failing = (await prepared()).define('whoami', {
      entity: () => {
        throw bug;
      },
    });
    await expect(failing.admit(undefined, undefined)).rejects.toBe(bug);
  });

  it('still admits if `context` throws', async () => {
    const { define, key, events } = await prepared();
    const guard = define('listThreats', {
      context: () => {
        throw new Error('the connection is gone');
      },
    });
    await guard.admit(undefined, bearer(key));
    expect(events.at(-1)).toMatchObject({ type: 'access.granted', context: undefined });
  });

  it('marks its guards with the operation, for routesOf', async () => {
    const { mark } = (await prepared()).define('listThreats');
    expect(operationOf(Object.assign(() => {}, mark))).toBe('listThreats');
  });

  it('marks its guards with who else may call the route, and decides as before', async () => {
    const { define, key } = await prepared();
    const also = 'people with a session';
    const guard = define('listThreats', { also });
    const chain = [Object.assign(() => {}, guard.mark)];
    expect(readChain(chain)).toMatchObject({ operations: ['listThreats'], also: [also] });
    expect(Object.isFrozen(guard.mark)).toBe(true);
    await expect(guard.admit(undefined, undefined)).rejects.toMatchObject({
      code: 'missing_credentials',
    });
    await expect(guard.admit(undefined, bearer(key))).resolves.toMatchObject({ entityId: OWN });
    for (const route of [{}, { also: undefined }]) {
      const plain = Object.assign(() => {}, define('listThreats', route).mark);
      expect(readChain([plain]).also).toEqual([]);
    }
  });

  it.each([
    ['no text', 1, 'guard: also: pass a string'],
    ['no text, but null', null, 'guard: also: pass a string'],
    ['an empty text', '', 'guard: also: 1 to 100 characters'],
    ['a text of 101 characters', 'x'.repeat(101), 'guard: also: 1 to 100 characters'],
    ['a very long text', 'x'.repeat(10_000), 'guard: also: at most 100 characters'],
    ['a control character', 'people\nand others', 'guard: also: no control'],
    ['an invisible character', 'people\u202e', 'guard: also: no control'],
  ])('throws on an `also` with %s when the route is declared', async (_what, also, message) => {
    const { define } = await prepared();
    const declare = () => define('whoami', { also: also as string });
    expect(declare).toThrow(TypeError);
    expect(declare).toThrow(message);
    expect(() => define('whoami', { also: 'x'.repeat(100) })).not.toThrow();
  });

  it.each([
    ['nothing', undefined],
    ['no keyring', CHALLENGE],
    ['a promise of one', { keyring: Promise.resolve(setUp().keyring) }],
    ['a keyring without a policy', { keyring: setUp({ catalog }).keyring }],
    ['a keyring with a table as its policy', { keyring: { ...setUp().keyring, policy: {} } }],
    ['a policy alone', { keyring: { policy } }],
  ])('refuses %s, and says what to pass', (_what, options) => {
    const usage = 'createGuard: pass { keyring }, made with a policy';
    expect(() => defineGuard(options as never)).toThrow(new TypeError(usage));
  });

  it.each([
    ['a realm that no header can carry', { realm: 'a\r\nb' }],
    ['an unknown option', { onOutage: () => {} }],
    ['a policy, which the keyring has', { policy }],
    ['a listener that is not a function', { onError: 'log' }],
  ])('refuses %s immediately', async (_what, options) => {
    const { keyring } = await prepared();
    expect(() => defineGuard({ keyring, ...CHALLENGE, ...options } as never)).toThrow(TypeError);
  });

  it('throws on an operation that is not in the policy, and on an unknown option', async () => {
    const { define } = await prepared();
    expect(() => define('listThreat' as 'whoami')).toThrow(/not in the table/);
    const route = { entityId: () => OWN };
    expect(() => define('whoami', route as object)).toThrow(
      'guard: pass { entity, context, also }',
    );
    expect(() => define('whoami', { [Symbol('x')]: 1 } as object)).toThrow(/^guard: pass/);
  });

  it('has the prefix of the keyring as its default realm', async () => {
    const { keyring } = await prepared();
    const denial = new AccessError('invalid_token', 'revoked');
    for (const given of [{}, { realm: undefined }]) {
      const guard = defineGuard({ keyring, ...given })('whoami');
      expect(guard.answer(denial)).toEqual(toResponse(denial, { realm: 'acme' }));
    }
  });

  it('accepts a wrapper of a keyring, and calls its admit', async () => {
    const { keyring, key } = await prepared();
    const calls: unknown[] = [];
    const wrapper: Admitting<OperationOf<typeof policy>> = {
      ...keyring,
      admit: (request, input) => {
        calls.push(input.operation);
        return keyring.admit(request, input);
      },
    };
    const guard = defineGuard({ keyring: wrapper })('whoami');
    await guard.admit(undefined, bearer(key));
    expect(calls).toEqual(['whoami']);
  });
});

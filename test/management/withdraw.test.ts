import { type KeyStore, toMe } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { editableMemory } from '../support/editable-stores.ts';
import {
  ANSWERING,
  AUTHORITY,
  bearer,
  delayed,
  denied,
  HOUR,
  inputError,
  NOWHERE,
  OTHER,
  OWN,
  type Ring,
  rowOf,
  START,
  setUp,
  storeError,
  THIRD,
  untyped,
  untypedInput,
  wrap,
} from '../support/keyring.ts';
import { injected } from '../support/lineages.ts';
import { editing } from '../support/lives.ts';
import { meanwhile, refusalsIn } from '../support/managing.ts';

const BROAD = { ...AUTHORITY, entities: [OTHER, THIRD] } as const;
/** The authority of the addressed entity. */
const THEIRS = { entityId: OTHER, actor: 'zoe', reason: 'no longer a customer' } as const;

const issueBroad = (keyring: Ring) =>
  keyring.issue(untypedInput({ accessibleEntities: [OTHER, THIRD] }), BROAD);

async function prepared(through = (store: KeyStore): KeyStore => store) {
  const inner = memoryStore();
  const { keyring: first } = setUp({ store: inner });
  const { key, info } = await issueBroad(first);
  const { keyring, events, clock } = setUp({ store: through(inner) });
  return { inner, keyring, events, clock, key, keyId: info.keyId };
}

describe('withdraw', () => {
  it.each(ANSWERING)(
    'takes effect on the next request, in a store that answers %s',
    async (_how, through) => {
      const { keyring, inner, events, clock, key, keyId } = await prepared(through);
      const before = await rowOf(inner, keyId);
      const enter = (entityId: string) =>
        keyring.admit(bearer(key), { operation: 'list', entityId });
      await enter(OTHER);
      clock.advance(HOUR);
      events.length = 0;
      await keyring.withdraw(keyId, THEIRS);
      expect(events).toEqual([
        {
          type: 'key.withdrawn',
          time: START + HOUR,
          keyId,
          // The owner's audit trail gets the event.
          entityId: OWN,
          withdrawnEntity: OTHER,
          actor: 'zoe',
          reason: 'no longer a customer',
        },
      ]);
      await denied(() => enter(OTHER), 'entity_forbidden', 'entity_not_accessible');
      await enter(THIRD);
      await enter(OWN);
      const principal = await keyring.verify(key);
      expect(principal.accessibleEntities).toEqual([OWN, THIRD]);
      expect(toMe(principal)).toEqual({
        entity_uuid: OWN,
        key_id: keyId,
        scopes: ['threats:read'],
        accessible_entities: [OWN, THIRD],
      });
      const marks = { withdrawn: [OTHER], changedAt: START + HOUR };
      expect(await rowOf(inner, keyId)).toEqual({ ...before, ...marks });
    },
  );

  it('leaves the key live and sealed, and shows its owner who withdrew', async () => {
    const { keyring, key, keyId } = await prepared();
    await keyring.withdraw(keyId, THEIRS);
    await keyring.withdraw(keyId, { entityId: THIRD });
    expect(await keyring.get(keyId, AUTHORITY)).toMatchObject({
      state: 'live',
      tampered: false,
      accessibleEntities: [OWN, OTHER, THIRD],
      withdrawn: [OTHER, THIRD],
      endedBy: null,
      endReason: null,
    });
    expect((await keyring.verify(key)).accessibleEntities).toEqual([OWN]);
  });

  it('is idempotent: there is one event, and the time of the first call stays', async () => {
    const { keyring, inner, events, clock, keyId } = await prepared(delayed);
    const withdraw = () => keyring.withdraw(keyId, THEIRS);
    await Promise.all([withdraw(), withdraw(), withdraw()]);
    clock.advance(HOUR);
    await withdraw();
    expect(events.map(({ type }) => type)).toEqual(['key.withdrawn']);
    expect(await rowOf(inner, keyId)).toMatchObject({ withdrawn: [OTHER], changedAt: START });
  });

  it('does not touch the keys that the key issued', async () => {
    const { keyring, inner, keyId } = await prepared();
    const under = { ...BROAD, keyId };
    const input = untypedInput({ accessibleEntities: [OTHER] });
    const { info } = await keyring.issue(input, under);
    await keyring.withdraw(keyId, THEIRS);
    expect((await rowOf(inner, keyId)).withdrawn).toEqual([OTHER]);
    expect((await rowOf(inner, info.keyId)).withdrawn).toEqual([]);
  });

  it('is for good: resuming, rotating and revoking do not undo it', async () => {
    const { keyring, key, keyId } = await prepared();
    await keyring.withdraw(keyId, THEIRS);
    await keyring.suspend(keyId, AUTHORITY);
    await keyring.resume(keyId, AUTHORITY);
    expect((await keyring.verify(key)).accessibleEntities).toEqual([OWN, THIRD]);
    const next = await keyring.rotate(keyId, { overlapMs: HOUR }, BROAD);
    const after = await keyring.rotate(next.info.keyId, { overlapMs: 0 }, BROAD);
    for (const made of [next, after]) {
      expect(made.info).toMatchObject({ accessibleEntities: [OWN, THIRD], withdrawn: [] });
    }
    await keyring.revoke(keyId, AUTHORITY);
    expect(await keyring.get(keyId, AUTHORITY)).toMatchObject({ withdrawn: [OTHER] });
  });

  it('reaches keys that join the chain while another one is marked', async () => {
    const joined: string[] = [];
    const { keyring, inner, keyId } = await prepared((store) =>
      wrap(store, (method, _args, call) => {
        const answer = call();
        if (method !== 'listLineage' || joined.length === 3) return answer;
        const over = { rootKeyId: keyId, accessibleEntities: [OWN, OTHER] };
        const row = injected(over);
        joined.push(row.keyId);
        void store.insert(row);
        return answer;
      }),
    );
    await keyring.rotate(keyId, { overlapMs: HOUR }, BROAD);
    await keyring.withdraw(keyId, THEIRS);
    for (const each of joined) expect((await rowOf(inner, each)).withdrawn).toEqual([OTHER]);
    expect(joined).toHaveLength(3);
  });

  it.each(['suspend', 'revoke'] as const)('is possible after %s', async (call) => {
    const { keyring, keyId } = await prepared();
    await keyring[call](keyId, { ...AUTHORITY, actor: 'ada' });
    await keyring.withdraw(keyId, THEIRS);
    expect(await keyring.get(keyId, AUTHORITY)).toMatchObject({
      withdrawn: [OTHER],
      endedBy: 'ada',
      tampered: false,
    });
  });

  it('works on a retired or expired key', async () => {
    const { keyring, inner, keyId } = await prepared();
    for (const edit of [{ retireAt: START }, { expiresAt: START }]) {
      await setUp({ store: editing(inner, keyId, edit) }).keyring.withdraw(keyId, THEIRS);
      await keyring.withdraw(keyId, THEIRS);
    }
  });

  it('does not affect new keys, whose entities depend on the authority', async () => {
    const { keyring, keyId } = await prepared();
    await keyring.withdraw(keyId, THEIRS);
    const fresh = await issueBroad(keyring);
    expect(fresh.info.accessibleEntities).toEqual([OWN, OTHER, THIRD]);
    const without = { ...AUTHORITY, entities: [THIRD] };
    const act = () => keyring.issue(untypedInput({ accessibleEntities: [OTHER] }), without);
    await denied(act, 'ceiling_exceeded', 'entities_beyond_authority');
  });
});

describe('withdraw is refused', () => {
  it('from a key that does not address the entity, as from an unknown key', async () => {
    const { keyring, inner, events, keyId } = await prepared();
    const before = await rowOf(inner, keyId);
    const stranger = { entityId: NOWHERE, entities: [OTHER, OWN], actor: 'mal' };
    const error = await denied(() => keyring.withdraw(keyId, stranger), 'not_found', 'foreign_key');
    const none = await denied(
      () => keyring.withdraw(NOWHERE, stranger),
      'not_found',
      'no_such_key',
    );
    expect([error.message, error.keyId]).toEqual([none.message, none.keyId]);
    expect(refusalsIn(events)).toMatchObject([
      { action: 'withdraw', keyId, denialReason: 'foreign_key', actor: 'mal' },
      { action: 'withdraw', keyId: NOWHERE, denialReason: 'no_such_key', actor: 'mal' },
    ]);
    expect(await rowOf(inner, keyId)).toEqual(before);
  });

  it('from a key of another prefix', async () => {
    const { inner, keyId } = await prepared();
    const { keyring } = setUp({ store: inner, prefix: 'acme_eu' });
    await denied(() => keyring.withdraw(keyId, THEIRS), 'not_found', 'foreign_key');
    expect((await rowOf(inner, keyId)).withdrawn).toEqual([]);
  });

  it('from a key that the entity owns, with an InputError', async () => {
    const { keyring, inner, events, keyId } = await prepared();
    const before = await rowOf(inner, keyId);
    const act = () => keyring.withdraw(keyId, AUTHORITY);
    await inputError(act, 'keyId', /^keyId: you own this key; revoke it, or rotate it narrower$/);
    expect(events).toEqual([]);
    expect(await rowOf(inner, keyId)).toEqual(before);
  });

  it.each([undefined, null, 7, {}, [NOWHERE]])('with %j as the key id', async (keyId) => {
    const { keyring } = await prepared();
    await inputError(
      () => keyring.withdraw(untyped(keyId), THEIRS),
      'keyId',
      /^keyId: pass a string/,
    );
  });
});

describe('an edited row', () => {
  it('does not keep an entity from withdrawing', async () => {
    for (const edit of [{ name: 'another' }, { scopes: ['*:*'] }, { format: 2 }]) {
      const { keyring, inner, keyId } = await prepared();
      const through = setUp({ store: editing(inner, keyId, edit) }).keyring;
      await through.withdraw(keyId, THEIRS);
      expect((await rowOf(inner, keyId)).withdrawn).toEqual([OTHER]);
      expect(await keyring.get(keyId, AUTHORITY)).toMatchObject({ state: 'live' });
    }
  });

  it.each([null, OTHER, 7, {}])('addresses nobody if its entities are %j', async (entities) => {
    const { inner, keyId } = await prepared();
    const store = editing(inner, keyId, { accessibleEntities: entities });
    const act = () => setUp({ store }).keyring.withdraw(keyId, THEIRS);
    await denied(act, 'not_found', 'foreign_key');
  });

  // The seal does not cover the marks.
  it('restores an entity that withdrew if its mark was cleared, as documented', async () => {
    const { keyring, inner, key, keyId } = await prepared();
    await keyring.withdraw(keyId, THEIRS);
    const cleared = setUp({ store: editing(inner, keyId, { withdrawn: [] }) }).keyring;
    expect((await cleared.verify(key)).accessibleEntities).toContain(OTHER);
  });

  it('is damaged if the owner itself is among those that withdrew', async () => {
    const { inner, key, keyId } = await prepared();
    const { keyring } = setUp({ store: editing(inner, keyId, { withdrawn: [OWN] }) });
    await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
    expect(await keyring.get(keyId, AUTHORITY)).toEqual({ state: 'damaged', keyId, entityId: OWN });
  });
});

describe('a withdrawal from a key with a successor', () => {
  async function succeeded(accessibleEntities: readonly string[]) {
    const { store, edit } = await editableMemory();
    const ring = setUp({ store });
    const { info } = await issueBroad(ring.keyring);
    const input = { overlapMs: HOUR, accessibleEntities };
    const { info: next } = await ring.keyring.rotate(info.keyId, input, BROAD);
    ring.events.length = 0;
    return { ...ring, edit, keyId: info.keyId, nextId: next.keyId };
  }

  it('does not change one that does not address the entity', async () => {
    const { keyring, store, events, keyId, nextId } = await succeeded([THIRD]);
    const before = await rowOf(store, nextId);
    await keyring.withdraw(keyId, THEIRS);
    expect(await rowOf(store, nextId)).toEqual(before);
    expect(events).toMatchObject([{ type: 'key.withdrawn', keyId }]);
  });

  it('does not change a row that an attacker added to the chain from another owner', async () => {
    const { keyring, store, edit, events, keyId, nextId } = await succeeded([OTHER]);
    await edit(await rowOf(store, nextId), { entityId: THIRD });
    const before = await rowOf(store, nextId);
    await keyring.withdraw(keyId, THEIRS);
    expect(await rowOf(store, nextId)).toEqual(before);
    expect(events).toMatchObject([{ type: 'key.withdrawn', keyId }]);
  });
});

describe('a call during a withdrawal', () => {
  it.each(['revoke', 'suspend'] as const)(
    '%s takes effect, and so does the withdrawal',
    async (call) => {
      const { inner, keyring, key, keyId } = await prepared();
      const moment = { when: 'before', method: 'mark' } as const;
      const store = meanwhile(inner, moment, () => keyring[call](keyId, AUTHORITY));
      await setUp({ store }).keyring.withdraw(keyId, THEIRS);
      await denied(
        () => keyring.verify(key),
        'invalid_token',
        call === 'revoke' ? 'revoked' : 'suspended',
      );
      expect(await keyring.get(keyId, AUTHORITY)).toMatchObject({
        withdrawn: [OTHER],
        tampered: false,
      });
    },
  );

  it('takes effect if it is another entity’s withdrawal', async () => {
    const { inner, keyring, keyId } = await prepared();
    const moment = { when: 'before', method: 'mark' } as const;
    const store = meanwhile(inner, moment, () => keyring.withdraw(keyId, { entityId: THIRD }));
    await setUp({ store }).keyring.withdraw(keyId, THEIRS);
    expect((await rowOf(inner, keyId)).withdrawn).toEqual([THIRD, OTHER]);
  });
});

describe('a store that lies', () => {
  it('is broken if it wrote nothing and the entity has not withdrawn', async () => {
    const { keyring, events, key, keyId } = await prepared((store) =>
      wrap(store, (method, _args, act) => (method === 'mark' ? false : act())),
    );
    const { message } = await storeError(() => keyring.withdraw(keyId, THEIRS));
    expect(message).toBe('store.mark broke its contract; see KeyStore');
    expect(events).toEqual([]);
    expect((await keyring.verify(key)).accessibleEntities).toContain(OTHER);
  });
});

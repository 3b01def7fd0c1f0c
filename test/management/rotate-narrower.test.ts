/** Rotation can drop rights and never adds any. */
import { defineScopes, type KeyStore, type RotateInput } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  type catalog,
  denied,
  dump,
  inputError,
  OTHER,
  OWN,
  PLAIN,
  type Ring,
  rowOf,
  setUp,
  THIRD,
  untyped,
  untypedInput,
} from '../support/keyring.ts';

/** May grant the rights of {@link issueBroad}, and more. */
const BROAD = { ...AUTHORITY, entities: [OTHER, THIRD] } as const;
const SCOPES = ['threats:read', 'threats:write', 'decoys:read', 'users:read'];

const issueBroad = (keyring: Ring) =>
  keyring.issue(
    untypedInput({
      scopes: SCOPES,
      accessibleEntities: [OTHER, THIRD],
      justification: 'support',
      metadata: { team: 'a' },
    }),
    BROAD,
  );

type Asked = Omit<RotateInput, 'overlapMs'>;

/** Makes a key with all rights, and rotates it with the given input. */
async function prepared() {
  const { keyring, store } = setUp();
  const { key, info } = await issueBroad(keyring);
  const rotate = (asked: Asked, authority: object = BROAD) =>
    keyring.rotate(info.keyId, { overlapMs: 1, ...asked }, untyped(authority));
  return { keyring, store, key, keyId: info.keyId, rotate };
}

describe('a narrower successor', () => {
  it.each<readonly [string, readonly string[] | undefined, readonly string[]]>([
    ['omitted', undefined, SCOPES],
    ['one', ['decoys:read'], ['decoys:read']],
    ['all', SCOPES, SCOPES],
    ['none', [], []],
    ['in another order', ['users:read', 'threats:read'], ['threats:read', 'users:read']],
    ['repeated', ['users:read', 'users:read'], ['users:read']],
  ])('has the requested scopes: %s', async (_what, scopes, expected) => {
    const { keyring, store, key, keyId, rotate } = await prepared();
    const next = await rotate({ scopes });
    expect((await rowOf(store, next.info.keyId)).scopes).toEqual(expected);
    expect((await keyring.verify(next.key)).scopes).toEqual(expected);
    // The scopes of a key never change.
    expect((await rowOf(store, keyId)).scopes).toEqual(SCOPES);
    expect((await keyring.verify(key)).scopes).toEqual(SCOPES);
  });

  it.each<readonly [string, readonly string[] | undefined, readonly string[]]>([
    ['omitted', undefined, [OWN, OTHER, THIRD]],
    ['one', [THIRD], [OWN, THIRD]],
    ['none', [], [OWN]],
    ['only its own', [OWN], [OWN]],
    ['in another order', [THIRD, OWN, OTHER, THIRD], [OWN, THIRD, OTHER]],
  ])('has the requested entities: %s', async (_what, accessibleEntities, expected) => {
    const { keyring, key, rotate } = await prepared();
    const next = await rotate({ accessibleEntities });
    expect(next.info.accessibleEntities).toEqual(expected);
    expect((await keyring.verify(next.key)).accessibleEntities).toEqual(expected);
    expect((await keyring.verify(key)).accessibleEntities).toEqual([OWN, OTHER, THIRD]);
  });

  it('has the new name and justification, and keeps all omitted fields', async () => {
    const { store, keyId, rotate } = await prepared();
    const name = 'Zu\u0308rich';
    const next = await rotate({ name, justification: 'audit', scopes: undefined });
    const old = await rowOf(store, keyId);
    expect(await rowOf(store, next.info.keyId)).toMatchObject({
      name: 'Z\u00fcrich',
      justification: 'audit',
      scopes: old.scopes,
      accessibleEntities: old.accessibleEntities,
      metadata: { team: 'a' },
      expiresAt: null,
    });
    expect(old).toMatchObject({ name: 'ci', justification: 'support' });
  });

  it('is possible under an authority that covers only the successor', async () => {
    const { rotate } = await prepared();
    const lesser = { entityId: OWN, scopes: ['decoys:*'] };
    await denied(() => rotate({}, lesser), 'ceiling_exceeded', 'scopes_beyond_authority');
    const next = await rotate({ scopes: ['decoys:read'], accessibleEntities: [] }, lesser);
    expect(next.info).toMatchObject({ scopes: ['decoys:read'], accessibleEntities: [OWN] });
  });

  it('stays narrow, because its successors get nothing back', async () => {
    const { keyring, rotate } = await prepared();
    const { info } = await rotate({ scopes: ['decoys:read'], accessibleEntities: [] });
    const again = (asked: Asked) => keyring.rotate(info.keyId, { overlapMs: 0, ...asked }, BROAD);
    await denied(
      () => again({ scopes: ['decoys:read', 'threats:read'] }),
      'ceiling_exceeded',
      'scopes_beyond_predecessor',
    );
    await denied(
      () => again({ accessibleEntities: [OTHER] }),
      'ceiling_exceeded',
      'entities_beyond_predecessor',
    );
    const third = await again({});
    expect(third.info).toMatchObject({ scopes: ['decoys:read'], accessibleEntities: [OWN] });
  });
});

describe('the requested scopes', () => {
  // A list of any length was read, and accepted if it repeated scopes of the predecessor.
  it('can be at most 256, as for a new key', async () => {
    const { store, rotate } = await prepared();
    const before = await dump(store);
    const repeated = (length: number) => Array.from({ length }, () => 'threats:read');
    for (const length of [257, 100_000]) {
      const act = () => rotate({ scopes: repeated(length) });
      await inputError(act, 'scopes', /^scopes: pass at most 256$/);
    }
    expect(await dump(store)).toBe(before);
    expect((await rotate({ scopes: repeated(256) })).info.scopes).toEqual(['threats:read']);
  });
});

describe('a wider successor', () => {
  it.each([
    [['threats:delete'], ['threats:delete']],
    [
      ['decoys:update', 'threats:read', 'users:delete'],
      ['decoys:update', 'users:delete'],
    ],
    [[...SCOPES, 'constructor:read'], ['constructor:read']],
  ])('is refused with the scopes %j: the excess is %j', async (scopes, excess) => {
    const { store, rotate } = await prepared();
    const before = await dump(store);
    const act = () => rotate({ scopes, justification: 'to have more' });
    const error = await denied(act, 'ceiling_exceeded', 'scopes_beyond_predecessor');
    expect(error.excess).toEqual(excess);
    expect(await dump(store)).toBe(before);
  });

  it('is refused with an entity that the predecessor cannot address', async () => {
    const { keyring, store } = setUp();
    const { info } = await keyring.issue(untypedInput({ accessibleEntities: [OTHER] }), BROAD);
    const before = await dump(store);
    const input = { overlapMs: 0, accessibleEntities: [OTHER, THIRD] };
    const act = () => keyring.rotate(info.keyId, input, BROAD);
    const error = await denied(act, 'ceiling_exceeded', 'entities_beyond_predecessor');
    expect(error.excess).toEqual([THIRD]);
    expect(await dump(store)).toBe(before);
  });
});

/** The catalog without `threats:write`. */
const smaller = defineScopes({
  threats: { read: 'List and read threats.', delete: 'Delete threats.' },
  decoys: { read: 'List and read decoys.', update: 'Update decoys.' },
  users: { read: 'List and read users.' },
});
/** A catalog without any of {@link SCOPES}. */
const another = defineScopes({ reports: { read: 'Read reports.' } });
/** The catalog with one more reserved scope. */
const stricter = defineScopes(
  {
    threats: { read: 'Read.', write: 'Write.', delete: 'Delete.' },
    decoys: { read: 'Read.', update: 'Update.' },
    users: { read: 'Read.', write: 'Write.', delete: 'Delete.' },
  },
  { reserved: ['threats:write'] },
);

/** Serves the same keys from a release with another catalog. */
const withCatalog = (store: KeyStore, other: object): Ring =>
  setUp({ store, catalog: untyped<typeof catalog>(other) }).keyring;

describe('scopes that left the catalog', () => {
  it('are not copied', async () => {
    const { store, keyId } = await prepared();
    const next = await withCatalog(store, smaller).rotate(keyId, { overlapMs: 0 }, BROAD);
    const kept = ['threats:read', 'decoys:read', 'users:read'];
    expect((await rowOf(store, next.info.keyId)).scopes).toEqual(kept);
    // Not even for a release whose catalog has the scope again.
    expect((await setUp({ store }).keyring.verify(next.key)).scopes).toEqual(kept);
  });

  it('cannot be requested', async () => {
    const { store, keyId } = await prepared();
    const input = { overlapMs: 0, scopes: ['threats:read', 'threats:write'] };
    const act = () => withCatalog(store, smaller).rotate(keyId, untyped(input), BROAD);
    await inputError(act, 'scopes', /scopes of the catalog, not "threats:write"/);
  });

  it('leave a key without rights if all of its scopes left', async () => {
    const { store, keyId } = await prepared();
    const next = await withCatalog(store, another).rotate(keyId, { overlapMs: 0 }, BROAD);
    expect(next.info.scopes).toEqual([]);
  });

  it('do not count against the authority', async () => {
    const { store, keyId } = await prepared();
    const authority = { ...BROAD, scopes: ['*:read'] };
    const next = await withCatalog(store, smaller).rotate(keyId, { overlapMs: 0 }, authority);
    expect(next.info.scopes).not.toContain('threats:write');
  });
});

describe('entities that withdrew', () => {
  it('are not copied, and cannot be requested', async () => {
    const { keyring, keyId, rotate } = await prepared();
    await keyring.withdraw(keyId, { entityId: OTHER });
    const act = () => rotate({ accessibleEntities: [OTHER, THIRD] });
    const error = await denied(act, 'ceiling_exceeded', 'entities_beyond_predecessor');
    expect(error.excess).toEqual([OTHER]);
    const next = await rotate({});
    expect(next.info).toMatchObject({ accessibleEntities: [OWN, THIRD], withdrawn: [] });
  });

  it('do not count against the authority', async () => {
    const { keyring, keyId, rotate } = await prepared();
    await keyring.withdraw(keyId, { entityId: OTHER });
    const next = await rotate({}, { ...AUTHORITY, entities: [THIRD] });
    expect(next.info.accessibleEntities).toEqual([OWN, THIRD]);
  });
});

describe('a reserved scope that the successor keeps', () => {
  it('needs no new justification if the predecessor has one', async () => {
    const { store, rotate } = await prepared();
    const next = await rotate({ scopes: ['users:read'] });
    expect((await rowOf(store, next.info.keyId)).justification).toBe('support');
  });

  const unjustified = async () => {
    const store = memoryStore();
    const scopes = ['threats:read', 'threats:write'];
    const { info } = await setUp({ store }).keyring.issue(untypedInput({ scopes }), AUTHORITY);
    const keyring = withCatalog(store, stricter);
    const rotate = (asked: Asked) =>
      keyring.rotate(info.keyId, { overlapMs: 0, ...asked }, AUTHORITY);
    return { store, rotate };
  };

  it('needs one if it became reserved since', async () => {
    const { store, rotate } = await unjustified();
    const before = await dump(store);
    const message = /^justification: say why the key needs threats:write$/;
    await inputError(() => rotate({}), 'justification', message);
    await inputError(() => rotate({ scopes: ['threats:write'] }), 'justification', message);
    expect(await dump(store)).toBe(before);
    const next = await rotate({ justification: 'triage' });
    expect(await rowOf(store, next.info.keyId)).toMatchObject({
      scopes: ['threats:read', 'threats:write'],
      justification: 'triage',
    });
  });

  it('needs none if the successor drops it', async () => {
    const { rotate } = await unjustified();
    const next = await rotate({ scopes: ['threats:read'] });
    expect(next.info).toMatchObject({ scopes: ['threats:read'], justification: null });
  });
});

describe('a rotation without optional fields', () => {
  it('copies a key with another order of scopes unchanged', async () => {
    const store = memoryStore();
    const reordered = defineScopes({
      decoys: { read: 'Read.' },
      threats: { write: 'Write.', read: 'Read.' },
    });
    const old = withCatalog(store, reordered);
    const input = { ...PLAIN, scopes: ['threats:*', 'decoys:read'] };
    const { info } = await old.issue(untyped(input), AUTHORITY);
    expect(info.scopes).toEqual(['decoys:read', 'threats:write', 'threats:read']);
    const next = await setUp({ store }).keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
    expect(next.info.scopes).toEqual(info.scopes);
  });
});

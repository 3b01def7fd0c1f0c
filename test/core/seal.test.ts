import fc from 'fast-check';
import type { KeyRecord } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { isSealed, revokedText, sealedText, sealOf } from '../../src/core/seal.js';
import { readPeppers } from '../../src/core/secret.js';
import {
  AUTHORITY,
  catalog,
  denied,
  HOUR,
  issue,
  NOWHERE,
  OTHER,
  OWN,
  PEPPER,
  PLAIN,
  readThrough,
  rowOf,
  START,
  setUp,
  tampering,
  untyped,
} from '../support/keyring.ts';
import { RECORD } from '../support/records.ts';
import {
  END,
  fieldsText,
  NEVER_CHANGES,
  referenceRevocationSeal,
  referenceSeal,
} from '../support/reference-seal.ts';
import { runs } from '../support/runs.ts';

const [SCHEME] = readPeppers([PEPPER], { prefix: 'acme', deployment: '' });
const ACTING = { ...AUTHORITY, actor: 'ada@acme.example', reason: 'left the company' } as const;

type Edit = (row: KeyRecord) => object;

/** The edits of an attacker with write access, for each field of a record. */
const EDITS: Readonly<Record<keyof KeyRecord, readonly unknown[]>> = {
  format: [2, 0],
  keyId: [NOWHERE],
  prefix: ['acmf', ''],
  hint: ['KrPQ', ''],
  name: ['ci 🦊x', ''],
  digest: [`s1$${'ac'.repeat(32)}`],
  entityId: [OTHER],
  accessibleEntities: [[OWN, NOWHERE], []],
  scopes: [['threats:read', 'users:delete'], []],
  justification: [null, 'because'],
  metadata: [{ role: 'admin' }, {}],
  createdAt: [2, -1],
  createdBy: [null, '', 'eve'],
  expiresAt: [0, START],
  rotatedFrom: [NOWHERE],
  rootKeyId: [NOWHERE],
  issuedUnder: [OTHER],
  trust: ['', '{}'],
  seal: [null, '', '0'.repeat(64)],
  revokedAt: [1],
  suspendedAt: [1],
  retireAt: [1],
  withdrawn: [[OTHER]],
  endedBy: ['ada'],
  endReason: ['unused'],
  changedAt: [1],
  lastUsedAt: [1],
  scopesUsed: [{ 'threats:read': 1 }],
};
const FIELDS = Object.keys(EDITS) as (keyof KeyRecord)[];

describe('the seal of a live key', () => {
  const record: KeyRecord = { ...RECORD, seal: sealOf(RECORD, SCHEME) };
  const covered = [...NEVER_CHANGES, 'seal'];

  it.each(FIELDS)('covers %s, unless that is written later', (field) => {
    expect(isSealed(record, SCHEME)).toBe(true);
    for (const value of EDITS[field]) {
      const edited = { ...record, [field]: value };
      // A revocation mark requires the other seal.
      const isCovered = covered.includes(field) || field === 'revokedAt';
      expect(isSealed(edited, SCHEME), `${field}: ${String(value)}`).toBe(!isCovered);
    }
  });

  it('covers every field that never changes, like an independent implementation', () => {
    expect(FIELDS).toEqual(Object.keys(RECORD));
    const all = { ...RECORD, expiresAt: START, rotatedFrom: NOWHERE, issuedUnder: OTHER };
    for (const each of [RECORD, all]) {
      expect(sealedText(each)).toBe(fieldsText({ ...each }, NEVER_CHANGES));
      const ended = { ...each, revokedAt: 7, endedBy: 'ada', endReason: null };
      const end = fieldsText({ ...ended }, END);
      expect(revokedText(ended)).toBe(sealedText(each) + end);
      expect(end).toBe('f2:s7:endedBys3:adas9:revokedAti7;');
    }
  });
});

// Anyone who can write to the database chooses one side of the comparison. If it stopped at the
// first difference, they could find a seal bit by bit.
describe('the comparison of seals', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it.each([0, 31, 62, 63])('reads every character, even if number %i differs', (at) => {
    const seal = String(SCHEME.seal?.(sealedText(RECORD)));
    const other = seal.charAt(at) === 'a' ? 'b' : 'a';
    const edited = `${seal.slice(0, at)}${other}${seal.slice(at + 1)}`;
    const read = vi.spyOn(String.prototype, 'charCodeAt');
    const isAccepted = isSealed({ ...RECORD, seal: edited }, SCHEME);
    const places = read.mock.calls.filter((_, call) => String(read.mock.contexts[call]) === edited);
    vi.restoreAllMocks();
    expect(isAccepted).toBe(false);
    expect(places).toEqual(Array.from(seal, (_, index) => [index]));
  });
});

describe('the seal', () => {
  async function rich(edit: Edit) {
    const store = memoryStore();
    const { keyring } = setUp({ store });
    const { key, info } = await keyring.issue(
      {
        name: 'ci',
        scopes: ['threats:read', 'threats:write'],
        expiresAt: new Date(START + HOUR),
        accessibleEntities: [OTHER],
        metadata: { a: '1', b: '2' },
      },
      { ...ACTING, entities: [OTHER] },
    );
    return { key, info, ...setUp({ store: tampering(store, edit) }) };
  }

  // Each of these rows is readable. Only the seal detects the edit.
  it.each<readonly [keyof KeyRecord, Edit]>([
    ['keyId', () => ({ keyId: NOWHERE })],
    ['hint', () => ({ hint: 'AAAA' })],
    ['name', (row) => ({ name: `${row.name}x` })],
    ['entityId', () => ({ entityId: OTHER })],
    ['accessibleEntities', (row) => ({ accessibleEntities: [...row.accessibleEntities, NOWHERE] })],
    ['scopes', (row) => ({ scopes: [...row.scopes, 'users:delete'] })],
    ['justification', () => ({ justification: 'because' })],
    ['metadata', () => ({ metadata: { role: 'admin' } })],
    ['createdAt', (row) => ({ createdAt: row.createdAt + 1 })],
    ['createdBy', () => ({ createdBy: 'eve@acme.example' })],
    ['expiresAt', () => ({ expiresAt: null })],
    ['rotatedFrom', () => ({ rotatedFrom: NOWHERE })],
    ['rootKeyId', () => ({ rootKeyId: NOWHERE })],
    ['issuedUnder', () => ({ issuedUnder: NOWHERE })],
    ['trust', () => ({ trust: '{}' })],
    ['seal', (row) => ({ seal: row.seal?.replace(/^./, (digit) => (digit === '0' ? '1' : '0')) })],
  ])('refuses a row whose %s was edited', async (field, edit) => {
    const { key, info, keyring } = await rich((row) => ({ ...row, ...edit(row) }));
    const error = await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
    expect(error.keyId).toBe(field === 'keyId' ? NOWHERE : info.keyId);
  });

  // An encoding without lengths, or one that treats null and empty as the same, would accept these.
  it.each([
    ['no seal', () => ({ seal: null })],
    ['an empty seal', () => ({ seal: '' })],
    ['reordered scopes', (row: KeyRecord) => ({ scopes: [...row.scopes].reverse() })],
    ['a scope dropped', (row: KeyRecord) => ({ scopes: row.scopes.slice(1) })],
    ['no scopes', () => ({ scopes: [] })],
    ['an empty justification', () => ({ justification: '' })],
    ['no author', () => ({ createdBy: null })],
    ['an empty text as its author', () => ({ createdBy: '' })],
    ['an empty trust', () => ({ trust: '{}' })],
    ['a moved expiry', (row: KeyRecord) => ({ expiresAt: (row.expiresAt ?? 0) + 1 })],
    ['metadata moved between key and value', () => ({ metadata: { a1: '', b: '2' } })],
    ['metadata merged', () => ({ metadata: { a: '1b2' } })],
    ['the name moved into metadata', () => ({ name: 'c', metadata: { a: '1', b: '2', i: '' } })],
    [
      'entities reordered',
      (row: KeyRecord) => ({ accessibleEntities: [...row.accessibleEntities].reverse() }),
    ],
    ['an entity dropped', () => ({ accessibleEntities: [OWN] })],
  ])('refuses a row with %s', async (_what, edit) => {
    const { key, keyring } = await rich((row) => ({ ...row, ...edit(row) }));
    await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
  });

  it('distinguishes half a surrogate pair in a metadata name from U+FFFD', async () => {
    const store = memoryStore();
    const { key } = await setUp({ store }).keyring.issue(
      { ...PLAIN, metadata: { '\ufffd': 'a' } },
      AUTHORITY,
    );
    const edited = tampering(store, (row) => ({ ...row, metadata: { '\ud800': 'a' } }));
    await denied(
      () => setUp({ store: edited }).keyring.verify(key),
      'invalid_token',
      'record_tampered',
    );
  });

  it('does not depend on the order of metadata, which databases may change', async () => {
    const { key, keyring } = await rich((row) => ({ ...row, metadata: { b: '2', a: '1' } }));
    await keyring.verify(key);
  });

  it('refuses the seal of another row', async () => {
    const store = memoryStore();
    const { keyring } = setUp({ store });
    const mine = await issue(keyring);
    const other = await issue(keyring);
    const { seal } = await rowOf(store, other.info.keyId);
    const swapped = setUp({ store: tampering(store, (row) => ({ ...row, seal })) });
    await denied(() => swapped.keyring.verify(mine.key), 'invalid_token', 'record_tampered');
  });

  it('does not cover usage or marks other than a revocation, which are written later', async () => {
    const marks = {
      retireAt: START + 1,
      withdrawn: [OTHER],
      endedBy: 'ada',
      endReason: 'unused',
      changedAt: START,
      lastUsedAt: START,
      scopesUsed: { 'threats:read': START },
    };
    const { key, keyring } = await rich((row) => ({ ...row, ...marks }));
    await keyring.verify(key);
    const suspended = await rich((row) => ({ ...row, ...marks, suspendedAt: START }));
    await denied(() => suspended.keyring.verify(suspended.key), 'invalid_token', 'suspended');
  });

  it('is checked again if the store returns another object', async () => {
    // If seals were remembered by key id instead of by object, an edit after the first use would
    // pass.
    let tamper = false;
    const { key, keyring } = await readThrough((store) =>
      tampering(store, (row) => (tamper ? { ...row, scopes: ['users:delete'] } : row)),
    );
    await keyring.verify(key);
    tamper = true;
    await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
  });

  it('is null without peppers, where a row with a seal is refused', async () => {
    const { key, info, keyring, store } = await readThrough((inner) => inner, { peppers: 'none' });
    expect((await rowOf(store, info.keyId)).seal).toBeNull();
    await keyring.verify(key);
    const given = setUp({
      store: tampering(store, (row) => ({ ...row, seal: '0'.repeat(64) })),
      peppers: 'none',
    });
    await denied(() => given.keyring.verify(key), 'invalid_token', 'record_tampered');
  });

  // Null means that the record was made without a pepper. An empty text is a wrong seal.
  it('refuses an empty text as the seal of a row without a pepper', async () => {
    const inner = await readThrough((store) => store, { peppers: 'none' });
    const edited = tampering(inner.store, (row) => ({ ...row, seal: '' }));
    const { keyring } = setUp({ store: edited, peppers: 'none' });
    await denied(() => keyring.verify(inner.key), 'invalid_token', 'record_tampered');
  });
});

describe('a seal', () => {
  const texts = fc
    .string({ unit: 'grapheme', maxLength: 12 })
    .filter((text) => text.isWellFormed());

  it.each([
    [
      ['ab', 'c'],
      ['a', 'bc'],
    ],
    [
      ['acme', ''],
      ['acm', 'e'],
    ],
    [
      ['a', 's1:b'],
      ['as', '1:b'],
    ],
    [
      ['acme', 'production'],
      ['acme', 'staging'],
    ],
    [
      ['acme', ''],
      ['acmf', ''],
    ],
  ] as const)('is valid for one prefix and one deployment: %j is not %j', (one, other) => {
    const seals = [one, other].flatMap(([prefix, deployment]) => {
      const [{ seal, revocationSeal }] = readPeppers([PEPPER], { prefix, deployment });
      return [seal?.('text'), revocationSeal?.('text')];
    });
    expect(new Set(seals).size).toBe(4);
  });

  it('is valid for one prefix and one deployment, whatever they are', () => {
    const bindings = fc.record({ prefix: texts, deployment: texts });
    fc.assert(
      fc.property(bindings, bindings, (one, other) => {
        const [first, second] = [one, other].map((binding) => readPeppers([PEPPER], binding)[0]);
        const same = one.prefix === other.prefix && one.deployment === other.deployment;
        expect(first?.seal?.('x') === second?.seal?.('x')).toBe(same);
        expect(first?.revocationSeal?.('x') === second?.revocationSeal?.('x')).toBe(same);
      }),
      { numRuns: runs(100) },
    );
  });

  it('is invalid in another deployment, even with the same row and pepper', async () => {
    const store = memoryStore();
    const staging = setUp({ store, deployment: 'acme staging' });
    const { key, info } = await issue(staging.keyring);
    await staging.keyring.verify(key);
    for (const deployment of ['acme production', 'acme stagin', '', undefined]) {
      const { keyring } = setUp({ store, deployment });
      await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
      // The key is useless there, but can be revoked.
      const next = () => keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
      await denied(next, 'conflict', 'record_tampered');
    }
  });

  it('equals that of an independent implementation, for any issued key', async () => {
    const clean = /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+$/u;
    const named = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
      .filter((text) => text.isWellFormed() && clean.test(text.normalize('NFC')));
    const inputs = fc.record({
      name: named,
      scopes: fc.subarray([...catalog.all].filter((scope) => !catalog.isReserved(scope))),
      expiresAt: fc.constantFrom('never' as const, new Date(START + HOUR)),
      accessibleEntities: fc.subarray([OTHER, NOWHERE]),
      justification: fc.option(named, { nil: undefined }),
      metadata: fc.dictionary(
        fc.stringMatching(/^\w{1,4}$/),
        texts.map((text) => text.replace(/\0/g, '')),
      ),
    });
    const authority = { ...ACTING, entities: [OTHER, NOWHERE] };
    await fc.assert(
      fc.asyncProperty(
        inputs,
        texts.filter((text) => clean.test(text)),
        async (input, deployment) => {
          const { keyring, store } = setUp({ deployment });
          const { info } = await keyring.issue(untyped<typeof PLAIN>(input), authority);
          const next = await keyring.rotate(info.keyId, { overlapMs: HOUR }, authority);
          const sealer = {
            pepper: PEPPER,
            prefix: 'acme',
            deployment: deployment.normalize('NFC'),
          };
          for (const keyId of [info.keyId, next.info.keyId]) {
            const row = await rowOf(store, keyId);
            expect(row.seal).toBe(referenceSeal(sealer, row));
            await keyring.revoke(keyId, ACTING);
            const ended = await rowOf(store, keyId);
            expect(ended.seal).toBe(referenceRevocationSeal(sealer, ended));
          }
        },
      ),
      { numRuns: runs(100) },
    );
  });
});

describe('sealedText', () => {
  it('encodes fields with name, type and length, sorted by name, without nulls', () => {
    expect(sealedText(RECORD)).toBe(
      [
        'f14:',
        `s18:accessibleEntitiesl1:s36:${OWN}`,
        's9:createdAti1;',
        's9:createdBys20:ada@acme.example é🦊',
        `s6:digests67:${RECORD.digest}`,
        `s8:entityIds36:${OWN}`,
        's6:formati1;',
        's4:hints4:KrPP',
        's13:justifications0:',
        `s5:keyIds36:${RECORD.keyId}`,
        's8:metadatal1:l2:s1:as3:é🦊',
        's4:names5:ci 🦊',
        's6:prefixs4:acme',
        `s9:rootKeyIds36:${RECORD.rootKeyId}`,
        's6:scopesl1:s12:threats:read',
      ].join(''),
    );
  });

  it('differs for null, an empty text and an empty list', () => {
    const texts = [null, ''].map((justification) => sealedText({ ...RECORD, justification }));
    texts.push(sealedText({ ...RECORD, scopes: [] }), sealedText({ ...RECORD, scopes: [''] }));
    expect(new Set(texts).size).toBe(4);
  });

  // A later release can seal another field: records that were sealed without it stay valid.
  it('is the same with an additional null field, wherever its name sorts', () => {
    for (const field of ['aaa', 'expiresBy', 'zone']) {
      const names = [...NEVER_CHANGES, field];
      expect(fieldsText({ ...RECORD, [field]: null }, names)).toBe(sealedText(RECORD));
      expect(fieldsText({ ...RECORD, [field]: '' }, names)).not.toBe(sealedText(RECORD));
    }
  });

  it('differs if any sealed field differs, and is never part of another', () => {
    const edited = fc
      .tuple(...NEVER_CHANGES.map((field) => editOf(field as keyof KeyRecord)))
      .map((parts) => ({ ...RECORD, ...Object.assign({}, ...parts) }) as KeyRecord);
    const sealed = (record: KeyRecord) => NEVER_CHANGES.map((field) => record[field as 'name']);
    fc.assert(
      fc.property(edited, edited, (one, other) => {
        fc.pre(JSON.stringify(sealed(one)) !== JSON.stringify(sealed(other)));
        const text = sealedText(one);
        const longer = sealedText(other);
        expect(text.startsWith(longer) || longer.startsWith(text)).toBe(false);
      }),
    );
  });

  function editOf(field: keyof KeyRecord) {
    const nothing: object = {};
    const values = EDITS[field].map((value): object => ({ [field]: value }));
    return fc.constantFrom(nothing, ...values);
  }
});

/** The pages of the console with hostile names, ids and reasons. */
import { createKeyring, type KeyInfo } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { beforeAll, describe, expect, it } from 'vitest';
import { STYLE } from '../../examples/console/assets/style.ts';
import { addressedPage } from '../../examples/console/pages/addressed.ts';
import { type Html, messagePage } from '../../examples/console/pages/frame.ts';
import { damagedKeyPage, keyPage } from '../../examples/console/pages/key.ts';
import { keyListPage } from '../../examples/console/pages/key-list.ts';
import { shownOncePage } from '../../examples/console/pages/shown-once.ts';
import type { SignedIn } from '../../examples/console/visit.ts';
import { catalog } from '../../examples/platform/service/catalog.ts';
import { HOSTILE_TEXTS } from '../support/hostile-texts.ts';

const ENTITY = '0a0a0a0a-0000-4000-8000-00000000000a';
const NOW = Date.parse('2026-01-01T00:00:00Z');

let info: KeyInfo;
beforeAll(async () => {
  const keyring = createKeyring({ prefix: 'a', catalog, store: memoryStore(), peppers: 'none' });
  const input = { name: 'n', scopes: [], expiresAt: 'never' } as const;
  ({ info } = await keyring.issue(input, { entityId: ENTITY, scopes: [] }));
});

/** Every page, for keys in which each text is this one. */
function pagesNaming(text: string): readonly Html[] {
  const authority = { entityId: ENTITY, scopes: 'all' } as const;
  const user = { email: text, role: text };
  const member: SignedIn = { user, entityId: text, authority, session: text };
  const named: KeyInfo = {
    ...info,
    keyId: text,
    prefix: text,
    hint: text,
    name: text,
    entityId: text,
    accessibleEntities: [text],
    scopes: [text],
    justification: text,
    metadata: { [text]: text },
    createdBy: text,
    suspendedAt: new Date(0),
    retireAt: new Date(0),
    state: 'suspended',
    endedBy: text,
    endReason: text,
    rotatedFrom: text,
  };
  const trust = { issuer: text, claims: { [text]: [text] } };
  const keyless: KeyInfo = { ...named, hint: '', trust, state: 'live', retireAt: null };
  const damaged = { state: 'damaged', keyId: text, entityId: text } as const;
  const keys = [named, damaged];
  const search = { text, state: text };
  const shown = { nameOf: () => text, notice: text, now: NOW };
  const details = { ...shown, catalog, key: named, unused: [text] };
  const ofAcme = { keys, next: 'a', organization: text, now: NOW };
  return [
    keyListPage(member, { ...ofAcme, search: null }),
    keyListPage(member, { ...ofAcme, search }),
    addressedPage(member, { keys: [named], next: 'a', ...shown }),
    keyPage(member, { ...details, predecessor: null, successor: null }),
    keyPage(member, { ...details, predecessor: named, successor: named }),
    keyPage(member, { ...details, predecessor: damaged, successor: null }),
    keyPage(member, { ...details, key: keyless, predecessor: null, successor: null }),
    damagedKeyPage(member, damaged, text),
    shownOncePage(member, { key: text, info: named }, text, text),
    messagePage(text, text, member),
  ];
}

/** The tags of a page with the names of their attributes. */
function tagsIn(page: Html): readonly string[] {
  const tags = String(page).match(/<[^>]*>/g) ?? [];
  return tags.map((tag) => tag.replace(/"[^"]*"/g, '""'));
}

describe('a page of the console', () => {
  it.each(HOSTILE_TEXTS.filter((text) => text !== ''))('has the same tags for %j', (text) => {
    const plain = pagesNaming('plain').map(tagsIn);
    expect(pagesNaming(text).map(tagsIn)).toEqual(plain);
  });

  it.each([null, 'x', 7, ['x'], { a: { b: 'x' } }, { iss: 'x' }])(
    'shows a key whose trust was edited to claims %j',
    (claims) => {
      const trust = { issuer: claims, claims } as unknown as KeyInfo['trust'];
      const key = { ...info, hint: '', trust, tampered: true, state: 'damaged' } as const;
      const authority = { entityId: ENTITY, scopes: 'all' } as const;
      const user = { email: 'a', role: 'b' };
      const member: SignedIn = { user, entityId: ENTITY, authority, session: 's' };
      const rest = { catalog, unused: [], notice: null, nameOf: () => null, now: NOW };
      const page = String(keyPage(member, { ...rest, key, predecessor: null, successor: null }));
      expect(page).toContain('Someone edited the record of this key');
      expect(page).toContain('<dt>Tokens that act as it</dt>');
      expect(page).not.toMatch(/undefined|\[object/);
    },
  );

  it('keeps the direction of a text within its cell', () => {
    expect(STYLE).toMatch(
      /^a,\nsmall,\ncode,\ntd,\nth,\ndd,\nh1 \{\n {2}unicode-bidi: isolate;\n\}/m,
    );
  });
});

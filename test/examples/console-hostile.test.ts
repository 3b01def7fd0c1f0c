/** What the pages of the console make of names, ids and reasons that others wrote. */
import { readFileSync } from 'node:fs';
import { createKeyring, type KeyInfo } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { beforeAll, describe, expect, it } from 'vitest';
import { addressedPage } from '../../examples/console/pages/addressed.ts';
import { type Html, messagePage } from '../../examples/console/pages/frame.ts';
import { damagedKeyPage, keyPage } from '../../examples/console/pages/key.ts';
import { keyListPage } from '../../examples/console/pages/key-list.ts';
import type { Member } from '../../examples/console/visit.ts';
import { catalog } from '../../examples/platform/service/catalog.ts';
import { HOSTILE_TEXTS } from '../support/hostile-texts.ts';

const ENTITY = '0a0a0a0a-0000-4000-8000-00000000000a';
const NOW = Date.parse('2026-01-01T00:00:00Z');

let info: KeyInfo;
beforeAll(async () => {
  const keyring = createKeyring({ prefix: 'a', catalog, store: memoryStore(), peppers: 'none' });
  const input = { name: 'n', scopes: [], expiresAt: 'never' } as const;
  ({ info } = await keyring.issue(input, { entityUuid: ENTITY, scopes: [] }));
});

/** Every page, of keys whose every text is this one. */
function pagesNaming(text: string): readonly Html[] {
  const authority = { entityUuid: ENTITY, scopes: 'all' } as const;
  const member: Member = { user: { email: text, role: text }, entityUuid: text, authority };
  const named: KeyInfo = {
    ...info,
    keyId: text,
    prefix: text,
    hint: text,
    name: text,
    entityUuid: text,
    accessibleEntities: [text],
    scopes: [text],
    justification: text,
    metadata: { [text]: text },
    createdBy: text,
    suspendedAt: new Date(0),
    state: 'suspended',
    endedBy: text,
    endReason: text,
    rotatedFrom: text,
  };
  const damaged = { state: 'damaged', keyId: text, entityUuid: text } as const;
  const keys = [named, damaged];
  const search = { text, state: text };
  return [
    keyListPage(member, { keys, next: 'a', search: null, now: NOW }),
    keyListPage(member, { keys, next: 'a', search, now: NOW }),
    addressedPage(member, { keys: [named], next: 'a' }, NOW),
    keyPage(member, { catalog, key: named, unused: [text], once: text, now: NOW }),
    damagedKeyPage(member, damaged),
    messagePage(text, text, member),
  ];
}

/** The tags of a page with the names of their attributes. */
function tagsIn(page: Html): readonly string[] {
  const tags = String(page).match(/<[^>]*>/g) ?? [];
  return tags.map((tag) => tag.replace(/"[^"]*"/g, '""'));
}

describe('a page of the console', () => {
  it.each(HOSTILE_TEXTS.filter((text) => text !== ''))('has no other tags for %j', (text) => {
    const plain = pagesNaming('plain').map(tagsIn);
    expect(pagesNaming(text).map(tagsIn)).toEqual(plain);
  });

  it('keeps the direction of a text within its cell', () => {
    const style = readFileSync('examples/console/style.css', 'utf8');
    expect(style).toMatch(
      /^a,\nsmall,\ncode,\ntd,\nth,\ndd,\nh1 \{\n {2}unicode-bidi: isolate;\n\}/m,
    );
  });
});

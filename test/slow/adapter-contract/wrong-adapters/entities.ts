/** Adapters that check the wrong entity or the wrong operation. */
import { parse } from 'node:querystring';
import { admit, entitiesOf, queryOf, RIGHT } from '../right-adapter.ts';
import { ANY_ID, APART, BAD_ENTITY, ENTITY, HEAD, ONCE, SCOPE } from '../titles.ts';
import type { WrongAdapters } from '../wrong-adapter.ts';

/** Returns the first value, like a reader that expects only one. */
function firstOf(asked: unknown): string | undefined {
  const [first] = Array.isArray(asked) ? (asked as unknown[]) : [asked];
  return first === undefined ? undefined : String(first);
}

export const WRONG_ENTITIES: WrongAdapters = {
  'uses the first of several entities': {
    noticedBy: [BAD_ENTITY],
    change: () => ({ entity: (req) => queryOf(req).get('entity') }),
  },
  'reads only 1,000 parameters': {
    noticedBy: [BAD_ENTITY],
    change: () => ({
      entity(req) {
        const { entity } = parse(req.url?.split('?')[1] ?? '');
        return entity;
      },
    }),
  },
  'uses the last of several entities': {
    noticedBy: [BAD_ENTITY],
    change: () => ({ entity: (req) => entitiesOf(req).at(-1) }),
  },
  'deduplicates entities': {
    noticedBy: [BAD_ENTITY],
    change: () => ({ entity: (req) => [...new Set(entitiesOf(req))] }),
  },
  'ignores an empty entity': {
    noticedBy: [ANY_ID, BAD_ENTITY],
    change: () => ({ entity: (req) => entitiesOf(req).filter(Boolean) }),
  },
  'folds the case of an entity': {
    noticedBy: [ANY_ID, BAD_ENTITY],
    change: () => ({ entity: (req) => entitiesOf(req).map((each) => each.toLowerCase()) }),
  },
  'trims an entity': {
    noticedBy: [ANY_ID, BAD_ENTITY],
    change: () => ({ entity: (req) => entitiesOf(req).map((each) => each.trim()) }),
  },
  'reads an entity as JSON where it can': {
    noticedBy: [ANY_ID],
    change: () => ({
      entity: (req) =>
        entitiesOf(req).map((each) => (/^\d+$/.test(each) ? String(Number(each)) : each)),
    }),
  },
  'ignores the entity': {
    noticedBy: [ANY_ID, ENTITY, BAD_ENTITY, APART, HEAD],
    change: () => ({ entity: () => undefined }),
  },
  "passes on the key's own entity": {
    noticedBy: [ENTITY, APART],
    change: () => ({
      admit: async (...args) => {
        const { principal } = await RIGHT.admit(...args);
        return { principal, entityId: principal.entityId };
      },
    }),
  },
  'passes on an unchecked entity': {
    noticedBy: [ANY_ID, BAD_ENTITY, HEAD],
    change: () => ({
      admit: async (setup, request, input) => {
        const { principal } = await admit(setup, request, { ...input, entityId: undefined });
        return { principal, entityId: firstOf(input.entityId) ?? principal.entityId };
      },
    }),
  },
  'ignores the entity of HEAD': {
    noticedBy: [HEAD],
    change: () => ({ entity: (req) => (req.method === 'HEAD' ? undefined : RIGHT.entity(req)) }),
  },
  'only authenticates': {
    noticedBy: [SCOPE, ONCE, HEAD],
    change: () => ({
      admit: (setup, request, input) => admit(setup, request, { ...input, operation: 'whoami' }),
    }),
  },
};

/** Adapters that check another entity or another operation than the one that is meant. */
import { parse } from 'node:querystring';
import { admit, entitiesOf, queryOf, RIGHT } from '../right-adapter.ts';
import { APART, BAD_ENTITY, ENTITY, HEAD, ONCE, SCOPE } from '../titles.ts';
import type { WrongAdapters } from '../wrong-adapter.ts';

/** What a reader takes that expects one value. */
function firstOf(asked: unknown): string | undefined {
  const [first] = Array.isArray(asked) ? (asked as unknown[]) : [asked];
  return first === undefined ? undefined : String(first);
}

export const WRONG_ENTITIES: WrongAdapters = {
  'takes the first of a repeated entity': {
    noticedBy: [BAD_ENTITY],
    change: () => ({ entity: (req) => queryOf(req).get('entity') }),
  },
  'reads 1,000 parameters': {
    noticedBy: [BAD_ENTITY],
    change: () => ({
      entity(req) {
        const { entity } = parse(req.url?.split('?')[1] ?? '');
        return entity;
      },
    }),
  },
  'takes the last of a repeated entity': {
    noticedBy: [BAD_ENTITY],
    change: () => ({ entity: (req) => entitiesOf(req).at(-1) }),
  },
  'takes a repeated entity once': {
    noticedBy: [BAD_ENTITY],
    change: () => ({ entity: (req) => [...new Set(entitiesOf(req))] }),
  },
  'takes an empty entity for none': {
    noticedBy: [BAD_ENTITY],
    change: () => ({ entity: (req) => entitiesOf(req).filter(Boolean) }),
  },
  'folds the case of an entity': {
    noticedBy: [BAD_ENTITY],
    change: () => ({ entity: (req) => entitiesOf(req).map((each) => each.toLowerCase()) }),
  },
  'trims an entity': {
    noticedBy: [BAD_ENTITY],
    change: () => ({ entity: (req) => entitiesOf(req).map((each) => each.trim()) }),
  },
  'ignores the entity': {
    noticedBy: [ENTITY, BAD_ENTITY, APART, HEAD],
    change: () => ({ entity: () => undefined }),
  },
  "hands on the key's own entity": {
    noticedBy: [ENTITY, APART],
    change: () => ({
      admit: async (...args) => {
        const { principal } = await RIGHT.admit(...args);
        return { principal, entityUuid: principal.entityUuid };
      },
    }),
  },
  'hands on the entity unchecked': {
    noticedBy: [BAD_ENTITY, HEAD],
    change: () => ({
      admit: async (setup, request, input) => {
        const { principal } = await admit(setup, request, { ...input, entityUuid: undefined });
        return { principal, entityUuid: firstOf(input.entityUuid) ?? principal.entityUuid };
      },
    }),
  },
  'ignores the entity of HEAD': {
    noticedBy: [HEAD],
    change: () => ({ entity: (req) => (req.method === 'HEAD' ? undefined : RIGHT.entity(req)) }),
  },
  'authenticates alone': {
    noticedBy: [SCOPE, ONCE, HEAD],
    change: () => ({
      admit: (setup, request, input) => admit(setup, request, { ...input, operation: 'whoami' }),
    }),
  },
};

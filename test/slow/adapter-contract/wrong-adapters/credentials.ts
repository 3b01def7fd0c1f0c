/** Adapters that use the wrong credential or the wrong caller. */
import type { IncomingMessage } from 'node:http';
import type { Admission } from 'keyscope';
import { type AdapterParts, admit, queryOf, RIGHT } from '../right-adapter.ts';
import {
  ANY_ID,
  APART,
  BROKEN,
  ELSEWHERE,
  ENTITY,
  LET_IN,
  LONG,
  NAMED,
  OTHER,
  TWO,
} from '../titles.ts';
import type { WrongAdapters } from '../wrong-adapter.ts';

/** Reads a key from another place too. */
function readsToo(
  find: (req: IncomingMessage) => string | null | undefined,
): Partial<AdapterParts> {
  return {
    request(req) {
      const found = find(req);
      return req.headers.authorization === undefined && found ? `Bearer ${found}` : req;
    },
  };
}

export const WRONG_CREDENTIALS: WrongAdapters = {
  'passes req.headers, which hides a second line': {
    noticedBy: [TWO],
    change: () => ({ request: (req) => req.headers }),
  },
  'passes the last of two lines': {
    noticedBy: [TWO],
    change: () => ({ request: ({ headersDistinct: { authorization } }) => authorization?.at(-1) }),
  },
  'compares the scheme case-sensitively': {
    noticedBy: [LET_IN],
    change: () => ({
      request: (req) => (/^bearer /.test(req.headers.authorization ?? '') ? undefined : req),
    }),
  },
  'accepts any scheme': {
    noticedBy: [OTHER, TWO, ELSEWHERE],
    change: () => ({
      request(req) {
        const { authorization } = req.headers;
        return authorization === undefined ? req : `Bearer ${authorization.split(' ').at(-1)}`;
      },
    }),
  },
  'accepts a key as the user name of Basic': {
    noticedBy: [OTHER],
    change: () => ({
      request: (req) => {
        const [, basic = ''] = req.headers.authorization?.split('Basic ') ?? [];
        const [user = ''] = Buffer.from(basic, 'base64').toString('latin1').split(':');
        return user.startsWith('acme_') ? `Bearer ${user}` : req;
      },
    }),
  },
  'truncates a credential': {
    noticedBy: [LONG],
    change: () => ({
      request(req) {
        const { authorization = '' } = req.headers;
        return authorization.length > 16_384 ? authorization.slice(0, 100) : req;
      },
    }),
  },
  'reads the query too': {
    noticedBy: [ELSEWHERE],
    change: () => readsToo((req) => queryOf(req).get('access_token')),
  },
  'reads X-API-Key too': {
    noticedBy: [ELSEWHERE],
    change: () => readsToo((req) => req.headers['x-api-key'] as string),
  },
  'reads Api-Key too': {
    noticedBy: [ELSEWHERE],
    change: () => readsToo((req) => req.headers['api-key'] as string),
  },
  'reads X-API-Key next to another scheme': {
    noticedBy: [ELSEWHERE],
    change: () => ({
      request(req) {
        const { authorization, 'x-api-key': key } = req.headers;
        const besideBasic = authorization?.startsWith('Basic') && key !== undefined;
        return besideBasic ? `Bearer ${String(key)}` : req;
      },
    }),
  },
  'reads cookies too': {
    noticedBy: [ELSEWHERE],
    change: () => readsToo((req) => /token=(\w+)/.exec(req.headers.cookie ?? '')?.[1]),
  },
  'passes on the entity of a header': {
    noticedBy: [NAMED],
    change: () => ({
      admit: async (setup, request, input, req) => {
        const { principal, entityId } = await admit(setup, request, input);
        return { principal, entityId: String(req.headers['x-entity-uuid'] ?? entityId) };
      },
    }),
  },
  'trusts a header that marks internal calls': {
    noticedBy: [NAMED],
    change: () => ({ passes: (req) => req.headers['x-internal'] !== undefined }),
  },
  'copies the principal': {
    noticedBy: [LET_IN],
    change: () => ({ admit: async (...args) => structuredClone(await RIGHT.admit(...args)) }),
  },
  'passes on an empty principal': {
    noticedBy: [ANY_ID, LET_IN, NAMED, ENTITY, BROKEN, APART],
    change: () => ({
      admit: async (...args) => {
        const { entityId } = await RIGHT.admit(...args);
        return { principal: {} as Admission['principal'], entityId };
      },
    }),
  },
};

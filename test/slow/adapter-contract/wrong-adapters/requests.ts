/** Adapters that call the keyring too often or too rarely, or mix up requests. */
import type { IncomingMessage } from 'node:http';
import type { Admission } from 'keyscope';
import { AccessError } from 'keyscope';
import { admit, RIGHT } from '../right-adapter.ts';
import {
  ANY_ID,
  APART,
  BAD_ENTITY,
  BROKEN,
  BUG,
  DENIALS,
  ENTITY,
  HEAD,
  LET_IN,
  NAMED,
  ONCE,
} from '../titles.ts';
import type { WrongAdapters } from '../wrong-adapter.ts';

export const WRONG_REQUESTS: WrongAdapters = {
  'forgets to await': {
    noticedBy: [...DENIALS, LET_IN, ENTITY, BUG, APART, HEAD],
    change: () => ({
      admit: async (setup, request, input) => {
        admit(setup, request, input).catch(() => {});
        return {} as Admission;
      },
    }),
  },
  'keeps the caller in a module variable': {
    noticedBy: [APART],
    change: () => {
      let caller = {} as Admission;
      return {
        admit: async (...args) => {
          caller = await RIGHT.admit(...args);
          return caller;
        },
        handle: async (setup) => RIGHT.handle(setup, caller),
      };
    },
  },
  'gives the next admission to the request that waits longest': {
    noticedBy: [APART],
    change: () => {
      const waiting: ((admission: Admission) => void)[] = [];
      return {
        admit: (...args) =>
          new Promise((resolve, reject) => {
            waiting.push(resolve);
            RIGHT.admit(...args).then(
              (admission) => waiting.shift()?.(admission),
              (error) => {
                waiting.splice(waiting.indexOf(resolve), 1);
                reject(error);
              },
            );
          }),
      };
    },
  },
  'admits twice': {
    noticedBy: [ONCE],
    change: () => ({
      admit: async (...args) => {
        await RIGHT.admit(...args);
        return RIGHT.admit(...args);
      },
    }),
  },
  'caches the admission per connection': {
    noticedBy: [ONCE],
    change: () => {
      const known = new WeakMap<object, Promise<Admission>>();
      return {
        admit(setup, request, input, req) {
          const found = known.get(req.socket);
          if (found !== undefined && input.operation === 'whoami') return found;
          const admission = admit(setup, request, input);
          if (input.operation === 'whoami') known.set(req.socket, admission);
          return admission;
        },
      };
    },
  },
  'caches the admission per request headers': {
    noticedBy: [BAD_ENTITY, BROKEN, ONCE],
    change: () => {
      const kept = new Map<string, Promise<Admission>>();
      return {
        admit: (setup, request, input, req) => {
          const name = JSON.stringify([req.rawHeaders, input]);
          const admission = kept.get(name) ?? admit(setup, request, input);
          kept.set(name, admission);
          return admission;
        },
      };
    },
  },
  'denies a missing credential without calling the keyring': {
    noticedBy: [ONCE],
    change: () => ({
      admit: async (setup, request, input, req) => {
        if (req.headers.authorization === undefined) {
          throw new AccessError('missing_credentials', 'no_header');
        }
        return admit(setup, request, input);
      },
    }),
  },
  'authorizes without the keyring': {
    noticedBy: [BUG, ONCE],
    change: () => ({
      admit: async ({ keyring }, request, { operation, entityId: asked }) => {
        const principal = await keyring.authenticate(request as IncomingMessage);
        const options = { entityId: asked };
        const entityId = keyring.policy.authorize(principal, operation, options);
        return { principal, entityId };
      },
    }),
  },
  'runs a handler twice': {
    noticedBy: [ANY_ID, LET_IN, NAMED, ENTITY, BROKEN, APART],
    change: () => ({
      async handle(setup, admission) {
        await RIGHT.handle(setup, admission);
        return RIGHT.handle(setup, admission);
      },
    }),
  },
  'lets HEAD bypass the guard': {
    noticedBy: [HEAD],
    change: () => ({ passes: (req) => req.method === 'HEAD' }),
  },
};

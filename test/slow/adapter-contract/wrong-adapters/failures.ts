/** Adapters that treat a failure as a denial, or let a caller in because of it. */
import type { Admission } from 'keyscope';
import { isAccessError, isStoreError } from 'keyscope';
import { RIGHT } from '../right-adapter.ts';
import { ALIKE, BROKEN, BUG, DENIALS, HEAD, THROWS } from '../titles.ts';
import { unauthorized, type WrongAdapters } from '../wrong-adapter.ts';

function isDenial(error: unknown): boolean {
  return isAccessError(error) || isStoreError(error);
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}

export const WRONG_FAILURES: WrongAdapters = {
  'reports every error as a bad key': {
    noticedBy: [...DENIALS, BUG, HEAD],
    change: () => ({ deny: (_error, setup) => unauthorized(setup) }),
  },
  'reports a bug as a bad key': {
    noticedBy: [BUG],
    change: () => ({
      deny: (error, setup, req) =>
        isDenial(error) ? RIGHT.deny(error, setup, req) : unauthorized(setup),
    }),
  },
  'lets callers in after a bug': {
    noticedBy: [BUG],
    change: () => ({
      deny: (error, setup, req) => (isDenial(error) ? RIGHT.deny(error, setup, req) : null),
    }),
  },
  'lets callers in after a falsy error': {
    noticedBy: [BUG],
    change: () => ({ deny: (error, setup, req) => (error ? RIGHT.deny(error, setup, req) : null) }),
  },
  'recognises denials by their code': {
    noticedBy: [ALIKE, BUG],
    change: () => ({
      deny: (error, setup, req) =>
        codeOf(error) === 'invalid_token' ? unauthorized(setup) : RIGHT.deny(error, setup, req),
    }),
  },
  'runs the handler after a bug': {
    noticedBy: [BUG],
    change: () => ({
      deny(error, setup, req) {
        if (!isDenial(error)) setup.handle({} as Admission['principal'], '');
        return RIGHT.deny(error, setup, req);
      },
    }),
  },
  'adds a challenge to server errors': {
    noticedBy: [BUG, THROWS],
    change: () => ({
      fail: (res) => res.writeHead(500, { 'WWW-Authenticate': 'Bearer realm="acme"' }).end(),
    }),
  },
  'reports an outage as a bad key': {
    noticedBy: [BROKEN],
    change: () => ({
      deny: (error, setup, req) =>
        isStoreError(error) ? unauthorized(setup) : RIGHT.deny(error, setup, req),
    }),
  },
  'lets callers in while the store is broken': {
    noticedBy: [BROKEN],
    change: () => ({
      deny: (error, setup, req) => (isStoreError(error) ? null : RIGHT.deny(error, setup, req)),
    }),
  },
  'reports the errors of handlers as denials': {
    noticedBy: [BUG, THROWS],
    change: () => ({
      fail: (res, _error, setup) => res.writeHead(401, unauthorized(setup).headers).end(),
    }),
  },
  'runs a throwing handler again': {
    noticedBy: [THROWS],
    change: () => ({
      async handle(setup, admission) {
        try {
          return await RIGHT.handle(setup, admission);
        } catch {
          return RIGHT.handle(setup, admission);
        }
      },
    }),
  },
  'answers the error of a handler with 200': {
    noticedBy: [THROWS],
    change: () => ({
      handle: (setup, admission) => RIGHT.handle(setup, admission).catch(() => 'failed'),
    }),
  },
  'denies a request and runs the handler': {
    noticedBy: [...DENIALS, HEAD],
    change: () => ({
      deny(error, setup, req) {
        const answer = RIGHT.deny(error, setup, req);
        setup.handle({} as Admission['principal'], '');
        return answer;
      },
    }),
  },
};

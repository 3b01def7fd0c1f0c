/** Adapters that take a failure for a denial, or let somebody in because of it. */
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
  'takes every error for a bad key': {
    noticedBy: [...DENIALS, BUG, HEAD],
    change: () => ({ deny: (_error, setup) => unauthorized(setup) }),
  },
  'takes a bug for a bad key': {
    noticedBy: [BUG],
    change: () => ({
      deny: (error, setup, req) =>
        isDenial(error) ? RIGHT.deny(error, setup, req) : unauthorized(setup),
    }),
  },
  'lets in where there is a bug': {
    noticedBy: [BUG],
    change: () => ({
      deny: (error, setup, req) => (isDenial(error) ? RIGHT.deny(error, setup, req) : null),
    }),
  },
  'lets in where what is thrown is no error': {
    noticedBy: [BUG],
    change: () => ({ deny: (error, setup, req) => (error ? RIGHT.deny(error, setup, req) : null) }),
  },
  'takes a code for a brand': {
    noticedBy: [ALIKE, BUG],
    change: () => ({
      deny: (error, setup, req) =>
        codeOf(error) === 'invalid_token' ? unauthorized(setup) : RIGHT.deny(error, setup, req),
    }),
  },
  'runs the handler where there is a bug': {
    noticedBy: [BUG],
    change: () => ({
      deny(error, setup, req) {
        if (!isDenial(error)) setup.handle({} as Admission['principal'], '');
        return RIGHT.deny(error, setup, req);
      },
    }),
  },
  'adds a challenge to errors of its own': {
    noticedBy: [BUG, THROWS],
    change: () => ({
      fail: (res) => res.writeHead(500, { 'WWW-Authenticate': 'Bearer realm="acme"' }).end(),
    }),
  },
  'takes an outage for a bad key': {
    noticedBy: [BROKEN],
    change: () => ({
      deny: (error, setup, req) =>
        isStoreError(error) ? unauthorized(setup) : RIGHT.deny(error, setup, req),
    }),
  },
  'lets in while the store is broken': {
    noticedBy: [BROKEN],
    change: () => ({
      deny: (error, setup, req) => (isStoreError(error) ? null : RIGHT.deny(error, setup, req)),
    }),
  },
  'takes the errors of handlers for denials': {
    noticedBy: [BUG, THROWS],
    change: () => ({
      fail: (res, _error, setup) => res.writeHead(401, unauthorized(setup).headers).end(),
    }),
  },
  'runs a handler again that throws': {
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
  'denies and goes on': {
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

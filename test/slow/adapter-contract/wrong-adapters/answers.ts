/** Adapters that answer something else than `toResponse` says, or more than that. */
import type { DenialResponse, StoreError } from 'keyscope';
import { causeOf, isAccessError, isStoreError } from 'keyscope';
import { RIGHT } from '../right-adapter.ts';
import {
  ALIKE,
  BAD_ENTITY,
  BROKEN,
  CHALLENGED,
  DENIALS,
  HEAD,
  LONG,
  NO_STORE,
  ONCE,
  OTHER,
  SCOPE,
  TWO,
} from '../titles.ts';
import { denyWith, denyWithout, type WrongAdapters, withHeaders } from '../wrong-adapter.ts';

/** The text of the driver's error that broke the store. */
function driverText(error: StoreError): string {
  const cause = causeOf(error);
  return cause instanceof Error ? cause.message : '';
}

export const WRONG_ANSWERS: WrongAdapters = {
  'answers JSON of its own': {
    noticedBy: DENIALS,
    change: () => denyWith((answer) => ({ ...answer, body: JSON.stringify({ error: 'denied' }) })),
  },
  'adds a charset': {
    noticedBy: DENIALS,
    change: () =>
      denyWith((answer) =>
        withHeaders(answer, { 'Content-Type': 'application/problem+json; charset=utf-8' }),
      ),
  },
  'writes the challenge by hand': {
    noticedBy: DENIALS,
    change: () =>
      denyWith((answer) => withHeaders(answer, { 'WWW-Authenticate': 'Bearer realm="acme"' })),
  },
  'names no metadata': {
    noticedBy: CHALLENGED,
    change: () => ({
      deny: (error, { realm, ...setup }, req) =>
        RIGHT.deny(error, { ...setup, realm, resourceMetadata: undefined as never }, req),
    }),
  },
  'leaves the challenge out': {
    noticedBy: CHALLENGED,
    change: () => denyWithout('WWW-Authenticate'),
  },
  'leaves Retry-After out': { noticedBy: [BROKEN], change: () => denyWithout('Retry-After') },
  'forgets no-store': { noticedBy: [NO_STORE], change: () => ({ headers: {} }) },
  'lets denials be stored': {
    noticedBy: [NO_STORE, ...DENIALS],
    change: () => ({ headers: {}, ...denyWithout('Cache-Control') }),
  },
  'says the reason': {
    noticedBy: [ALIKE],
    change: () =>
      denyWith((answer, error) =>
        isAccessError(error) ? withHeaders(answer, { 'X-Reason': error.reason }) : answer,
      ),
  },
  'says the key': {
    noticedBy: [OTHER, LONG, TWO, ALIKE, SCOPE, BAD_ENTITY, BROKEN, ONCE, HEAD],
    change: () => ({
      deny: (error, setup, req) =>
        withHeaders(RIGHT.deny(error, setup, req) as DenialResponse, {
          'X-Got': req.headers.authorization?.slice(0, 200) ?? '',
        }),
    }),
  },
  'says what the driver said': {
    noticedBy: [BROKEN],
    change: () =>
      denyWith((answer, error) =>
        isStoreError(error)
          ? withHeaders(answer, { 'X-Error': driverText(error).slice(0, 31) })
          : answer,
      ),
  },
  'says the digest that the driver said': {
    noticedBy: [BROKEN],
    change: () =>
      denyWith((answer, error) =>
        isStoreError(error)
          ? withHeaders(answer, { 'X-Error': driverText(error).slice(-64) })
          : answer,
      ),
  },
};

/** Adapters whose answers differ from `toResponse`, or reveal more. */
import type { DenialResponse, StoreError } from 'keyscope';
import { causeOf, isAccessError, isStoreError } from 'keyscope';
import { RIGHT } from '../right-adapter.ts';
import {
  ALIKE,
  ANY_ID,
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

/** Returns the text of the driver's error. */
function driverText(error: StoreError): string {
  const cause = causeOf(error);
  return cause instanceof Error ? cause.message : '';
}

export const WRONG_ANSWERS: WrongAdapters = {
  'answers its own JSON': {
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
  'omits the metadata': {
    noticedBy: CHALLENGED,
    change: () => ({
      deny: (error, { realm, ...setup }, req) =>
        RIGHT.deny(error, { ...setup, realm, resourceMetadata: undefined as never }, req),
    }),
  },
  'omits the challenge': { noticedBy: CHALLENGED, change: () => denyWithout('WWW-Authenticate') },
  'omits Retry-After': { noticedBy: [BROKEN], change: () => denyWithout('Retry-After') },
  'omits no-store in answers of handlers': {
    noticedBy: [NO_STORE],
    change: () => ({ headers: {} }),
  },
  'omits no-store everywhere': {
    noticedBy: [NO_STORE, ...DENIALS],
    change: () => ({ headers: {}, ...denyWithout('Cache-Control') }),
  },
  'reveals the reason': {
    noticedBy: [ALIKE],
    change: () =>
      denyWith((answer, error) =>
        isAccessError(error) ? withHeaders(answer, { 'X-Reason': error.reason }) : answer,
      ),
  },
  'reveals the key': {
    noticedBy: [ANY_ID, OTHER, LONG, TWO, ALIKE, SCOPE, BAD_ENTITY, BROKEN, ONCE, HEAD],
    change: () => ({
      deny: (error, setup, req) =>
        withHeaders(RIGHT.deny(error, setup, req) as DenialResponse, {
          'X-Got': req.headers.authorization?.slice(0, 200) ?? '',
        }),
    }),
  },
  "reveals the driver's text": {
    noticedBy: [BROKEN],
    change: () =>
      denyWith((answer, error) =>
        isStoreError(error)
          ? withHeaders(answer, { 'X-Error': driverText(error).slice(0, 31) })
          : answer,
      ),
  },
  "reveals the digest in the driver's text": {
    noticedBy: [BROKEN],
    change: () =>
      denyWith((answer, error) =>
        isStoreError(error)
          ? withHeaders(answer, { 'X-Error': driverText(error).slice(-64) })
          : answer,
      ),
  },
};

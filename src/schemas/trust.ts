/** The schema of a new trust: who may act as a key without a secret. */
import * as z from 'zod';
import type { Trust } from '../core/trust.js';
import { ISSUER, isIssuer, memberOf } from '../management/keyless.js';
import { closedObject } from './closed-object.js';
import { CLEAN_PATTERN } from './person-text.js';
import { type Pair, tableOf } from './string-table.js';

const issuerRule =
  'trust: the issuer is an https URL of at most 255 characters, ' +
  'without user information, query and fragment';

const issuer = z.string(issuerRule).refine(isIssuer, issuerRule).meta({ pattern: ISSUER.source });

/** The most claims, and the most values of one. */
const MOST = 8;
const MAX_NAME = 128;
const MAX_VALUE = 512;
const MAX_BYTES = 4096;

const claimsRule =
  'trust: 1 to 8 claims of an identity (not iss, aud, exp, iat, nbf, jti), each with ' +
  'a text of 1 to 512 visible characters or a list of 1 to 8 different ones; ' +
  'no API keys; 4096 bytes in all';

// JSON Schema cannot express the size in bytes.
const valueJson = { type: 'string', minLength: 1, maxLength: MAX_VALUE, pattern: CLEAN_PATTERN };
const listJson = {
  type: 'array',
  minItems: 1,
  maxItems: MOST,
  uniqueItems: true,
  items: valueJson,
};

const claims = tableOf({
  holds: areClaims,
  instead: claimsRule,
  json: {
    minProperties: 1,
    maxProperties: MOST,
    propertyNames: {
      minLength: 1,
      maxLength: MAX_NAME,
      allOf: [
        { pattern: CLEAN_PATTERN },
        { pattern: `^(?!/?(?:iss|aud|exp|iat|nbf|jti)$)(?!.*["\\\\])(?!/.*~(?![01]))` },
      ],
    },
    additionalProperties: { anyOf: [valueJson, listJson] },
  },
  max: MOST,
});

function areClaims(pairs: readonly Pair[]): boolean {
  return pairs.length > 0 && pairs.every(([name, wanted]) => memberOf(name, wanted) !== null);
}

/**
 * The `trust` of a new key. Not checked: whether a verifier of the keyring lists the issuer, and
 * whether it finds a claim there that the issuer gives to nobody else.
 */
export const trust: z.ZodType<Trust, Trust> = closedObject(
  z.strictObject({ issuer, claims }).refine((whole) => {
    // Canonical JSON (RFC 8785) has the same length: it only sorts the names.
    return new TextEncoder().encode(JSON.stringify(whole)).length <= MAX_BYTES;
  }, claimsRule),
);

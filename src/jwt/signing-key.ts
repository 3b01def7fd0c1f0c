/** Reads the private key that signs tokens, in any of the usual forms. */
import { assert } from '../core/input.js';
import { canSignWith, describeKey, isJwkFor, type TokenAlgorithm } from './algorithms.js';
import { type CryptoKey, importJWK, importPKCS8, type JWK } from './jose.js';

/** A PKCS#8 PEM file (RFC 7468 §10) with one unencrypted key. */
const PEM = /^-----BEGIN PRIVATE KEY-----[A-Za-z0-9+/=\s]+-----END PRIVATE KEY-----$/;

/** Extractable, because the public key is derived from it. */
const EXTRACTABLE = { extractable: true };

/** Returns the key. The first call imports it. */
export type LoadKey = () => Promise<CryptoKey>;

/** The part of a Node `KeyObject` that we use. */
interface NodeKey {
  export(options: { readonly format: 'jwk' }): JWK;
}

/**
 * Checks a private key as far as possible, and returns a function that imports it on first use and
 * checks the rest. Both throw the same `TypeError`, because errors of jose or the runtime may quote
 * the key.
 */
export function readSigningKey(given: unknown, algorithm: TokenAlgorithm): LoadKey {
  const instead =
    `privateKey: pass a private key for ${algorithm} (${describeKey(algorithm)}; RSA from 2,048 ` +
    'bits): a JWK object, a CryptoKey, a KeyObject, or PKCS#8 PEM text (BEGIN PRIVATE KEY) with ' +
    'its line breaks';

  if (tagOf(given) === 'CryptoKey') {
    const key = given as CryptoKey;
    assert(canSignWith(key, algorithm), instead);
    return async () => key;
  }

  if (typeof given === 'string') {
    const pem = given.trim();
    assert(PEM.test(pem), instead);
    return importOnUse(() => importPKCS8(pem, algorithm, EXTRACTABLE), algorithm, instead);
  }

  const jwk = toJwk(given);
  const isPrivate = typeof jwk?.d === 'string';
  assert(jwk !== undefined && isPrivate && isJwkFor(jwk, algorithm), instead);
  // The caller may change the object before it is imported.
  const copy = structuredClone(jwk);
  return importOnUse(() => importJWK(copy, algorithm, EXTRACTABLE), algorithm, instead);
}

/** Unlike `instanceof`, the tag recognises keys from other realms and needs no Node type. */
function tagOf(value: unknown): unknown {
  return (value as { readonly [Symbol.toStringTag]?: unknown } | null | undefined)?.[
    Symbol.toStringTag
  ];
}

/** Converts a key to an unchecked JWK; `undefined` if that is not possible. */
function toJwk(given: unknown): JWK | undefined {
  if (tagOf(given) === 'KeyObject') return exportKeyObject(given as NodeKey);
  return typeof given === 'object' && given !== null ? given : undefined;
}

function exportKeyObject(key: NodeKey): JWK | undefined {
  try {
    return key.export({ format: 'jwk' });
  } catch {
    // Some kinds of keys cannot be written as a JWK.
    return undefined;
  }
}

function importOnUse(
  load: () => Promise<unknown>,
  algorithm: TokenAlgorithm,
  instead: string,
): LoadKey {
  let key: CryptoKey | undefined;

  return async () => {
    if (key === undefined) key = await importOrFail(load, instead);
    assert(canSignWith(key, algorithm), instead);
    return key;
  };
}

async function importOrFail(load: () => Promise<unknown>, instead: string): Promise<CryptoKey> {
  try {
    return (await load()) as CryptoKey;
  } catch {
    throw new TypeError(instead);
  }
}

/**
 * `npx node examples/platform/host/new-signing-key.ts`: makes a signing key. Prints the private
 * key, for KEYSCOPE_SIGNING_KEY, and the set of its public part, for KEYSCOPE_OTHER_KEYS.
 */
import type { JSONWebKeySet, JWK } from 'jose';
import { calculateJwkThumbprint } from 'jose';
import { ALG, generate } from './tokens.ts';

/** The public part of a private key, as the service publishes it. */
async function publicSet(text: string): Promise<JSONWebKeySet> {
  const { d: _private, ...part } = JSON.parse(text) as JWK;
  const kid = await calculateJwkThumbprint(part);
  return { keys: [{ ...part, kid, alg: ALG, use: 'sig' }] };
}

const key = await generate();
console.log(`${key}\n${JSON.stringify(await publicSet(key))}`);

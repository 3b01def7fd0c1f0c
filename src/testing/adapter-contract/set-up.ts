/**
 * Tests that an adapter rejects invalid options when it makes a guard, not at the first request.
 */
import { definePolicy } from '../../core/policy.js';
import { check } from '../assertions.js';
import type { AdapterSetup, ServeAdapter, ServedAdapter } from './serve-adapter.js';
import { catalog, createService } from './service.js';

/** Makes an option invalid, which the types do not allow. */
type Spoil = (setup: AdapterSetup) => { readonly [Option in keyof AdapterSetup]?: unknown };

/**
 * The invalid options, by the name of their test.
 *
 * Catches: looking up the operation only at the first request, and writing the challenge only at
 * the first denial.
 */
export const REFUSED_AT_SET_UP: Readonly<Record<string, Spoil>> = {
  'throws at set-up if the policy lacks the operation': ({ keyring }) => ({
    keyring: { ...keyring, policy: definePolicy(catalog, { whoami: [] }) },
  }),
  'throws at set-up if no header can carry the realm': () => ({ realm: 'a\r\nb' }),
  'throws at set-up without a keyring': () => ({ keyring: undefined }),
};

/**
 * Fails unless `serve` throws a TypeError on the invalid option, before any request.
 */
export async function refusesToServe(serve: ServeAdapter, spoil: Spoil): Promise<void> {
  const { setup: sound } = createService();
  const setup = { ...sound, ...spoil(sound) } as AdapterSetup;
  let served: ServedAdapter;
  try {
    served = await serve(setup);
  } catch (error) {
    const isTypeError = error instanceof TypeError;
    check(isTypeError, `serve must throw a TypeError, but it threw ${describeError(error)}`);
    return;
  }
  await served?.close?.();
  throw new Error(
    'serve must throw a TypeError, but it started the app. When you make a guard, call ' +
      'keyring.policy.requires(operation) and ' +
      'toResponse(undefined, { realm, resourceMetadata }), and check that keyring.admit is a ' +
      'function',
  );
}

function describeError(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

/**
 * Tests that an adapter refuses invalid options when a guard is made, not at the first request.
 */
import { definePolicy } from '../../core/policy.js';
import { check } from '../assertions.js';
import type { AdapterSetup, ServeAdapter, ServedAdapter } from './serve-adapter.js';
import { catalog, createService } from './service.js';

/** The invalid options of a setup, which the types do not allow. */
type UnusableSetup = { readonly [Option in keyof AdapterSetup]?: unknown };

/**
 * Setups that no app may start with, by the name of the test.
 *
 * Catches: an operation that is looked up only at the first request, a challenge that is written
 * only at the first denial.
 */
export const REFUSED_AT_SET_UP: Readonly<Record<string, UnusableSetup>> = {
  'throws at set-up if the policy lacks the operation': {
    policy: definePolicy(catalog, { whoami: [] }),
  },
  'throws at set-up if no header can carry the realm': { realm: 'a\r\nb' },
  'throws at set-up without a keyring': { keyring: undefined },
};

/**
 * Fails unless serving with an unusable option throws a TypeError, before any request could reveal
 * it.
 */
export async function refusesToServe(serve: ServeAdapter, unusable: UnusableSetup): Promise<void> {
  const setup = { ...createService().setup, ...unusable } as AdapterSetup;
  let served: ServedAdapter;
  try {
    served = await serve(setup);
  } catch (error) {
    check(error instanceof TypeError, `serve must throw a TypeError, not ${describeError(error)}`);
    return;
  }
  await served?.close?.();
  throw new Error(
    'serve must throw a TypeError, and it started the app: when a guard is made, call ' +
      'policy.requires(operation) and toResponse(undefined, { realm, resourceMetadata }), and ' +
      'look for keyring.admit',
  );
}

function describeError(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

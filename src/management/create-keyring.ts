/** Makes the keyring: all operations in one frozen object with one configuration. */
import { admit } from '../core/admit.js';
import { authenticate } from '../core/authenticate.js';
import type { Catalog } from '../core/catalog.js';
import { type Context, createContext, type KeyringOptions } from '../core/context.js';
import { isAccessError } from '../core/errors.js';
import type { ManagementAction } from '../core/events.js';
import { verify } from '../core/verify.js';
import type { CheckedAuthority, CheckedGrant, GrantAuthority } from './authority.js';
import { readAuthority, readGrantAuthority } from './authority.js';
import { identify } from './identify.js';
import { issue } from './issue.js';
import { issueKeyless } from './keyless.js';
import type { AnyAuthority, Keyring } from './keyring.js';
import { revokeLineage } from './lineage.js';
import { get, type ListInput, type ListPage, list } from './list.js';
import { revoke } from './revoke.js';
import { rotate } from './rotate.js';
import { resume, suspend } from './suspend.js';
import { tellDenial } from './trail.js';
import { requireOwnPrefix } from './vendors.js';
import { withdraw } from './withdraw.js';

/**
 * Makes a keyring. Checks and copies the options, so that a bad configuration fails at start-up.
 *
 * Not checked: whether the store can be reached.
 *
 * @throws TypeError that says what to write instead.
 * @example
 * const store = memoryStore();
 * const keyring = createKeyring({ prefix: 'acme', policy, store, peppers: 'none' });
 */
export function createKeyring<C extends Catalog, Operation extends string = never>(
  options: KeyringOptions<C, Operation>,
): Keyring<C, Operation> {
  const context = createContext(options);
  requireOwnPrefix(options);
  const { policy, catalog, format } = context;
  const keyring = {
    prefix: format.prefix,
    catalog,
    policy,
    ...createManagement(context),
    ...createRequests(context),
  };
  // The types of the options say which policy and catalog these are.
  return Object.freeze(keyring) as unknown as Keyring<C, Operation>;
}

type Requests = Pick<Keyring, 'identify' | 'verify' | 'authenticate' | 'admit' | 'flush'>;

/** The methods are asynchronous, so that none throws synchronously. */
function createRequests(context: Context): Requests {
  return {
    identify: async (key, given) => identify(context, key, given),
    verify: async (key) => verify(context, key),
    authenticate: async (request, given) => authenticate(context, request, given),
    admit: (request, input) => admit(context, request, input),
    flush: context.usage.flush,
  };
}

type Management = Pick<Keyring, ManagementAction>;

function createManagement(context: Context): Management {
  const { entityKind } = context;

  /** An operation on one key. */
  type OnKey<T> = (context: Context, authority: CheckedAuthority, keyId: string) => Promise<T>;

  function onKey<T>(action: ManagementAction, operation: OnKey<T>) {
    return async (keyId: string, given: AnyAuthority): Promise<T> =>
      tellDenial(context, action, readAuthority(entityKind, given), keyId, (authority) =>
        operation(context, authority, keyId),
      );
  }

  /** An operation that makes a key. */
  type Making<Input, T> = (context: Context, authority: CheckedGrant, input: Input) => Promise<T>;

  function making<Input, T>(action: ManagementAction, operation: Making<Input, T>) {
    return async (input: Input, given: GrantAuthority): Promise<T> =>
      tellDenial(context, action, readGrantAuthority(entityKind, given), null, (authority) =>
        operation(context, authority, input),
      );
  }

  const requireKey = onKey('get', get);

  return {
    issue: making('issue', issue),
    issueKeyless: making('issueKeyless', issueKeyless),
    rotate: async (keyId, input, given) =>
      tellDenial(context, 'rotate', readGrantAuthority(entityKind, given), keyId, (authority) =>
        rotate(context, authority, keyId, input),
      ),
    revoke: onKey('revoke', revoke),
    revokeLineage: onKey('revokeLineage', revokeLineage),
    suspend: onKey('suspend', suspend),
    resume: onKey('resume', resume),
    withdraw: onKey('withdraw', withdraw),
    list: async (input: ListInput | undefined, given: AnyAuthority) =>
      list(context, readAuthority(entityKind, given), input) as Promise<ListPage<never>>,
    get: (keyId, given) => requireKey(keyId, given).catch(nullIfNotFound),
  };
}

function nullIfNotFound(error: unknown): null {
  if (isAccessError(error) && error.code === 'not_found') return null;
  throw error;
}

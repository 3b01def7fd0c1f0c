/** What a change of a service lets in, and whom it shuts out. */
import { readFields } from '../../core/input.js';
import { type AccessLock, type LockedRoute, whoMay } from './access-lock.js';

/** What became of a route. */
export type RouteChangeKind =
  /** Somebody may call it who could not before, or can be given the right by a wildcard. */
  | 'widened'
  /** Somebody may not call it any more. */
  | 'narrowed'
  /** It is new. */
  | 'added'
  /** It is gone. */
  | 'removed'
  /** It has other operations that need the same, another reason to have none, or another hint. */
  | 'changed'
  /** It has no guard, and nobody wrote why. */
  | 'unguarded';

/** A change of one route. A route may be widened and narrowed at once. */
export interface RouteChange {
  readonly kind: RouteChangeKind;
  /** `GET /v1/threats` or `TOOL list_threats`. */
  readonly route: string;
  /** A sentence that says it, without the route. */
  readonly what: string;
  /** Its operations before and after; null where it was not or is not there. */
  readonly before: readonly string[] | null;
  readonly after: readonly string[] | null;
}

/** A key that may do more than before. */
export interface KeyGain {
  readonly keyId: string;
  readonly prefix: string;
  readonly hint: string;
  readonly name: string;
  readonly entityUuid: string;
  /** The widened and the new routes that it may call now and could not before. */
  readonly routes: readonly string[];
}

/** What {@link diffLocks} needs of a live key: a `KeyInfo` has it. */
export interface GrantedKey extends Omit<KeyGain, 'routes'> {
  readonly scopes: readonly string[];
}

/** The scopes that came, went, or changed how they are granted; sorted. */
export interface CatalogChange {
  readonly joined: readonly string[];
  readonly left: readonly string[];
  readonly reserved: readonly string[];
  readonly unreserved: readonly string[];
}

/** What lies between two locks. */
export interface LockDiff {
  /** Nothing at all, and nothing in `after` is without a guard for no reason. */
  readonly isEmpty: boolean;
  readonly widened: readonly RouteChange[];
  readonly narrowed: readonly RouteChange[];
  readonly added: readonly RouteChange[];
  readonly removed: readonly RouteChange[];
  readonly changed: readonly RouteChange[];
  /** Of `after`, also where nothing changed. */
  readonly unguarded: readonly RouteChange[];
  readonly catalog: CatalogChange;
  /** The live keys that gain something, if `keys` were passed. */
  readonly gains: readonly KeyGain[];
}

/** What else is to be looked at. */
export interface DiffLocksOptions {
  /** The live keys, to name those that gain. */
  readonly keys?: Iterable<GrantedKey> | undefined;
}

/**
 * Says what lies between two locks. Judged over all sets of scopes that a key may have, and over
 * everything that can be granted: a scope that is reserved no more widens what needs it, because a
 * wildcard hands it out from then on.
 *
 * Not checked: which organizations a key may address, and what handlers do.
 *
 * @example
 * const { widened, unguarded } = diffLocks(committed, lockOf({ catalog, policy, routes }));
 */
export function diffLocks(
  before: AccessLock,
  after: AccessLock,
  options: DiffLocksOptions = {},
): LockDiff {
  const { keys = [] } = readFields(options, ['keys'], 'diffLocks') as DiffLocksOptions;
  const names = new Set([...before.routes.keys(), ...after.routes.keys()]);
  const changes = [...names].flatMap((name) => changesOf(name, before, after));
  const of = (kind: RouteChangeKind): readonly RouteChange[] => {
    return changes.filter((change) => change.kind === kind);
  };
  const catalog = diffCatalogs(before, after);
  const opened = [...of('widened'), ...of('added')].map(({ route }) => route);
  const gains = opened.length === 0 ? [] : [...keys].flatMap(gainOf);
  const isSame = Object.values(catalog).every((scopes: readonly string[]) => scopes.length === 0);
  return Object.freeze<LockDiff>({
    isEmpty: changes.length === 0 && isSame,
    widened: of('widened'),
    narrowed: of('narrowed'),
    added: of('added'),
    removed: of('removed'),
    changed: of('changed'),
    unguarded: of('unguarded'),
    catalog,
    gains,
  });

  function gainOf({ keyId, prefix, hint, name, entityUuid, scopes }: GrantedKey): KeyGain[] {
    const held = new Set(scopes);
    const routes = opened.filter((route) => {
      return isOpenTo(after.routes.get(route), held) && !isOpenTo(before.routes.get(route), held);
    });
    return routes.length === 0 ? [] : [{ keyId, prefix, hint, name, entityUuid, routes }];
  }
}

/** Whether a key with these scopes may call a route. */
function isOpenTo(route: LockedRoute | undefined, held: ReadonlySet<string>): boolean {
  return route?.scopes.every((scope) => held.has(scope)) ?? false;
}

function diffCatalogs(before: AccessLock, after: AccessLock): CatalogChange {
  const stays = (scope: string): boolean => before.scopes.includes(scope);
  return {
    joined: after.scopes.filter((scope) => !stays(scope)),
    left: before.scopes.filter((scope) => !after.scopes.includes(scope)),
    reserved: after.reserved.filter((scope) => stays(scope) && !before.reserved.includes(scope)),
    unreserved: before.reserved.filter((scope) => {
      return after.scopes.includes(scope) && !after.reserved.includes(scope);
    }),
  };
}

function changesOf(route: string, old: AccessLock, now: AccessLock): readonly RouteChange[] {
  const before = old.routes.get(route);
  const after = now.routes.get(route);
  const sides = { before: before?.operations ?? null, after: after?.operations ?? null };
  const changes: RouteChange[] = [];
  function add(kind: RouteChangeKind, what: string): void {
    changes.push(Object.freeze({ kind, route, what, ...sides }));
  }
  if (after === undefined) add('removed', 'is gone');
  else if (before === undefined) add('added', `is new, for ${whoMay(after)}`);
  else {
    const wider = widening(before, after, old, now);
    const narrower = widening(after, before, now, old);
    if (wider !== null) add('widened', wider);
    if (narrower !== null) add('narrowed', narrowing(before, after, old, now));
    const isRenamed = before.operations.join(' ') !== after.operations.join(' ');
    const isAsOpen = wider === null && narrower === null;
    const hints = hintsOf(after);
    if (isRenamed && isAsOpen) add('changed', renaming(before, after));
    if (isAsOpen && before.reason !== after.reason && after.reason !== null) {
      add('changed', `has another reason to have no guard: ${after.reason}`);
    }
    if (isAsOpen && hintsOf(before) !== hints) add('changed', `has before it now: ${hints}`);
    const { handlers = 1 } = after;
    if (isAsOpen && (before.handlers ?? 1) !== handlers) {
      add('changed', `has another number of handlers: ${handlers}`);
    }
  }
  if (after !== undefined && isUnguarded(after) && after.reason === null) {
    add('unguarded', 'has no guard, and nobody wrote why');
  }
  return changes;
}

function hintsOf({ behind = [] }: LockedRoute): string {
  return behind.length === 0 ? 'no guard' : behind.join(' and ');
}

function isUnguarded({ operations }: LockedRoute): boolean {
  return operations.length === 0;
}

/**
 * What lets somebody in, or null. Somebody is a set of scopes, or what can be granted by wildcards:
 * the route is wider if it needs a scope no longer, or if one that it needs is reserved no longer.
 */
function widening(
  before: LockedRoute,
  after: LockedRoute,
  old: AccessLock,
  now: AccessLock,
): string | null {
  if (isUnguarded(before)) return null;
  if (isUnguarded(after))
    return `has no guard of its own any more, which was ${operationsOf(before)}`;
  const dropped = before.scopes.filter((scope) => !after.scopes.includes(scope));
  const kept = before.scopes.filter((scope) => after.scopes.includes(scope));
  const freed = kept.filter((scope) => {
    return old.reserved.includes(scope) && !now.reserved.includes(scope);
  });
  const parts: string[] = [];
  if (dropped.length > 0) {
    parts.push(`needs ${dropped.join(', ')} no longer${movement(before, after)}`);
  }
  if (freed.length > 0) {
    parts.push(`needs ${freed.join(', ')}, which is reserved no longer: wildcards grant it`);
  }
  return parts.length === 0 ? null : `${parts.join('; ')}. It is for ${whoMay(after)}`;
}

function narrowing(
  before: LockedRoute,
  after: LockedRoute,
  old: AccessLock,
  now: AccessLock,
): string {
  if (isUnguarded(before)) return `has a guard now, and is for ${whoMay(after)}`;
  const needed = after.scopes.filter((scope) => !before.scopes.includes(scope));
  const kept = before.scopes.filter((scope) => after.scopes.includes(scope));
  const held = kept.filter((scope) => {
    return now.reserved.includes(scope) && !old.reserved.includes(scope);
  });
  const parts: string[] = [];
  if (needed.length > 0) parts.push(`needs ${needed.join(', ')}, too${movement(before, after)}`);
  if (held.length > 0) parts.push(`needs ${held.join(', ')}, which no wildcard grants any more`);
  return parts.join('; ');
}

function movement(before: LockedRoute, after: LockedRoute): string {
  const isMoved = operationsOf(before) !== operationsOf(after);
  return isMoved ? ` (${operationsOf(before)} is now ${operationsOf(after)})` : '';
}

function renaming(before: LockedRoute, after: LockedRoute): string {
  return `is ${operationsOf(after)}, which was ${operationsOf(before)}, for the same keys`;
}

function operationsOf({ operations }: LockedRoute): string {
  return operations.join(' and ');
}

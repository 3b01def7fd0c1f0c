/** Finds the routes that a change of a service opens or closes to callers. */
import { readFields } from '../../core/input.js';
import { type AccessLock, type LockedRoute, whoMay } from './access-lock.js';

/** The kind of change of a route. */
export type RouteChangeKind =
  /** It lets in callers that it denied before, or wildcards now grant a scope that it needs. */
  | 'widened'
  /** It denies callers that it let in before, or wildcards no longer grant a scope. */
  | 'narrowed'
  /** The route is new. */
  | 'added'
  /** The route was removed. */
  | 'removed'
  /** The same callers may call it, but its operations, its reason or a hint changed. */
  | 'changed'
  /** It is new or was removed, has no guard, and a pattern of both locks gives its reason. */
  | 'covered'
  /** The route has no guard and no reason, or lost a guard before it and kept its old reason. */
  | 'unguarded';

/** A change of one route. A route may be widened and narrowed at once. */
export interface RouteChange {
  readonly kind: RouteChangeKind;
  /** `GET /v1/threats` or `TOOL list_threats`. */
  readonly route: string;
  /** The change as a sentence whose subject is the route. */
  readonly what: string;
  /** The operations before and after; null if the route did not or does not exist. */
  readonly before: readonly string[] | null;
  readonly after: readonly string[] | null;
}

/** A key that may do more than before. */
export interface KeyGain {
  readonly keyId: string;
  readonly prefix: string;
  readonly hint: string;
  readonly name: string;
  readonly entityId: string;
  /** The widened and new routes that it can call now, but could not before. */
  readonly routes: readonly string[];
}

/** A live key for {@link diffLocks}. You can pass a `KeyInfo`. */
export interface GrantedKey extends Omit<KeyGain, 'routes'> {
  readonly scopes: readonly string[];
}

/** The scopes that were added or removed, or that became reserved or unreserved; each sorted. */
export interface CatalogChange {
  readonly joined: readonly string[];
  readonly left: readonly string[];
  readonly reserved: readonly string[];
  readonly unreserved: readonly string[];
}

/** The difference of two locks. */
export interface LockDiff {
  /**
   * Whether nothing changed, except routes in `covered`, and every route of `after` has a guard or
   * a reason.
   */
  readonly isEmpty: boolean;
  readonly widened: readonly RouteChange[];
  readonly narrowed: readonly RouteChange[];
  readonly added: readonly RouteChange[];
  readonly removed: readonly RouteChange[];
  readonly changed: readonly RouteChange[];
  /** Routes that a pattern permits. They do not fail a check. */
  readonly covered: readonly RouteChange[];
  /** All such routes of `after`, including unchanged ones. */
  readonly unguarded: readonly RouteChange[];
  readonly catalog: CatalogChange;
  /** The live keys that can do more, if you passed `keys`. */
  readonly gains: readonly KeyGain[];
}

/** The options of {@link diffLocks}. */
export interface DiffLocksOptions {
  /** The live keys, to list those that can do more. */
  readonly keys?: Iterable<GrantedKey> | undefined;
}

/**
 * Compares two locks. It considers every set of scopes that a key may have, and every grant: if a
 * scope is no longer reserved, the routes that need it are widened, because wildcards now grant it.
 *
 * Not checked: which organizations a key can address, and what handlers do.
 *
 * @example
 * const { widened, unguarded } = diffLocks(committed, lockOf({ keyring, routes }));
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
    isEmpty: changes.length === of('covered').length && isSame,
    widened: of('widened'),
    narrowed: of('narrowed'),
    added: of('added'),
    removed: of('removed'),
    changed: of('changed'),
    covered: of('covered'),
    unguarded: of('unguarded'),
    catalog,
    gains,
  });

  function gainOf({ keyId, prefix, hint, name, entityId, scopes }: GrantedKey): KeyGain[] {
    const held = new Set(scopes);
    const routes = opened.filter((route) => {
      return isOpenTo(after.routes.get(route), held) && !isOpenTo(before.routes.get(route), held);
    });
    return routes.length === 0 ? [] : [{ keyId, prefix, hint, name, entityId, routes }];
  }
}

/** Whether a key with these scopes can call a route. */
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
  if (before === undefined || after === undefined) {
    const kind = after === undefined ? 'removed' : 'added';
    const isPermitted = isCovered(before, now) || isCovered(after, old);
    const what = after === undefined ? 'was removed' : `is new, open to ${openTo(after)}`;
    add(isPermitted ? 'covered' : kind, what);
  } else {
    const wider = widening(before, after, old, now);
    const narrower = narrowing(before, after, old, now);
    if (wider !== null) add('widened', wider);
    if (narrower !== null) add('narrowed', narrower);
    const isRenamed = before.operations.join(' ') !== after.operations.join(' ');
    const lost = lostHints(before, after);
    if (lost !== null) add('widened', `${lost}. It is open to ${openTo(after)}`);
    if (lost !== null && after.reason !== null && after.reason === before.reason) {
      add('unguarded', `${lost}, and its reason is from before that`);
    }
    const isAsOpen = wider === null && narrower === null && lost === null;
    const hints = hintsOf(after);
    if (isRenamed && isAsOpen) add('changed', renaming(before, after));
    if (isAsOpen && before.reason !== after.reason && after.reason !== null) {
      add('changed', `has a new reason for having no guard: ${after.reason}`);
    }
    if (isAsOpen && hintsOf(before) !== hints) add('changed', `is now behind ${hints}`);
    const { handlers = 1 } = after;
    if (isAsOpen && (before.handlers ?? 1) !== handlers) {
      add('changed', `has a different number of handlers: ${handlers}`);
    }
  }
  if (after !== undefined && isUnguarded(after) && after.reason === null) {
    add('unguarded', 'has no guard, and nobody wrote why');
  }
  return changes;
}

/** Whether a lock already has the pattern that gives a route its reason. */
function isCovered(route: LockedRoute | undefined, { routes }: AccessLock): boolean {
  if (route?.pattern === undefined) return false;
  return [...routes.values()].some(({ reason, pattern }) => {
    return pattern === route.pattern && reason === route.reason;
  });
}

/** Says who may call a route, and why it has no guard. */
function openTo(route: LockedRoute): string {
  return route.reason === null ? whoMay(route) : `${whoMay(route)}: ${route.reason}`;
}

function hintsOf({ behind = [] }: LockedRoute): string {
  return behind.length === 0 ? 'no guard' : behind.join(' and ');
}

/** Says which guards no longer run before a route without a guard. They may have covered it. */
function lostHints(before: LockedRoute, after: LockedRoute): string | null {
  if (!isUnguarded(after)) return null;
  const { behind = [] } = after;
  const lost = (before.behind ?? []).filter((operation) => !behind.includes(operation));
  return lost.length === 0 ? null : `is no longer behind ${lost.join(' and ')}`;
}

function isUnguarded({ operations }: LockedRoute): boolean {
  return operations.length === 0;
}

/**
 * Says how a route is wider than before, or returns null. It is wider if it no longer needs a
 * scope, if a scope that it needs is no longer reserved, or if the service's own sign-in opens it
 * to others as well.
 */
function widening(
  before: LockedRoute,
  after: LockedRoute,
  old: AccessLock,
  now: AccessLock,
): string | null {
  if (isUnguarded(before)) return null;
  if (isUnguarded(after)) return `no longer has its own guard (${operationsOf(before)})`;
  const { needed: dropped, held: freed } = excess(before, after, old, now);
  const gained = othersLost(after, before);
  const parts: string[] = [];
  if (dropped.length > 0) {
    parts.push(`no longer needs ${dropped.join(', ')}${movement(before, after)}`);
  }
  if (freed.length > 0) {
    parts.push(`needs ${freed.join(', ')}, which is no longer reserved: wildcards grant it`);
  }
  if (gained !== '') parts.push(`now also lets in ${gained}`);
  return parts.length === 0 ? null : `${parts.join('; ')}. It is open to ${openTo(after)}`;
}

/** Likewise for a route that is narrower than before. */
function narrowing(
  before: LockedRoute,
  after: LockedRoute,
  old: AccessLock,
  now: AccessLock,
): string | null {
  if (isUnguarded(after)) return null;
  if (isUnguarded(before)) return `now has a guard, and is open to ${openTo(after)}`;
  const { needed, held } = excess(after, before, now, old);
  const lost = othersLost(before, after);
  const parts: string[] = [];
  if (needed.length > 0) parts.push(`also needs ${needed.join(', ')}${movement(before, after)}`);
  if (held.length > 0) parts.push(`needs ${held.join(', ')}, which wildcards no longer grant`);
  if (lost !== '') parts.push(`no longer lets in ${lost}`);
  return parts.length === 0 ? null : parts.join('; ');
}

/** The scopes that only the first route needs, and those that both need and its lock reserves. */
function excess(
  { scopes }: LockedRoute,
  other: LockedRoute,
  { reserved }: AccessLock,
  itsLock: AccessLock,
): { readonly needed: readonly string[]; readonly held: readonly string[] } {
  const needed = scopes.filter((scope) => !other.scopes.includes(scope));
  const held = scopes.filter((scope) => {
    const isHeld = reserved.includes(scope) && !itsLock.reserved.includes(scope);
    return isHeld && !needed.includes(scope);
  });
  return { needed, held };
}

/** Those who could call the route in the first lock without a key, and not in the second. */
function othersLost({ also = [] }: LockedRoute, { also: kept = [] }: LockedRoute): string {
  return also.filter((who) => !kept.includes(who)).join(' and ');
}

function movement(before: LockedRoute, after: LockedRoute): string {
  const isMoved = operationsOf(before) !== operationsOf(after);
  return isMoved ? ` (${operationsOf(before)} is now ${operationsOf(after)})` : '';
}

function renaming(before: LockedRoute, after: LockedRoute): string {
  return `is now ${operationsOf(after)} instead of ${operationsOf(before)}, for the same keys`;
}

function operationsOf({ operations }: LockedRoute): string {
  return operations.join(' and ');
}

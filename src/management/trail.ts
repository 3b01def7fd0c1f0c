/** The events of management calls. */
import type { Context } from '../core/context.js';
import { isAccessError } from '../core/errors.js';
import type { KeyringEvent, ManagementAction } from '../core/events.js';
import type { KeyRecord } from '../core/record.js';
import { isUuid } from '../core/uuid.js';
import type { CheckedAuthority } from './authority.js';
import { frozenTrust } from './info.js';

/** The key of an event, or of a refused call. */
interface Named {
  readonly keyId: string | null;
  readonly entityId: string;
}

/** The fields that events of management share. */
type Shared = 'time' | 'keyId' | 'entityId' | 'actor' | 'reason';
type OwnFields<Event> = Event extends { readonly type: string } ? Omit<Event, Shared> : never;

/** An event without the fields that {@link tell} adds. */
type Told = OwnFields<Exclude<KeyringEvent, { readonly type: `access.${string}` }>>;

/** Emits an event of a management call. */
export function tell(
  context: Context,
  { actor, reason }: Pick<CheckedAuthority, 'actor' | 'reason'>,
  { keyId, entityId }: Named,
  time: number,
  event: Told,
): void {
  context.emit?.({ ...event, time, keyId, entityId, actor, reason } as KeyringEvent);
}

/** The origin of a key, for its event. */
type Origin =
  | { readonly type: 'key.issued' }
  | { readonly type: 'key.rotated'; readonly rotatedFrom: string; readonly retireAt: number };

/** Emits the event of a new key. */
export function tellGrant(
  context: Context,
  authority: CheckedAuthority,
  record: KeyRecord,
  origin: Origin,
): void {
  const { createdAt, scopes, accessibleEntities, expiresAt } = record;
  const trust = frozenTrust(record) ?? undefined;
  const granted = { ...origin, scopes, accessibleEntities, expiresAt, trust };
  tell(context, authority, record, createdAt, granted);
}

/** Runs a management call. If it is refused, emits the event and rethrows the error. */
export async function tellDenial<A extends CheckedAuthority, T>(
  context: Context,
  action: ManagementAction,
  authority: A,
  keyId: unknown,
  run: (authority: A) => Promise<T>,
): Promise<T> {
  const time = context.clock();
  try {
    return await run(authority);
  } catch (error) {
    if (isAccessError(error)) {
      const { code, reason: denialReason, excess } = error;
      const event = { type: 'management.denied', action, code, denialReason, excess } as const;
      const named = { keyId: isUuid(keyId) ? keyId : null, entityId: authority.entityId };
      tell(context, authority, named, time, event);
    }
    throw error;
  }
}

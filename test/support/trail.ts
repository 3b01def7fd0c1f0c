/**
 * Prints events as a table for people: who did what to which key, when, why, and with what result.
 */
import type { KeyringEvent } from 'keyscope';
import { HOUR } from './keyring.ts';

/** A test's names for the ids of its keys and entities. */
export type Names = ReadonlyMap<string, string>;

/** Prints one line for each event. Set KEYSCOPE_PRINT_TRAIL to see the tables on the console. */
export function trailOf(events: readonly KeyringEvent[], start: number, names: Names): string[] {
  const lines = events.map((event) => lineOf(event, start, names));
  const { KEYSCOPE_PRINT_TRAIL } = process.env;
  if (KEYSCOPE_PRINT_TRAIL !== undefined) console.log(lines.join('\n'));
  return lines;
}

function lineOf(event: KeyringEvent, start: number, names: Names): string {
  const { type, time, keyId, entityId } = event;
  const name = (id: string | null) => (id === null ? '-' : (names.get(id) ?? 'somebody'));
  const hours = `+${(time - start) / HOUR}h`;
  const what = `${type} ${name(keyId)} of ${name(entityId)}`;
  return [hours, whoAndWhy(event), what, detailsOf(event, name)].join(' | ');
}

/** Prints the actor and the reason of a management call; a request has neither. */
function whoAndWhy(event: KeyringEvent): string {
  if (event.type === 'access.granted' || event.type === 'access.denied') return 'a request';
  const { actor = 'nobody', reason } = event;
  return reason === undefined ? actor : `${actor}: ${reason}`;
}

/** Prints the other details of each kind of event. */
function detailsOf(event: KeyringEvent, name: (id: string | null) => string): string {
  switch (event.type) {
    case 'key.issued':
      return `${event.scopes.join(' ')} for ${event.accessibleEntities.map(name).join(' ')}`;
    case 'key.rotated':
      return [
        `from ${name(event.rotatedFrom)}:`,
        `${event.scopes.join(' ')} for ${event.accessibleEntities.map(name).join(' ')}`,
      ].join(' ');
    case 'key.withdrawn':
      return `without ${name(event.withdrawnEntity)}`;
    case 'management.denied':
      return [event.action, event.code, event.denialReason, ...(event.excess ?? []).map(excess)]
        .join(' ')
        .trim();
    case 'access.granted':
      return event.operation;
    case 'access.denied':
      return `${event.operation} ${event.code} ${event.reason}`;
    default:
      return '';
  }

  function excess(text: string): string {
    return text.includes('-') ? name(text) : text;
  }
}
